//! A problem of a file: what, where, and the way out.
//!
//! ## Why strings and not an enum
//! No code depends on the kind of a problem; people read it. Each has to have its place, what was found, the bound and
//! the way out, and each kind has a snapshot test.

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text and its name, for messages.
pub type Source = Arc<NamedSource<Arc<str>>>;

/// The text of a file, and its name in messages.
pub fn source(name: &str, text: &str) -> Source {
    Arc::new(NamedSource::new(name, Arc::from(text)))
}

/// A problem or a warning.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The key, such as `pools.search.instances[0]`; empty for the whole file.
    pub path: String,
    /// What was found, and the bound.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
    severity: Severity,
    label: String,
    span: Range<usize>,
    source: Source,
}

/// A setting that works, but is probably unintended.
pub type Warning = Problem;

impl Problem {
    /// A problem at a place.
    pub fn error(source: &Source, place: &Place, message: impl Into<String>) -> Self {
        Problem {
            path: printable(&place.path),
            message: printable(&message.into()),
            help: None,
            severity: Severity::Error,
            label: "here".to_owned(),
            span: place.span.clone(),
            source: source.clone(),
        }
    }

    /// A warning at a place.
    pub fn warning(source: &Source, place: &Place, message: impl Into<String>) -> Self {
        Problem { severity: Severity::Warning, ..Problem::error(source, place, message) }
    }

    /// With the label in the excerpt.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With the way out.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(&help.into()));
        self
    }

    /// Whether both are the same problem at the same place.
    pub fn same_as(&self, other: &Problem) -> bool {
        self.span == other.span && self.message == other.message
    }

    fn start(&self) -> usize {
        self.span.start
    }

    /// With an excerpt of the source, and in colour if the terminal supports it and `NO_COLOR` is not set.
    pub fn graphical(&self) -> String {
        self.drawn(&GraphicalReportHandler::new())
    }

    /// With an excerpt of the source, the same on every terminal.
    pub fn monochrome(&self) -> String {
        let theme = GraphicalTheme::unicode_nocolor();
        self.drawn(&GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false))
    }

    fn drawn(&self, handler: &GraphicalReportHandler) -> String {
        let mut drawn = String::new();
        match handler.render_report(&mut drawn, self) {
            Ok(()) => drawn,
            // A span outside the source would be a bug; the message matters more than the excerpt.
            Err(fmt::Error) => self.plain(),
        }
    }

    /// One line such as `gateway.yaml:14:18: error: …`, for logs and editors, and one for the way out.
    pub fn plain(&self) -> String {
        let (line, column) = self.position();
        let kind = if self.severity == Severity::Warning { "warning" } else { "error" };
        let mut text = format!("{}:{line}:{column}: {kind}: {self}\n", self.source.name());
        if let Some(help) = &self.help {
            text += &format!("  help: {help}\n");
        }
        text
    }

    /// Line and column in characters, from 1.
    fn position(&self) -> (usize, usize) {
        let text = self.source.inner();
        let before = text.get(..self.span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "`{}`: {}", self.path, self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&*self.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), self.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// Names in a file may contain terminal control characters.
fn printable(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// All problems of a file, in the order of the file. Never empty.
#[derive(Debug, Clone)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Problems, at least one, in the order of the file.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::start);
        Problems(problems)
    }

    /// Problems in the order of the file; `None` if there are none.
    pub fn of(problems: Vec<Problem>) -> Option<Self> {
        (!problems.is_empty()).then(|| Problems::new(problems))
    }

    /// Iterates over the problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// With excerpts of the source, see [`Problem::graphical`].
    pub fn graphical(&self) -> String {
        self.0.iter().map(Problem::graphical).collect()
    }

    /// As plain lines one after the other, see [`Problem::plain`].
    pub fn plain(&self) -> String {
        self.0.iter().map(Problem::plain).collect()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plain())
    }
}

impl std::error::Error for Problems {}

/// A place in a file.
#[derive(Debug, Clone)]
pub struct Place {
    /// The key, such as `pools.search.instances[0]`; empty for the whole file.
    pub path: String,
    /// In bytes from the start of the text.
    pub span: Range<usize>,
}
