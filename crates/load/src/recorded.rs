//! Requests of files as targets: where they are sent, and which of their fields.

use crate::{Servers, Target, TargetError};

/// A request as a file has it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// Absolute, or a path.
    pub url: &'a str,
    /// Names and values, in order.
    pub headers: &'a [(String, String)],
    /// Empty where there is none.
    pub body: &'a [u8],
}

/// Where requests of a file are sent.
#[derive(Debug, Clone, Copy)]
pub enum Base<'a> {
    /// To the host of their URL.
    Own,
    /// A path to this URL, an absolute URL to its own host.
    Paths(&'a str),
    /// All to the scheme, host and port of this URL.
    All(&'a str),
}

impl Recorded<'_> {
    /// The request, ready to be sent, named after its method and path. A header of `more_headers` replaces those of the
    /// same name: what a capture has masked is no credential.
    ///
    /// # Errors
    /// As for [`Target::new`].
    pub fn target(
        &self,
        servers: &mut Servers<'_>,
        base: Base<'_>,
        more_headers: &[String],
    ) -> Result<Target, TargetError> {
        let elsewhere = matches!(base, Base::All(_));
        let is_replaced = |name: &str| {
            let mut names = more_headers.iter().filter_map(|line| line.split_once(':'));
            names.any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        let mut lines: Vec<String> = self
            .headers
            .iter()
            .filter(|(name, _)| !(framing(name) || is_replaced(name)))
            .filter(|(name, _)| !(elsewhere && name.eq_ignore_ascii_case("host")))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        lines.extend_from_slice(more_headers);
        let target = Target::at(servers, &base.whole(self.url), self.method, &lines, self.body)?;
        let name = format!("{} {}", self.method, target.path);
        Ok(target.named(&name))
    }
}

impl Base<'_> {
    /// The URL to which a request with this URL or path is sent.
    pub fn whole(self, url: &str) -> String {
        let (base, path) = match (self, url.split_once("://")) {
            (Base::All(base), Some((_, rest))) => (base, rest.find(['/', '?']).map_or("/", |at| &rest[at..])),
            (Base::All(base) | Base::Paths(base), None) => (base, url),
            (Base::Own, _) | (Base::Paths(_), Some(_)) => return url.to_owned(),
        };
        let slash = if path.starts_with('/') { "" } else { "/" };
        format!("{}{slash}{path}", base.trim_end_matches('/'))
    }
}

/// The framing of a request is ours to write.
fn framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|ours| name.eq_ignore_ascii_case(ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::dial::Resolver;

    #[test]
    fn a_path_goes_to_the_base_and_a_host_only_where_it_is_asked_for() {
        let base = "http://127.0.0.1:8080/";
        for (url, base, whole) in [
            ("/a?b", Base::Paths(base), "http://127.0.0.1:8080/a?b"),
            ("a", Base::Paths(base), "http://127.0.0.1:8080/a"),
            ("http://example.org/a", Base::Paths(base), "http://example.org/a"),
            ("http://example.org/a?b", Base::All(base), "http://127.0.0.1:8080/a?b"),
            ("http://example.org", Base::All(base), "http://127.0.0.1:8080/"),
            ("/a", Base::All(base), "http://127.0.0.1:8080/a"),
            ("http://example.org/a", Base::Own, "http://example.org/a"),
        ] {
            assert_eq!(base.whole(url), whole, "{url}");
        }
    }

    #[test]
    fn an_added_header_replaces_a_masked_one() {
        let recorded = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let headers = [recorded("cookie", "sid=8f3a"), recorded("Accept", "text/html")];
        let request = Recorded { method: "GET", url: "/a", headers: &headers, body: &[] };
        let resolver = Resolver::default();
        let mut servers = Servers::new(&resolver);
        let more = ["Cookie: sid=1".to_owned(), "X-More: 2".to_owned()];
        let target = request.target(&mut servers, Base::All("http://127.0.0.1:1"), &more).unwrap();
        let sent: Vec<(&str, &str)> =
            target.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(sent, [("Accept", "text/html"), ("Cookie", "sid=1"), ("X-More", "2")]);
    }
}
