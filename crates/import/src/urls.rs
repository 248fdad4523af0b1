//! A list of URLs, one a line; lines that begin with `#` are comments.

use crate::reader::LineParser;
use capture::request::url;
use capture::{Entry, Fault};

#[derive(Debug)]
pub(crate) struct Urls;

impl LineParser for Urls {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Entry>, Fault> {
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            return Ok(None);
        }
        let offset = line.len() - line.trim_ascii_start().len();
        let url = url(text).map_err(|fault| fault.within(line, offset))?;
        Ok(Some(Entry { method: "GET".to_owned(), url, ..Entry::default() }))
    }
}
