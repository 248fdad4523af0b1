//! What differs between the control and a candidate: words of the command, variables of its environment, lines of files that
//! it names.
//!
//! ## Why words
//! A command is all that starts a service, so that what differs between two arms is in it, in its environment, or in a file that it
//! names. A flag with its value is one change, and so are other adjacent words, such as another program with its script; of variables
//! before a program, and of lines, each is one. Two changes are two variables, and their effects could not be told apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

/// What was recorded of an arm.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// The command.
    pub command: &'a str,
    /// Variables of its environment.
    pub env: &'a BTreeMap<String, String>,
    /// The URL; its port is not a difference.
    pub url: &'a str,
}

/// A difference between the control and a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A flag with its value, or other adjacent words of the command; empty where there are none.
    Words {
        /// In the control.
        control: String,
        /// In the candidate.
        candidate: String,
    },
    /// A variable of the environment.
    Env(String),
    /// A line of a file that the command names, or several where there is another number of them.
    Lines {
        /// The file of the candidate.
        file: String,
        /// The first of the lines, from 1.
        line: usize,
    },
}

/// All differences of two arms.
pub fn changes(control: &Recorded<'_>, candidate: &Recorded<'_>) -> Vec<Change> {
    let [ours, theirs] = [control, candidate].map(words);
    let mut found = Vec::new();
    for (from, to) in hunks(&ours, &theirs) {
        // Both commands have the same word before.
        let after_flag = from.start > 0 && ours[from.start - 1].starts_with('-');
        let (from, to) = (&ours[from], &theirs[to]);
        match (file_of(from), file_of(to)) {
            (Some(before), Some(after)) => {
                let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
                let changed = hunks(&lines(&before), &lines(&after));
                let file = to.join(" ");
                for (from, to) in changed {
                    let each = if from.len() == to.len() { to.len() } else { 1 };
                    found.extend(
                        (to.start..to.start + each)
                            .map(|at| Change::Lines { file: file.clone(), line: at + 1 }),
                    );
                }
            }
            _ => {
                let (from, to) = (pieces(from, after_flag), pieces(to, after_flag));
                let piece = |pieces: &[String], at: usize| pieces.get(at).cloned().unwrap_or_default();
                found.extend(
                    (0..from.len().max(to.len()))
                        .map(|at| Change::Words { control: piece(&from, at), candidate: piece(&to, at) }),
                );
            }
        }
    }
    let names: BTreeSet<&String> = control.env.keys().chain(candidate.env.keys()).collect();
    let differs = |name: &&String| control.env.get(*name) != candidate.env.get(*name);
    found.extend(names.into_iter().filter(differs).map(|name| Change::Env(name.clone())));
    found
}

/// The words of a command, without its port.
fn words(recorded: &Recorded<'_>) -> Vec<String> {
    let port = recorded.url.rsplit_once(':').map(|(_, port)| port.trim_end_matches('/'));
    let port = port.filter(|port| port.parse::<u16>().is_ok());
    let word = |word: &str| match port {
        Some(port) if word == port => "{port}".to_owned(),
        Some(port) => match word.strip_suffix(port) {
            Some(rest) if rest.ends_with([':', '=']) => format!("{rest}{{port}}"),
            _ => word.to_owned(),
        },
        None => word.to_owned(),
    };
    recorded.command.split_whitespace().map(word).collect()
}

/// Words as flags with their values. The first word may be the value of the flag before it; variables before a program are by
/// themselves.
fn pieces(words: &[String], after_flag: bool) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let is_variable = |word: &String| word.contains('=') && !word.starts_with('-');
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    for (at, word) in words.iter().enumerate() {
        let begins = word.starts_with('-') || at <= variables || at == 1 && after_flag;
        match pieces.last_mut() {
            Some(last) if !begins => *last += &format!(" {word}"),
            _ => pieces.push(word.clone()),
        }
    }
    pieces
}

