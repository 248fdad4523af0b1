//! Files that a command writes when it is done, often after minutes.
//!
//! Whether a file can be written is checked before the work begins. It is written beside its final name and renamed, so that
//! an interrupted command or a full disk leaves an earlier file as it was.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Whether the file can be written, with the file as it was afterwards. `-` is standard output.
///
/// # Errors
/// Where it cannot.
pub fn check(path: &Path) -> Result<(), WriteError> {
    let failed = |source| WriteError { path: path.to_owned(), source };
    match target(path).map_err(failed)? {
        Target::Direct(_) => Ok(()),
        Target::Renamed { partial, to } => match File::create(&partial) {
            Ok(_) => fs::remove_file(&partial).map_err(failed),
            // A single file may be writable where its directory is not.
            Err(source) => match OpenOptions::new().append(true).open(&to) {
                Ok(_) => Ok(()),
                Err(_) => Err(failed(source)),
            },
        },
    }
}

/// Writes the file whole, or leaves an earlier one as it was. `-` is standard output.
///
/// # Errors
/// Where the system refuses, or the disk is full.
pub fn write(path: &Path, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), WriteError> {
    let done = match target(path) {
        Ok(Target::Direct(None)) => text(&mut io::stdout().lock()),
        Ok(Target::Direct(Some(to))) => File::create(to).and_then(|file| flushed(file, text)),
        Ok(Target::Renamed { partial, to }) => match File::create(&partial) {
            Ok(file) => flushed(file, text).and_then(|()| renamed(&partial, &to)).inspect_err(|_| {
                let _ = fs::remove_file(&partial);
            }),
            Err(_) => File::create(to).and_then(|file| flushed(file, text)),
        },
        Err(error) => Err(error),
    };
    done.map_err(|source| WriteError { path: path.to_owned(), source })
}

/// Where a file is written.
enum Target {
    /// At once: a device or a pipe; `None` is standard output.
    Direct(Option<PathBuf>),
    /// Beside its final name first.
    Renamed { partial: PathBuf, to: PathBuf },
}

fn target(path: &Path) -> io::Result<Target> {
    if path == Path::new("-") {
        return Ok(Target::Direct(None));
    }
    // A link stays one: what it leads to is replaced.
    let to = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&to) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Ok(Target::Direct(Some(to))),
        _ => {}
    }
    let Some(name) = to.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".partial-{}", std::process::id()));
    Ok(Target::Renamed { partial: to.with_file_name(hidden), to })
}

fn flushed(file: File, text: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    text(&mut file)?;
    file.flush()
}

fn renamed(partial: &Path, to: &Path) -> io::Result<()> {
    if let Ok(earlier) = fs::metadata(to) {
        fs::set_permissions(partial, earlier.permissions())?;
    }
    fs::rename(partial, to)
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

    #[test]
    fn what_fails_in_the_middle_leaves_the_earlier_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        write(&path, |out| out.write_all(b"whole")).unwrap();
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
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "earlier").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        write(&link, |out| out.write_all(b"later")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"later");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_check_says_what_is_wrong_and_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        check(&path).unwrap();
        assert!(names(directory.path()).is_empty());
        assert!(check(Path::new("/dev/null")).is_ok() && check(Path::new("-")).is_ok());
        let missing = directory.path().join("no/such/out.csv");
        assert_eq!(check(&missing).unwrap_err().source.kind(), io::ErrorKind::NotFound);
        assert_eq!(check(directory.path()).unwrap_err().source.kind(), io::ErrorKind::IsADirectory);
    }
}
