//! The texts of a request as templates: URL, header fields, body.

use super::build::Builder;
use super::file::StepTable;
use fields::{At, Names, Place as Spot, Report, Text, suggestion};
use http::codec::write::check_name;
use load::scenario::{Cookies, Origin, Place, Scope, Template, TemplateError, split_url, stands_in_url};
use std::collections::BTreeMap;
use yaml::{Kind, Node};

/// The settings that all steps share.
pub(super) struct Common<'a> {
    pub(super) base: Option<&'a (Origin, String)>,
    pub(super) headers: Option<&'a Names<At<Text>>>,
    pub(super) tags: BTreeMap<String, String>,
    pub(super) cookies: Cookies,
    pub(super) data_known: bool,
}

/// Checks a name in `${…}`.
pub(super) fn check_placeholder(name: &str, at: &Spot, report: &mut Report) {
    let usual = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(usual) {
        let help = "use letters, digits, `_` and `-`: it stands in `${…}`".to_owned();
        report.wrong(at, format!("`{name}` cannot be the name of a value"), "a name", help);
    } else if Scope::is_builtin(name) {
        let message = format!("`{name}` already means something in every text");
        report.wrong(at, message, "a name", "give it another name".to_owned());
    }
}

impl Builder<'_> {
    /// Compiles a text into a template; its names must exist at this place of the flow.
    fn append(&mut self, template: &mut Template, text: &str, place: Place, at: &Spot) {
        let Err(error) = template.append(text, place, &self.scope) else { return };
        let help = match &error {
            TemplateError::Unclosed { .. } => "write `${name}`, or `$${` for the text `${`".to_owned(),
            TemplateError::Random { .. } => "write it as in `${random.int(1,100)}`".to_owned(),
            TemplateError::Unknown { name, .. } => {
                let feed = name.split('.').next().unwrap_or_default();
                let in_data = self.scope.feeds.iter().any(|known| known.name() == feed);
                if name.contains('.') && !in_data && !self.common.data_known {
                    return;
                }
                let names = self.scope.names();
                suggestion(name, names.iter().map(String::as_str))
            }
        };
        // A header of the scenario is compiled for each step, because the known names differ.
        let (path, message) = (&at.path, error.to_string());
        if !self.report.problems.iter().any(|known| known.path == *path && known.message == message) {
            self.report.wrong(at, message, "in this text", help);
        }
    }

    pub(super) fn url(&mut self, at: &At<Text>, query: Option<&Names<At<Text>>>) -> Template {
        let text = at.value.0.as_str();
        let mut template = Template::default();
        let absolute = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
        if text.starts_with('/') {
            match self.common.base {
                Some((_, path)) => template.fixed(path.as_bytes()),
                None if self.report.knows_of("base") => {}
                None => {
                    let help = "add `base: http://host:port`, or write the whole URL".to_owned();
                    self.report.wrong(&at.place, "a path, but no `base`".to_owned(), "leads nowhere", help);
                }
            }
        } else if !absolute && !text.starts_with("${") {
            let help = "begin with `/`, with `http://` or with a placeholder".to_owned();
            self.report.wrong(&at.place, format!("`{text}` is no path and no URL"), "this value", help);
            return template;
        }
        self.append(&mut template, text, Place::Url, &at.place);
        let mut separator = if text.contains('?') { "&" } else { "?" };
        for named in query.into_iter().flat_map(Names::iter) {
            let Some(value) = &named.value else { continue };
            template.fixed(separator.as_bytes());
            self.pair(&mut template, &named.name, value);
            separator = "&";
        }
        let sendable = template.fixed_parts().flatten().all(|&byte| stands_in_url(byte));
        let fixed = template.as_fixed().and_then(|fixed| std::str::from_utf8(fixed).ok());
        let splits = !absolute || fixed.is_none_or(|url| split_url(url).is_some());
        if !(sendable && splits) {
            let help = "percent-encode blanks and umlauts, leave fragments and credentials out; \
                        placeholders are `${name}`";
            let message = format!("`{text}` cannot be sent as a URL");
            self.report.wrong(&at.place, message, "this value", help.to_owned());
        }
        template
    }

    fn pair(&mut self, template: &mut Template, name: &str, value: &At<Text>) {
        self.append(template, name, Place::Form, &value.place);
        template.fixed(b"=");
        self.append(template, &value.value.0, Place::Form, &value.place);
    }

    /// Header fields of the step, then those of the scenario that it does not replace.
    pub(super) fn headers(&mut self, step: &StepTable) -> Template {
        let mut template = Template::default();
        let mut given: Vec<String> = Vec::new();
        let own = step.headers.iter().flat_map(Names::iter);
        for named in own.chain(self.common.headers.into_iter().flat_map(Names::iter)) {
            let (name, Some(value)) = (&named.name, &named.value) else { continue };
            if given.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                continue;
            }
            given.push(name.clone());
            if let Some((message, help)) = self.wrong_header(name, &value.value.0) {
                // A problem of a scenario header is reported once, not for each step.
                if !self.report.knows_of(&named.place.path) {
                    self.report.wrong(&named.place, message, "this header", help.to_owned());
                }
                continue;
            }
            template.fixed(format!("{name}: ").as_bytes());
            self.append(&mut template, &value.value.0, Place::Header, &value.place);
            template.fixed(b"\r\n");
        }
        let kind = match step {
            StepTable { json: Some(_), .. } => Some("application/json"),
            StepTable { form: Some(_), .. } => Some("application/x-www-form-urlencoded"),
            _ => None,
        };
        if let Some(kind) =
            kind.filter(|_| !given.iter().any(|name| name.eq_ignore_ascii_case("content-type")))
        {
            template.fixed(format!("Content-Type: {kind}\r\n").as_bytes());
        }
        template
    }

    fn wrong_header(&self, name: &str, value: &str) -> Option<(String, &'static str)> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if check_name(name).is_err() {
            return Some((format!("`{name}` is no header name"), "use letters, digits and dashes"));
        }
        if ["content-length", "transfer-encoding", "connection"].into_iter().any(is) {
            return Some((format!("`{name}` is ours to write"), "remove it"));
        }
        if is("cookie") && self.common.cookies != Cookies::Off {
            let help = "set `cookies: off` to write them yourself, or leave them to the user's jar";
            return Some(("a `Cookie` beside the cookies that are kept".to_owned(), help));
        }
        let broken = value.chars().any(|c| c.is_control() && c != '\t');
        broken.then(|| (format!("the value of `{name}` has a line break"), "write it in one line"))
    }

    pub(super) fn body(&mut self, step: &StepTable) -> Template {
        let mut template = Template::default();
        if let Some(at) = &step.body {
            self.append(&mut template, &at.value.0, Place::Raw, &at.place);
        }
        if let Some(at) = &step.json {
            self.json(&mut template, &at.value.0, &at.place);
        }
        for (index, named) in step.form.iter().flat_map(|at| at.value.iter()).enumerate() {
            let Some(value) = &named.value else { continue };
            template.fixed(if index == 0 { b"" } else { b"&" });
            self.pair(&mut template, &named.name, value);
        }
        template
    }

    /// YAML as compact JSON. A text that is a single placeholder becomes its value; other texts remain texts.
    fn json(&mut self, template: &mut Template, node: &Node, at: &Spot) {
        match &node.kind {
            Kind::Empty => template.fixed(b"null"),
            Kind::Scalar(text) => {
                let at = &Spot { path: at.path.clone(), span: node.span.clone() };
                let literal = node.inferred && serde_json::from_str::<serde_json::Value>(text).is_ok();
                let whole = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
                if literal {
                    template.fixed(text.as_bytes());
                } else if whole {
                    self.append(template, text, Place::JsonValue, at);
                } else {
                    self.json_text(template, text, at);
                }
            }
            Kind::List(items) => {
                template.fixed(b"[");
                for (index, item) in items.iter().enumerate() {
                    template.fixed(if index == 0 { b"" } else { b"," });
                    self.json(template, item, at);
                }
                template.fixed(b"]");
            }
            Kind::Table(entries) => {
                template.fixed(b"{");
                for (index, (key, value)) in entries.iter().enumerate() {
                    template.fixed(if index == 0 { b"" } else { b"," });
                    self.json_text(template, &key.name, at);
                    template.fixed(b":");
                    self.json(template, value, at);
                }
                template.fixed(b"}");
            }
        }
    }

    fn json_text(&mut self, template: &mut Template, text: &str, at: &Spot) {
        template.fixed(b"\"");
        self.append(template, text, Place::JsonText, at);
        template.fixed(b"\"");
    }
}
