//! Files that a command writes when it is done, often after minutes.
//!
//! Whether a file can be written is checked before the work begins. A file of one's own is written beside its final name
//! and renamed, so that an interrupted command or a full disk leaves an earlier file as it was.
//!
//! ## What is written in place
//! Devices, pipes and what is below `/dev` and `/proc`; files of other users and files with several names, whose owner and
//! links a new file would not have; and links whose file is not there yet.

use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

/// Whether the file can be written; leaves everything as it is.
///
/// # Errors
/// Where it cannot.
pub fn check(path: &Path) -> Result<(), WriteError> {
    let failed = |source| WriteError { path: path.to_owned(), source };
    let way = Way::to(path).map_err(failed)?;
    // Permission to replace a file is not permission to write it.
    if way.earlier.as_ref().is_some_and(Metadata::is_file) {
        OpenOptions::new().append(true).open(path).map_err(failed)?;
    }
    let Some(partial) = way.partial() else { return Ok(()) };
    match way.create(&partial) {
        Ok(_) => fs::remove_file(&partial).map_err(failed),
        // A single file may be writable where its directory is not.
        Err(_) if way.earlier.is_some() => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Writes the file whole, or leaves an earlier one as it was where that is possible.
///
/// # Errors
/// Where the system refuses, or the disk is full.
pub fn write(path: &Path, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    let failed = |source| WriteError { path: path.to_owned(), source };
    let way = Way::to(path).map_err(failed)?;
    let beside = way.partial().and_then(|partial| Some((way.create(&partial).ok()?, partial)));
    let Some((file, partial)) = beside else {
        return File::create(path).and_then(|file| flushed(file, text)).map_err(failed);
    };
    let done = flushed(file, text).and_then(|()| {
        // A file that is mounted by itself, or in a directory of others, cannot be replaced but can be written.
        fs::rename(&partial, &way.to).or_else(|_| {
            io::copy(&mut File::open(&partial)?, &mut File::create(path)?)?;
            fs::remove_file(&partial)
        })
    });
    done.map_err(|source| {
        let _ = fs::remove_file(&partial);
        failed(source)
    })
}

/// [`check`], where `-` is standard output.
///
/// # Errors
/// As [`check`].
pub fn check_or_stdout(path: &Path) -> Result<(), WriteError> {
    if is_stdout(path) { Ok(()) } else { check(path) }
}

/// [`write()`], where `-` is standard output.
///
/// # Errors
/// As [`write()`].
pub fn write_or_stdout(
    path: &Path,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    if !is_stdout(path) {
        return write(path, text);
    }
    text(&mut io::stdout().lock()).map_err(|source| WriteError { path: path.to_owned(), source })
}

/// Whether this path stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// How a path is written.
struct Way {
    /// The file itself, behind all links.
    to: PathBuf,
    earlier: Option<Metadata>,
    in_place: bool,
}

impl Way {
    fn to(path: &Path) -> io::Result<Self> {
        let earlier = fs::metadata(path).ok();
        if earlier.as_ref().is_some_and(Metadata::is_dir) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let system = |path: &Path| ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
        let (to, unknown) = match fs::canonicalize(path) {
            Ok(to) => (to, false),
            // A link that leads nowhere yet.
            Err(_) => (path.to_owned(), fs::symlink_metadata(path).is_ok()),
        };
        let own =
            |found: &Metadata| found.is_file() && found.nlink() == 1 && found.uid() == geteuid().as_raw();
        let in_place = unknown || system(path) || system(&to) || !earlier.as_ref().is_none_or(own);
        Ok(Way { to, earlier, in_place })
    }

    /// The name of the file until it is whole; `None` where it is written in place.
    fn partial(&self) -> Option<PathBuf> {
        let name = self.to.file_name().filter(|_| !self.in_place)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut partial = OsString::from(".");
        partial.push(name);
        partial.push(format!(".partial-{}-{}", std::process::id(), now.subsec_nanos()));
        Some(self.to.with_file_name(partial))
    }

    /// A new file with the permissions of the earlier one.
    fn create(&self, partial: &Path) -> io::Result<File> {
        let mode = self.earlier.as_ref().map_or(0o666, |earlier| earlier.mode() & 0o777);
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(partial)?;
        if let Some(earlier) = &self.earlier {
            file.set_permissions(earlier.permissions())?;
        }
        Ok(file)
    }
}

fn flushed(file: File, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    text(&mut file)?;
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn put(path: &Path, text: &str) {
        check(path).unwrap();
        write(path, |out| out.write_all(text.as_bytes())).unwrap();
    }

    #[test]
    fn what_fails_in_the_middle_leaves_the_earlier_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        put(&path, "whole");
        let full = |out: &mut dyn Write| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let error = write(&path, full).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(directory.path()), ["out.csv"], "nothing else is left");
    }

    #[test]
    fn links_and_permissions_stay() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "earlier").unwrap();
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink(at("file"), at("link")).unwrap();
        put(&at("link"), "later");
        assert_eq!(fs::read(at("file")).unwrap(), b"later");
        assert_eq!(fs::metadata(at("file")).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        // A second name of the file has the new text too.
        fs::hard_link(at("file"), at("other")).unwrap();
        put(&at("file"), "again");
        assert_eq!(fs::read(at("other")).unwrap(), b"again");
        // A link that leads nowhere yet.
        symlink(at("new"), at("dangling")).unwrap();
        put(&at("dangling"), "first");
        assert_eq!(fs::read(at("new")).unwrap(), b"first");
        assert!(fs::symlink_metadata(at("dangling")).unwrap().is_symlink());
    }

    #[test]
    fn a_check_says_what_is_wrong_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        check(&path).unwrap();
        assert!(names(directory.path()).is_empty());
        put(Path::new("/dev/null"), "nothing");
        let missing = directory.path().join("no/such/out.csv");
        assert_eq!(check(&missing).unwrap_err().source.kind(), io::ErrorKind::NotFound);
        assert_eq!(check(directory.path()).unwrap_err().source.kind(), io::ErrorKind::IsADirectory);
    }
}
