//! The access log: a line for each request, including those whose client left (499, as usual), buffered by each worker.
//!
//! ## Why buffered
//! A write per line is a system call per request. Lines are collected in 64 KiB and written once a second, or when the
//! buffer is full; always whole lines, appended, so that several workers can share a file and a rotation by copy and
//! truncation works. A full disk loses lines, which are counted; it never blocks a request.
//!
//! ## Rotation
//! With every write the worker checks whether the file still has its name. If it was moved or removed, a new one is
//! opened under the name; SIGUSR1 does the same at once. Earlier lines go to the earlier file.

mod line;

pub(crate) use line::Line;

use crate::settings::{AccessLog, LogForm, LogFormat};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use units::Timestamp;

/// The access log of one worker.
#[derive(Debug)]
pub(crate) struct Log {
    form: LogForm,
    buffer: Vec<u8>,
    lines: u64,
    lost: u64,
    to: Option<File>,
    /// The file's name, which rotation may change; `None` for standard output and devices.
    path: Option<PathBuf>,
    date: line::Date,
    /// When the lines are written next.
    write_at: Timestamp,
    /// How often reopening the log was requested so far.
    reopened: u64,
}

impl Log {
    /// Opens the log in its default format.
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub(crate) fn open(settings: &AccessLog) -> io::Result<Self> {
        Self::with_form(settings, LogForm::default())
    }

    /// Opens the log.
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub(crate) fn with_form(settings: &AccessLog, form: LogForm) -> io::Result<Self> {
        let mut path = None;
        let to = match settings {
            AccessLog::Off => None,
            AccessLog::Stdout => Some(File::from(rustix::io::dup(io::stdout())?)),
            AccessLog::File(name) => {
                let file = append(name)?;
                path = file.metadata()?.is_file().then(|| name.clone());
                Some(file)
            }
        };
        let room = if to.is_some() { form.buffer as usize + LINE_ROOM } else { 0 };
        Ok(Log {
            form,
            buffer: Vec::with_capacity(room),
            lines: 0,
            lost: 0,
            to,
            path,
            date: line::Date::default(),
            write_at: Timestamp::ZERO,
            reopened: 0,
        })
    }

    /// Whether lines are written anywhere.
    pub(crate) fn is_on(&self) -> bool {
        self.to.is_some()
    }

    /// Whether lines include the user agent and the referer.
    pub(crate) fn wants_agent(&self) -> bool {
        self.to.is_some() && self.form.format == LogFormat::Combined
    }

    /// Adds a line.
    pub(crate) fn write(&mut self, line: &Line<'_>) {
        line.write(self.form.format, &mut self.buffer, &mut self.date);
        self.lines += 1;
        if self.buffer.len() >= self.form.buffer as usize {
            self.flush();
        }
    }

    /// Writes the buffered lines if it is time, and opens a new file if the old one was moved or `reopen` has grown.
    pub(crate) fn tick(&mut self, now: Timestamp, reopen: u64) {
        let asked = std::mem::replace(&mut self.reopened, reopen) != reopen;
        if now >= self.write_at || asked {
            self.write_at = now + self.form.flush;
            self.flush();
            self.follow_name(asked);
        }
    }

    /// Writes the buffered lines.
    pub(crate) fn flush(&mut self) {
        if let Some(to) = self.to.as_mut().filter(|_| !self.buffer.is_empty())
            && to.write_all(&self.buffer).is_err()
        {
            self.lost += self.lines;
        }
        self.buffer.clear();
        self.lines = 0;
    }

    /// Switches to another log; lost lines stay counted.
    pub(crate) fn replace(&mut self, new: Log) {
        self.flush();
        let lost = self.lost;
        *self = Log { lost: lost + new.lost, reopened: self.reopened, ..new };
    }