/// The text of the file that a single word names, or the value of a flag.
fn file_of(words: &[String]) -> Option<String> {
    let [word] = words else { return None };
    let value = word.split_once('=').filter(|_| word.starts_with('-')).map(|(_, value)| value);
    let path = Path::new(value.unwrap_or(word));
    let mut text = String::new();
    path.is_file().then(|| File::open(path).ok())??.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The places of both lists that differ, in order, by their longest common subsequence. Longer lists differ as a whole.
fn hunks(one: &[String], other: &[String]) -> Vec<(Range<usize>, Range<usize>)> {
    if one == other {
        return Vec::new();
    }
    if one.len().saturating_mul(other.len()) > CELLS_MAX {
        return vec![(0..one.len(), 0..other.len())];
    }
    // The length of the longest common subsequence from each pair of places on.
    let width = other.len() + 1;
    let mut length = vec![0_u32; (one.len() + 1) * width];
    for i in (0..one.len()).rev() {
        for j in (0..other.len()).rev() {
            length[i * width + j] = match one[i] == other[j] {
                true => length[(i + 1) * width + j + 1] + 1,
                false => length[(i + 1) * width + j].max(length[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    while i < one.len() || j < other.len() {
        let begun = (i, j);
        while i < one.len() || j < other.len() {
            match () {
                () if i < one.len() && j < other.len() && one[i] == other[j] => break,
                () if j == other.len()
                    || i < one.len() && length[(i + 1) * width + j] >= length[i * width + j + 1] =>
                {
                    i += 1;
                }
                () => j += 1,
            }
        }
        if begun != (i, j) {
            found.push((begun.0..i, begun.1..j));
        }
        while i < one.len() && j < other.len() && one[i] == other[j] {
            (i, j) = (i + 1, j + 1);
        }
    }
    found
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |words: &str| match words {
            "" => "nothing".to_owned(),
            words => format!("`{words}`"),
        };
        match self {
            Change::Words { control, candidate } => {
                write!(f, "{} is {}", shown(control), shown(candidate))
            }
            Change::Env(name) => write!(f, "the environment variable `{name}`"),
            Change::Lines { file, line } => write!(f, "line {line} of {file}"),
        }
    }
}

/// Larger files are compared by their beginning.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// The largest table of a comparison.
const CELLS_MAX: usize = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn said(control: &str, candidate: &str) -> Vec<String> {
        let env = BTreeMap::new();
        let recorded = |command, url| Recorded { command, env: &env, url };
        let found = changes(
            &recorded(control, "http://127.0.0.1:8001"),
            &recorded(candidate, "http://127.0.0.1:8002/"),
        );
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn adjacent_words_are_one_change_and_ports_are_none() {
        for (control, candidate, changes) in [
            ("gunicorn -w 2 app", "gunicorn -w 2 app", vec![]),
            ("gunicorn -w 2 app", "gunicorn -w 4 app", vec!["`2` is `4`"]),
            ("gunicorn -w 2 -b :8001 app", "gunicorn -w 4 -b :8002 app", vec!["`2` is `4`"]),
            ("serve --port 8001", "serve --port 8002", vec![]),
            // A flag with its value, and two flags.
            (
                "gunicorn app",
                "gunicorn --threads 2 --preload app",
                vec!["nothing is `--threads 2`", "nothing is `--preload`"],
            ),
            ("gunicorn -w 2 -b :1", "gunicorn -w 4 -c -b :1", vec!["`2` is `4`", "nothing is `-c`"]),
            ("gunicorn app", "gunicorn --threads 2 app", vec!["nothing is `--threads 2`"]),
            ("gunicorn -w 2 app", "puma -w 2 app", vec!["`gunicorn` is `puma`"]),
            (
                "gunicorn -w 2 --threads 1 app",
                "gunicorn -w 4 --threads 8 app",
                vec!["`2` is `4`", "`1` is `8`"],
            ),
            ("a b c d", "a c d e", vec!["`b` is nothing", "nothing is `e`"]),
            ("gunicorn -w 2 app:a", "gunicorn -w 4 app:b", vec!["`2` is `4`", "`app:a` is `app:b`"]),
            ("A=1 B=2 serve", "A=3 B=4 serve", vec!["`A=1` is `A=3`", "`B=2` is `B=4`"]),
            ("A=1 python app.py", "A=1 node server.js", vec!["`python app.py` is `node server.js`"]),
        ] {
            assert_eq!(said(control, candidate), changes, "{control} / {candidate}");
        }
    }

    #[test]
    fn the_environment_and_files_that_are_named_count() {
        let folder = std::env::temp_dir().join(format!("headroom-changes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let one = file("one.conf", "workers 2\nconnections 10\nlog on\nbacklog 10\n");
        let other = file("other.conf", "workers 4\nconnections 20\nlog on\nbacklog 20\n");
        let lines = [1, 2, 4].map(|line| format!("line {line} of {other}"));
        assert_eq!(said(&format!("nginx -c {one}"), &format!("nginx -c {other}")), lines);
        let lines = [1, 2, 4].map(|line| format!("line {line} of --config={other}"));
        assert_eq!(said(&format!("nginx --config={one}"), &format!("nginx --config={other}")), lines);
        std::fs::remove_dir_all(&folder).unwrap();

        let env = |value: &str| {
            BTreeMap::from([("SAME".to_owned(), "1".to_owned()), ("A".to_owned(), value.to_owned())])
        };
        let (ours, theirs) = (env("1"), env("2"));
        let recorded = |env| Recorded { command: "serve", env, url: "http://127.0.0.1:1" };
        assert_eq!(changes(&recorded(&ours), &recorded(&theirs)), [Change::Env("A".to_owned())]);
    }
}
