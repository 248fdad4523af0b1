//! What a process was started from: its program, the sources in its working directory, its environment.

use crate::surroundings::{commit_of, repository};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is not on the command line of a process, and may differ between two processes with the same one. What cannot be
/// read, such as that of another user's process, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The file of its program: that of the interpreter, if it runs a script.
    pub program: Option<Program>,
    /// The Git repository around its working directory.
    pub sources: Option<Sources>,
    /// The environment that it was started with, without what differs between any two processes: variables of shells, terminals,
    /// logins and service managers, and `PATH`, which matters by the program that it finds. `None` also where a title that the
    /// process shows has replaced it.
    pub environment: Option<BTreeMap<String, String>>,
}

/// The file of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is, or was, in the file system of the process.
    pub path: PathBuf,
    /// Its size and when it was changed. In two containers, different files have the same path.
    pub file: Option<(u64, SystemTime)>,
}

/// A Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// Its folder, in the file system of the process.
    pub folder: PathBuf,
    /// The commit that is checked out now; what is not committed is not seen.
    pub commit: String,
}

impl Origin {
    /// Of a process that runs; empty where there is none.
    pub fn of_process(id: u32) -> Self {
        let process = PathBuf::from(format!("/proc/{id}"));
        let program = fs::read_link(process.join("exe")).ok().map(|path| {
            let file = fs::metadata(process.join("exe")).ok();
            Program {
                path: undeleted(path),
                file: file.and_then(|file| Some((file.len(), file.modified().ok()?))),
            }
        });
        let directory = fs::read_link(process.join("cwd")).ok();
        Origin {
            program,
            sources: directory.and_then(|directory| sources(&process.join("root"), &directory)),
            environment: fs::read(process.join("environ")).ok().and_then(|text| environment(&text)),
        }
    }
}

/// The path of a program whose file was replaced or removed since it was started.
fn undeleted(path: PathBuf) -> PathBuf {
    match path.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(path) => PathBuf::from(path),
        None => path,
    }
}

/// The repository around a directory of the file system with this root, which another one may be for a container.
fn sources(root: &Path, directory: &Path) -> Option<Sources> {
    let folder = repository(&root.join(directory.strip_prefix("/").ok()?))?;
    Some(Sources {
        commit: commit_of(&folder)?,
        folder: Path::new("/").join(folder.strip_prefix(root).ok()?),
    })
}

/// Parses `/proc/PID/environ`: variables that end with a zero byte.
fn environment(text: &[u8]) -> Option<BTreeMap<String, String>> {
    let variables: BTreeMap<String, String> = text
        .split(|byte| *byte == 0)
        .filter_map(|variable| {
            let variable = String::from_utf8_lossy(variable);
            let (name, value) = variable.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect();
    let is_own =
        |name: &str| OWN.contains(&name) || OWN_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
    let is_known = !variables.is_empty();
    is_known.then(|| variables.into_iter().filter(|(name, _)| !is_own(name)).collect())
}

/// Variables that a shell, a terminal, a login, sudo(8), systemd (systemd.exec(5)), supervisord or pm2 sets for each process, and
/// the one by which a program is found.
const OWN: [&str; 37] = [
    "_",
    "PATH",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "SHELL",
    "PS1",
    "VIRTUAL_ENV_PROMPT",
    "HOME",
    "USER",
    "LOGNAME",
    "MAIL",
    "HOSTNAME",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "LS_COLORS",
    "GPG_TTY",
    "STY",
    "WINDOW",
    "WINDOWID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "SYSTEMD_EXEC_PID",
    "MAINPID",
    "MANAGERPID",
    "NOTIFY_SOCKET",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "CREDENTIALS_DIRECTORY",
    "NODE_APP_INSTANCE",
    "pm_id",
    "unique_id",
];
/// Beginnings of further ones.
const OWN_BEGINNINGS: [&str; 15] = [
    "BASH_FUNC_",
    "TERM_",
    "TMUX",
    "ZELLIJ",
    "GNOME_TERMINAL_",
    "KONSOLE_",
    "KITTY_",
    "WEZTERM_",
    "ALACRITTY_",
    "SSH_",
    "SUDO_",
    "XDG_",
    "DBUS_SESSION_",
    "MEMORY_PRESSURE_",
    "SUPERVISOR_",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_has_a_program_sources_and_an_environment() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(folder.path().join(".git")).unwrap();
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join(".git/HEAD"), "1".repeat(40)).unwrap();
        let mut sleeps = Command::new("sleep");
        sleeps.arg("30").current_dir(deep).env_clear();
        sleeps.envs([("WORKERS", "4"), ("PWD", "/"), ("SSH_TTY", "/dev/pts/1"), ("A", "b=c")]);
        // Some shells pass exported functions on, and others do not.
        sleeps.env("BASH_FUNC_run%%", "() { :; }");
        let mut child = sleeps.spawn().unwrap();
        // Until the program has replaced the copy of this one.
        let begun = std::time::Instant::now();
        let ours = Origin::of_process(std::process::id());
        let found = loop {
            let found = Origin::of_process(child.id());
            if found.program != ours.program || begun.elapsed().as_secs() > 10 {
                break found;
            }
        };
        child.kill().unwrap();
        child.wait().unwrap();
        let sources = Sources { folder: folder.path().canonicalize().unwrap(), commit: "1".repeat(40) };
        assert_eq!(found.sources, Some(sources));
        let program = found.program.unwrap();
        assert!(program.file.is_some_and(|(bytes, _)| bytes > 0), "{program:?}");
        let set = [("A", "b=c"), ("WORKERS", "4")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found.environment, Some(BTreeMap::from(set)));
        assert_eq!(Origin::of_process(0), Origin::default());
    }

    #[test]
    fn what_a_title_has_replaced_is_not_known_and_a_program_that_was_replaced_keeps_its_name() {
        assert_eq!(environment(&[0; 100]), None);
        assert_eq!(environment(b"PATH=/bin\0"), Some(BTreeMap::new()));
        assert_eq!(undeleted(PathBuf::from("/srv/app (deleted)")), Path::new("/srv/app"));
        assert_eq!(undeleted(PathBuf::from("/srv/app")), Path::new("/srv/app"));
    }
}