    /// Lines that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Opens the file that should have the name. If that fails, the old file stays in use: keeping its lines matters
    /// more than its name.
    fn follow_name(&mut self, always: bool) {
        let (Some(path), Some(to)) = (&self.path, &self.to) else { return };
        let moved = || match (std::fs::metadata(path), to.metadata()) {
            (Ok(named), Ok(ours)) => identity(&named) != identity(&ours),
            (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
            (Ok(_), Err(_)) => false,
        };
        if (always || moved())
            && let Ok(file) = append(path)
        {
            self.to = Some(file);
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Extra capacity, so that the line that fills the buffer needs no new allocation unless its target is very long.
const LINE_ROOM: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::time::Duration;

    fn line(target: &[u8]) -> Line<'_> {
        Line {
            client: IpAddr::from([127, 0, 0, 1]),
            arrived_us: 1_795_266_301_000_250,
            method: b"GET",
            target,
            old: false,
            agent: b"",
            status: 200,
            body_bytes: 100,
            route: "search",
            total: Duration::ZERO,
            upstream: None,
            waited: Duration::ZERO,
            reason: "-",
            broken: None,
        }
    }

    fn form(buffer: u32) -> LogForm {
        LogForm { format: LogFormat::Json, buffer, ..LogForm::default() }
    }

    #[test]
    fn lines_are_written_when_the_buffer_is_full_or_it_is_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = || std::fs::read_to_string(file.path()).unwrap().lines().count();
        let mut log = Log::with_form(&AccessLog::File(file.path().to_owned()), form(4096)).unwrap();
        log.tick(Timestamp::ZERO, 0);
        log.write(&line(b"/"));
        log.tick(Timestamp::from_millis(999), 0);
        assert_eq!(written(), 0, "not yet");
        log.tick(Timestamp::from_millis(1_000), 0);
        assert_eq!(written(), 1);
        (0..100).for_each(|_| log.write(&line(b"/")));
        let (lines, capacity) = (written(), log.buffer.capacity());
        assert!((20..100).contains(&lines), "{lines}");
        (0..1_000).for_each(|_| log.write(&line(b"/a/longer/target?with=a&query=behind")));
        assert_eq!(log.buffer.capacity(), capacity, "lines take no new memory");
    }

    #[test]
    fn a_rotated_file_is_left_to_whoever_moved_it() {
        let folder = tempfile::tempdir().unwrap();
        let [name, moved] = ["access.log", "access.log.1"].map(|name| folder.path().join(name));
        let count = |path: &Path| std::fs::read_to_string(path).unwrap().lines().count();
        let mut log = Log::with_form(&AccessLog::File(name.clone()), form(4096)).unwrap();
        log.write(&line(b"/before"));
        std::fs::rename(&name, &moved).unwrap();
        log.write(&line(b"/between"));
        log.tick(Timestamp::from_secs(1), 0);
        log.write(&line(b"/after"));
        log.tick(Timestamp::from_secs(2), 0);
        assert_eq!((count(&moved), count(&name)), (2, 1));

        // As logrotate does: move, create, signal.
        std::fs::rename(&name, folder.path().join("access.log.2")).unwrap();
        File::create(&name).unwrap();
        log.write(&line(b"/before"));
        log.tick(Timestamp::from_millis(2_100), 1);
        log.write(&line(b"/after"));
        log.flush();
        assert_eq!((count(&folder.path().join("access.log.2")), count(&name)), (2, 1));
        assert_eq!(log.lost(), 0);

        // Truncated in place (copytruncate).
        File::options().write(true).truncate(true).open(&name).unwrap();
        log.write(&line(b"/after"));
        log.tick(Timestamp::from_secs(9), 1);
        assert_eq!(std::fs::read(&name).unwrap().first(), Some(&b'{'), "no hole where the lines were");
    }

    #[test]
    fn a_folder_that_is_gone_loses_no_line() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("logs");
        std::fs::create_dir(&name).unwrap();
        let mut log = Log::with_form(&AccessLog::File(name.join("a.log")), form(4096)).unwrap();
        std::fs::rename(&name, folder.path().join("old")).unwrap();
        log.write(&line(b"/1"));
        log.tick(Timestamp::from_secs(1), 0);
        log.write(&line(b"/2"));
        log.tick(Timestamp::from_secs(2), 0);
        let text = std::fs::read_to_string(folder.path().join("old/a.log")).unwrap();
        assert_eq!((text.lines().count(), log.lost()), (2, 0));
    }
}
