//! How a process was started: its command, directory, environment and limit of descriptors, as far as they are known later.
//!
//! ## What is not known
//! The kernel shows the memory of the process where its command line was. A server that has written a title there (Puma,
//! PostgreSQL) has overwritten the command, and perhaps the environment behind it.
//!
//! Formats: proc(5), `cmdline`, `environ`, `cwd`, `limits`.

use crate::text::{read, soft_limit};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a process was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// The words of its command; `None` where a title has taken its place.
    pub words: Option<Vec<String>>,
    /// What is in its place: the title, or the words.
    pub title: String,
    /// Its working directory now.
    pub directory: Option<PathBuf>,
    /// Its environment at the start; empty where it may not be read.
    pub environment: BTreeMap<String, String>,
    /// How many descriptors it may have; `None` without a limit.
    pub descriptors: Option<u64>,
}

impl CommandLine {
    /// Of a process; `None` where there is none, or it has no command (a thread of the kernel).
    pub fn of(id: u32) -> Option<Self> {
        let bytes = std::fs::read(format!("/proc/{id}/cmdline")).ok()?;
        let (words, title) = words(&String::from_utf8_lossy(&bytes))?;
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let limits = read(format!("/proc/{id}/limits")).unwrap_or_default();
        Some(CommandLine {
            words,
            title,
            directory: std::fs::read_link(format!("/proc/{id}/cwd")).ok(),
            environment: variables(&String::from_utf8_lossy(&environment)),
            descriptors: soft_limit(&limits, "Max open files").and_then(|limit| limit.parse().ok()),
        })
    }

    /// The longest accept queue that the kernel allows in this network namespace.
    pub fn backlog_most() -> Option<u32> {
        crate::text::read_number("/proc/sys/net/core/somaxconn")?.try_into().ok()
    }
}

/// The words, unless they are a title, and the whole; `None` without any.
fn words(text: &str) -> Option<(Option<Vec<String>>, String)> {
    let whole = text.trim_end_matches('\0');
    let words: Vec<String> = whole.split('\0').map(str::to_owned).collect();
    let first = words.first().filter(|first| !first.is_empty())?;
    // The name of a program has no blank, but a title is one text.
    let is_title = words.len() == 1 && first.contains(' ');
    let shown = words.join(" ");
    Some(((!is_title).then_some(words), shown))
}

/// Variables of an environment; without those that have no name, or a name that no shell could have given.
fn variables(text: &str) -> BTreeMap<String, String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let all = text.split('\0').filter_map(|variable| variable.split_once('='));
    all.filter(|(name, _)| is_name(name)).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_title_is_no_command() {
        let of = |text: &str| words(text).map(|(words, title)| (words.map(|words| words.len()), title));
        assert_eq!(
            of(&["gunicorn", "-w", "2", "app", ""].join("\0")),
            Some((Some(4), "gunicorn -w 2 app".to_owned()))
        );
        assert_eq!(of("sleep\0"), Some((Some(1), "sleep".to_owned())));
        // Puma of Debian 12, with the rest of the place that the command had.
        let title = "puma 5.6.5 (tcp://127.0.0.1:1) [tmp]";
        assert_eq!(of(&format!("{title}\0\0\0\0")), Some((None, title.to_owned())));
        assert_eq!(of(""), None);
        // An empty word is a word.
        assert_eq!(of("sh\0-c\0true\0\0x\0"), Some((Some(5), "sh -c true  x".to_owned())));
    }

    #[test]
    fn variables_have_names() {
        let found = variables(&["A=1", "B=x=y", "=odd", "1C=2", "no", "BASH_FUNC_f%%=() {", ""].join("\0"));
        let expected = [("A", "1"), ("B", "x=y")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn a_running_process_shows_how_it_was_started() {
        let mut command = Command::new("sleep");
        command.arg("60").env("HEADROOM_TEST", "a b").current_dir("/").stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        // The process is a copy of this one until it has become `sleep`.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let mut found = None;
        while found.as_ref().is_none_or(|found: &CommandLine| found.title != "sleep 60")
            && std::time::Instant::now() < until
        {
            found = CommandLine::of(child.id());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = found.unwrap();
        assert_eq!(found.words.as_deref(), Some(&["sleep".to_owned(), "60".to_owned()][..]));
        assert_eq!(found.directory, Some(PathBuf::from("/")));
        assert_eq!(found.environment.get("HEADROOM_TEST").map(String::as_str), Some("a b"));
        assert!(found.descriptors.is_none_or(|limit| limit > 0));
        assert_eq!(CommandLine::of(u32::MAX - 1), None);
    }
}
