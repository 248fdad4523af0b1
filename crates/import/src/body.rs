//! Bodies in separate files.

use capture::Fault;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// The folder of such files, and their maximum size.
#[derive(Debug, Clone)]
pub(crate) struct Bodies {
    pub(crate) folder: Option<PathBuf>,
    pub(crate) limit: usize,
}

impl Bodies {
    /// The contents of the file whose name is in `line` from `offset` to its end.
    pub(crate) fn read(&self, line: &[u8], offset: usize) -> Result<Vec<u8>, Fault> {
        let name = &line[offset..];
        let Some(folder) = &self.folder else {
            return Err(Fault::of(line, offset, "a body in a file", "a body in the input itself")
                .way_out("files are only read for inputs that are files, relative to their folder"));
        };
        let Ok(name) = std::str::from_utf8(name) else {
            return Err(Fault::at(line, offset, "the name of a file in UTF-8"));
        };
        if name.is_empty() {
            return Err(Fault::at(line, offset, "the name of a file"));
        }
        let path = folder.join(name);
        let wrong = |what: String| Fault::of(line, offset, what, "a file that can be read");
        let told = |error: std::io::Error| wrong(format!("`{name}` ({error})"));
        // Pipes and devices may have no end.
        if !std::fs::metadata(&path).map_err(told)?.is_file() {
            return Err(wrong(format!("`{name}`, which is not a regular file")));
        }
        let mut body = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(self.limit as u64 + 1).read_to_end(&mut body))
            .map_err(told)?;
        if body.len() > self.limit {
            let found = format!("`{name}` with more than {} bytes", self.limit);
            return Err(Fault::of(line, offset, found, format!("a body of at most {}", self.limit)));
        }
        Ok(body)
    }
}
