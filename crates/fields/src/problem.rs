//! What is wrong with a file, where, and what to do about it.
//!
//! ## Why strings and not an enum
//! Nobody acts on the kind of a problem; a person reads it. What matters is that each says where, what was found, the
//! bound and the way out, and that each kind is held by a snapshot.

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text and its name, for messages.
pub type Source = Arc<NamedSource<Arc<str>>>;

/// The text of a file, and what messages call it.
pub fn source(name: &str, text: &str) -> Source {
    Arc::new(NamedSource::new(name, Arc::from(text)))
}

/// One thing that is wrong, or that was hardly meant.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The key, such as `pools.search.instances[0]`; empty where the whole file is meant.
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

/// Something that was hardly meant, but that works.
pub type Warning = Problem;

impl Problem {
    /// Something that is wrong at a place.
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

    /// Something that was hardly meant at a place.
    pub fn warning(source: &Source, place: &Place, message: impl Into<String>) -> Self {
        Problem { severity: Severity::Warning, ..Problem::error(source, place, message) }
    }

    /// With what the picture says at the place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With the way out.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(printable(&help.into()));
        self
    }

    /// Whether both say the same of the same place.
    pub fn same_as(&self, other: &Problem) -> bool {
        self.span == other.span && self.message == other.message
    }

    fn start(&self) -> usize {
        self.span.start
    }

    /// With a picture of the source, and in colour where the terminal has it and `NO_COLOR` is not set.
    pub fn graphical(&self) -> String {
        self.drawn(&GraphicalReportHandler::new())
    }

    /// With a picture of the source, the same on every terminal.
    pub fn monochrome(&self) -> String {
        let theme = GraphicalTheme::unicode_nocolor();
        self.drawn(&GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false))
    }

    fn drawn(&self, handler: &GraphicalReportHandler) -> String {
        let mut drawn = String::new();
        match handler.render_report(&mut drawn, self) {
            Ok(()) => drawn,
            // A span outside the source would be a mistake of ours; the message matters more than the picture.
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

/// Names of a file may hold what moves a terminal's cursor.
fn printable(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

/// All that is wrong with a file, in the order of the file. Never empty.
#[derive(Debug, Clone)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Problems, of which there is at least one, in the order of the file.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::start);
        Problems(problems)
    }

    /// Problems in the order of the file; `None` where there is none.
    pub fn of(problems: Vec<Problem>) -> Option<Self> {
        (!problems.is_empty()).then(|| Problems::new(problems))
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// With pictures of the source, see [`Problem::graphical`].
    pub fn graphical(&self) -> String {
        self.0.iter().map(Problem::graphical).collect()
    }

    /// One after the other as plain lines, see [`Problem::plain`].
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

/// Where in the file something stands.
#[derive(Debug, Clone)]
pub struct Place {
    /// The key, such as `pools.search.instances[0]`; empty where the whole file is meant.
    pub path: String,
    /// In bytes from the start of the text.
    pub span: Range<usize>,
}
