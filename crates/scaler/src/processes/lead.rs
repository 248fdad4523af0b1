//! One scaler leads: the one that holds the lock of the state directory.
//!
//! The kernel releases the lock when the process ends, however it ends. So a standby takes over within the second in
//! which it tries again.

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// The lead, until it is dropped.
#[derive(Debug)]
pub struct Lead(#[allow(dead_code, reason = "the lock lives as long as the file")] File);

/// Why this scaler does not lead.
#[derive(Debug, thiserror::Error)]
pub enum LeadError {
    /// Another one does.
    #[error("another scaler leads {}{}", folder.display(), who.as_ref().map(|who| format!(" (process {who})")).unwrap_or_default())]
    Other {
        /// The state directory.
        folder: PathBuf,
        /// Its process id.
        who: Option<u32>,
    },
    /// The lock cannot be used.
    #[error("cannot lock {}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Lead {
    /// Takes the lead, if nobody has it. The directory is created.
    ///
    /// # Errors
    /// Another scaler leads, or the file cannot be locked.
    pub fn take(folder: &Path) -> Result<Self, LeadError> {
        let path = folder.join("lock");
        let failed = |source| LeadError::Lock { path: path.clone(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                return Err(LeadError::Other { folder: folder.to_owned(), who: text.trim().parse().ok() });
            }
            Err(error) => return Err(failed(error.into())),
        }
        // For people and for the message of others; the lock itself is the kernel's.
        let written = file.set_len(0).and_then(|()| file.rewind());
        let _ = written.and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lead(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_leads_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lead::take(folder.path()).unwrap();
        let second = Lead::take(folder.path()).unwrap_err();
        assert!(
            matches!(second, LeadError::Other { who: Some(id), .. } if id == std::process::id()),
            "{second}"
        );
        drop(first);
        // A process that another test starts holds the lock until it executes its program; a standby tries again, too.
        let begun = std::time::Instant::now();
        while let Err(error) = Lead::take(folder.path()) {
            assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{error}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
