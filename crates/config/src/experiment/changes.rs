//! What differs between the control and a candidate: words of the command, variables of its environment, lines of files that
//! it names; of processes that run already, their program and the commit in their working directory, too.
//!
//! ## Why words
//! A command is all that starts a service, so that what differs between two arms is in it, in its environment, or in a file that it
//! names. A flag with its value is one change, and so are other adjacent words, such as another program with its script; of variables
//! before a program, and of lines, each is one. Two changes are two variables, and their effects could not be told apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What was recorded of an arm.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recorded<'a> {
    /// The command.
    pub command: &'a str,
    /// Variables of its environment, if they are known.
    pub env: Option<&'a BTreeMap<String, String>>,
    /// The URL; its port is not a difference.
    pub url: &'a str,
    /// The file of its program, if it is known.
    pub program: Option<Program<'a>>,
    /// The folder of the repository around its working directory, and the commit there, if they are known.
    pub sources: Option<(&'a Path, &'a str)>,
}

/// The file of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Its size and when it was changed, if they are known: files of two containers may have the same path.
    pub file: Option<(u64, SystemTime)>,
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
    /// The file of the program that the same command runs.
    Program {
        /// Of the control.
        control: PathBuf,
        /// Of the candidate; the same path is another file.
        candidate: PathBuf,
    },
    /// Packages of two virtual environments of Python, each as `NAME VERSION is VERSION`.
    Packages(Vec<String>),
    /// The commit in the working directory, with all that differs in the sources.
    Commit {
        /// Of the control.
        control: String,
        /// Of the candidate.
        candidate: String,
    },
}

/// All differences of two arms.
pub fn changes(control: &Recorded<'_>, candidate: &Recorded<'_>) -> Vec<Change> {
    let commits = control.sources.zip(candidate.sources).map(|((_, before), (_, after))| (before, after));
    let commits = commits.filter(|(before, after)| before != after);
    // What differs in the sources themselves is one change.
    let is_other_commit = commits.is_some();
    let environments =
        environment_of(control).zip(environment_of(candidate)).filter(|(one, other)| one != other);
    let at = |recorded, environment| Folders { recorded, is_other_commit, environment };
    let (of_control, of_candidate) = environments.as_ref().map(|(one, other)| (&**one, &**other)).unzip();
    let (control_at, candidate_at) = (at(control, of_control), at(candidate, of_candidate));
    let [mut ours, theirs] = [&control_at, &candidate_at].map(words);
    // The same program as `node` and as `/usr/bin/node`.
    if let ([one, ..], [other, ..]) = (ours.as_mut_slice(), theirs.as_slice())
        && control.program.is_some()
        && control.program == candidate.program
        && Path::new(one).file_name() == Path::new(other).file_name()
    {
        one.clone_from(other);
    }
    let mut found = Vec::new();
    for (from, to) in hunks(&ours, &theirs) {
        // Both commands have the same word before.
        let after_flag = from.start > 0 && ours[from.start - 1].starts_with('-');
        let (from, to) = (&ours[from], &theirs[to]);
        match (file_of(from), file_of(to)) {
            (Some(before), Some(after)) => {
                let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
                let (before, after) = (lines(&before), lines(&after));
                let file = to.join(" ");
                for (from, to) in hunks(&before, &after) {
                    let is_same = |(one, other): (usize, usize)| {
                        line_without_port(&before[one], control)
                            == line_without_port(&after[other], candidate)
                    };
                    let changed: Vec<usize> = match from.len() == to.len() {
                        true => from.zip(to).filter(|pair| !is_same(*pair)).map(|(_, at)| at).collect(),
                        false => vec![to.start],
                    };
                    found.extend(
                        changed.into_iter().map(|at| Change::Lines { file: file.clone(), line: at + 1 }),
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
    if let Some((before, after)) = control.env.zip(candidate.env) {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let value = |env: &BTreeMap<String, String>, name: &String, at: &Folders<'_>| {
            env.get(name).map(|value| plain(value, at))
        };
        let differs = |name: &&String| value(before, name, &control_at) != value(after, name, &candidate_at);
        found.extend(names.into_iter().filter(differs).map(|name| Change::Env(name.clone())));
    }
    if let Some((before, after)) = control.program.zip(candidate.program) {
        let path = |program: Program<'_>, at: &Folders<'_>| plain(&program.path.to_string_lossy(), at);
        let (ours_at, theirs_at) = (path(before, &control_at), path(after, &candidate_at));
        let is_of_sources = ours_at.starts_with(SOURCES) && ours_at == theirs_at;
        // Another program on the command line is the same change.
        if before != after && !is_of_sources && ours.first() == theirs.first() {
            found.push(Change::Program { control: before.path.to_owned(), candidate: after.path.to_owned() });
        }
    }
    if let Some((one, other)) = &environments {
        let of_sources = |environment: &Path, at: &Folders<'_>| {
            at.sources().is_some_and(|sources| environment.starts_with(sources))
        };
        let packages = versions_that_differ(&packages(one), &packages(other));
        // Those of the sources come with the commit.
        let come_along = of_sources(one, &control_at) && of_sources(other, &candidate_at);
        if !packages.is_empty() && !come_along {
            found.push(Change::Packages(packages));
        }
    }
    if let Some((before, after)) = commits {
        found.push(Change::Commit { control: before.to_owned(), candidate: after.to_owned() });
    }
    found
}

/// What is the same in both arms, although its name is not.
struct Folders<'a> {
    recorded: &'a Recorded<'a>,
    /// Whether its sources are another commit.
    is_other_commit: bool,
    /// The folder of its virtual environment, if it is another one.
    environment: Option<&'a Path>,
}

impl<'a> Folders<'a> {
    /// The folder of its sources, if they are another commit.
    fn sources(&self) -> Option<&'a Path> {
        self.recorded.sources.map(|(folder, _)| folder).filter(|_| self.is_other_commit)
    }
}

/// The words of a command, without its port and folders.
fn words(at: &Folders<'_>) -> Vec<String> {
    at.recorded.command.split_whitespace().map(|word| plain(word, at)).collect()
}

/// A word, or a value of the environment, without the port and the folder that it begins with, also after a `=`.
fn plain(word: &str, at: &Folders<'_>) -> String {
    let word = port(at.recorded).map_or_else(|| word.to_owned(), |port| without_port(word, port));
    let (flag, path) = word.split_once('=').map_or(("", &*word), |(flag, path)| (flag, path));
    let folders = [(at.environment, ENVIRONMENT), (at.sources(), SOURCES)];
    let rest = folders
        .into_iter()
        .find_map(|(folder, name)| Some((name, Path::new(path).strip_prefix(folder?).ok()?)));
    match rest {
        Some((name, rest)) if flag.is_empty() => format!("{name}{}", rest.display()),
        Some((name, rest)) => format!("{flag}={name}{}", rest.display()),
        None => word,
    }
}

/// The folder of the virtual environment of Python from which a command runs: a word is a file of its `bin`, or `VIRTUAL_ENV`
/// names it.
fn environment_of(recorded: &Recorded<'_>) -> Option<PathBuf> {
    let is_one = |folder: &&Path| folder.is_absolute() && folder.join("pyvenv.cfg").is_file();
    let of_word = |word: &str| Path::new(word).parent()?.parent().filter(is_one).map(Path::to_owned);
    let named = || {
        let folder = recorded.env?.get("VIRTUAL_ENV")?;
        Some(Path::new(folder)).filter(is_one).map(Path::to_owned)
    };
    recorded.command.split_whitespace().find_map(of_word).or_else(named)
}

/// The versions of the packages in a virtual environment, from the names of their folders (PyPA's "Recording installed projects").
fn packages(environment: &Path) -> BTreeMap<String, String> {
    let folders =
        |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let versions = folders(environment.join("lib")).flat_map(|python| folders(python.join("site-packages")));
    let of = |folder: PathBuf| {
        let (name, version) = folder.file_name()?.to_str()?.strip_suffix(".dist-info")?.split_once('-')?;
        Some((name.to_owned(), version.to_owned()))
    };
    versions.filter_map(of).collect()
}

fn versions_that_differ(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let version = |packages: &BTreeMap<String, String>, name: &String| {
        packages.get(name).map_or("missing".to_owned(), Clone::clone)
    };
    let of = |name: &String| (version(before, name), version(after, name));
    let differ = names.into_iter().map(|name| (name, of(name))).filter(|(_, (one, other))| one != other);
    differ.map(|(name, (one, other))| format!("{name} {one} is {other}")).collect()
}

/// A line without the port wherever it is a number of its own, such as in `listen 8001;`.
fn line_without_port(line: &str, recorded: &Recorded<'_>) -> String {
    let Some(port) = port(recorded) else { return line.to_owned() };
    let mut text = String::new();
    for part in line.split_inclusive(|next: char| !next.is_ascii_digit()) {
        match part.strip_prefix(port) {
            // A part is a number with the character after it.
            Some(rest) if !rest.starts_with(|next: char| next.is_ascii_digit()) => {
                text += "{port}";
                text += rest;
            }
            _ => text += part,
        }
    }
    text
}

/// The port of its URL, if that names one.
fn port<'a>(recorded: &Recorded<'a>) -> Option<&'a str> {
    let port = recorded.url.rsplit_once(':').map(|(_, port)| port.trim_end_matches('/'));
    port.filter(|port| port.parse::<u16>().is_ok())
}

/// A word that is the port, ends with it after a `=`, or has it after a colon, such as `(tcp://0.0.0.0:8001)` in a title.
fn without_port(word: &str, port: &str) -> String {
    match word.strip_suffix(port) {
        Some(rest) if rest.is_empty() || rest.ends_with('=') => return format!("{rest}{{port}}"),
        _ => (),
    }
    let wanted = format!(":{port}");
    let mut parts = word.split(&wanted);
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let goes_on = part.starts_with(|next: char| next.is_ascii_digit());
        found += &if goes_on { format!(":{port}{part}") } else { format!(":{{port}}{part}") };
    }
    found
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
            Change::Program { control, candidate } if control == candidate => {
                write!(f, "the program `{}` is another file", control.display())
            }
            Change::Program { control, candidate } => {
                write!(f, "the program `{}` is `{}`", control.display(), candidate.display())
            }
            Change::Packages(all) => {
                let shown =
                    all.iter().take(PACKAGES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
                let more = all.len().saturating_sub(PACKAGES_SHOWN);
                write!(
                    f,
                    "packages: {shown}{}",
                    if more > 0 { format!(" and {more} more") } else { String::new() }
                )
            }
            Change::Commit { control, candidate } => {
                let short = |commit: &str| commit.chars().take(COMMIT_SHOWN).collect::<String>();
                write!(f, "commit {} of the sources is {}", short(control), short(candidate))
            }
        }
    }
}

/// In place of the folder of the sources.
const SOURCES: &str = "{sources}/";
/// In place of the folder of the virtual environment.
const ENVIRONMENT: &str = "{environment}/";
/// Packages that a message names.
const PACKAGES_SHOWN: usize = 5;
/// Larger files are compared by their beginning.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// The largest table of a comparison.
const CELLS_MAX: usize = 4_000_000;
/// Digits of a commit that are shown.
const COMMIT_SHOWN: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn said(control: &str, candidate: &str) -> Vec<String> {
        let recorded = |command, url| Recorded { command, url, ..Recorded::default() };
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
            ("puma 5.6 (tcp://0.0.0.0:8001) [shop]", "puma 5.6 (tcp://0.0.0.0:8002) [shop]", vec![]),
            ("serve a:80011", "serve a:80021", vec!["`a:80011` is `a:80021`"]),
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
        fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let one = file("one.conf", "workers 2\nconnections 10\nlog on\nbacklog 10\n");
        let other = file("other.conf", "workers 4\nconnections 20\nlog on\nbacklog 20\n");
        let lines = [1, 2, 4].map(|line| format!("line {line} of {other}"));
        assert_eq!(said(&format!("nginx -c {one}"), &format!("nginx -c {other}")), lines);
        let lines = [1, 2, 4].map(|line| format!("line {line} of --config={other}"));
        assert_eq!(said(&format!("nginx --config={one}"), &format!("nginx --config={other}")), lines);
        // As after the addresses above.
        let one = file("one.conf", "listen 8001 backlog=10;\nlimit 80010;\nworkers 2;\n");
        let other = file("other.conf", "listen 8002 backlog=10;\nlimit 80020;\nworkers 2;\n");
        let lines = [format!("line 2 of {other}")];
        assert_eq!(said(&format!("nginx -c {one}"), &format!("nginx -c {other}")), lines);
        fs::remove_dir_all(&folder).unwrap();

        let env = |value: &str| {
            BTreeMap::from([("SAME".to_owned(), "1".to_owned()), ("A".to_owned(), value.to_owned())])
        };
        let (ours, theirs) = (env("1"), env("2"));
        let recorded = |env| Recorded { command: "serve", env: Some(env), ..Recorded::default() };
        assert_eq!(changes(&recorded(&ours), &recorded(&theirs)), [Change::Env("A".to_owned())]);
        let of_ports = ["8001", "8002"].map(|port| {
            BTreeMap::from([("PORT".to_owned(), port.to_owned()), ("BIND".to_owned(), format!("::{port}"))])
        });
        let at = |env, url| Recorded { url, ..recorded(env) };
        let [ours, theirs] = [at(&of_ports[0], "http://a:8001"), at(&of_ports[1], "http://a:8002")];
        assert_eq!(changes(&ours, &theirs), []);
        assert_eq!(changes(&ours, &Recorded { env: None, ..theirs }), [], "it is not known");
    }

    #[test]
    fn packages_of_two_virtual_environments_are_one_change() {
        let folder = tempfile::tempdir().unwrap();
        let environment = |name: &str, packages: &[&str]| {
            let root = folder.path().join(name);
            let site = root.join("lib/python3.12/site-packages");
            fs::create_dir_all(root.join("bin")).unwrap();
            packages.iter().for_each(|name| fs::create_dir_all(site.join(name)).unwrap());
            fs::write(root.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
            root.display().to_string()
        };
        let old = environment("old", &["gunicorn-20.1.0.dist-info", "click-8.1.7.dist-info"]);
        let same = environment("same", &["gunicorn-20.1.0.dist-info", "click-8.1.7.dist-info"]);
        let new = environment(
            "new",
            &["gunicorn-23.0.0.dist-info", "packaging-24.1.dist-info", "click-8.1.7.dist-info"],
        );
        let between = |one: &str, other: &str, words: &str| {
            let [ours, theirs] =
                [one, other].map(|root| BTreeMap::from([("VIRTUAL_ENV".to_owned(), root.to_owned())]));
            let [command, candidate] =
                [format!("{one}/bin/gunicorn -w 2"), format!("{other}/bin/gunicorn -w {words}")];
            let found = changes(
                &Recorded { command: &command, env: Some(&ours), ..Recorded::default() },
                &Recorded { command: &candidate, env: Some(&theirs), ..Recorded::default() },
            );
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let versions = "packages: gunicorn 20.1.0 is 23.0.0, packaging missing is 24.1";
        assert_eq!(between(&old, &same, "2"), Vec::<String>::new());
        assert_eq!(between(&old, &same, "4"), ["`2` is `4`"]);
        assert_eq!(between(&old, &new, "2"), [versions]);
        assert_eq!(between(&old, &new, "4"), ["`2` is `4`", versions]);
        assert_eq!(between(&old, "/srv/none", "2").len(), 2, "nothing is known of the other one");
    }

    #[test]
    fn a_program_and_a_commit_count_unless_they_follow_from_something_else() {
        let program = |path, bytes| Some(Program { path: Path::new(path), file: Some((bytes, UNIX_EPOCH)) });
        let old = program("/usr/bin/node", 1);
        let (one, other) = ("1".repeat(40), "2".repeat(40));
        let at = |folder, commit| Some((Path::new(folder), commit));
        let control = Recorded {
            command: "node server.js",
            program: old,
            sources: at("/srv/old", &*one),
            ..Recorded::default()
        };
        let between = |control: Recorded<'_>, candidate: Recorded<'_>| {
            changes(&control, &candidate).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let said = |candidate: Recorded<'_>| between(control, candidate);
        assert_eq!(said(control), Vec::<String>::new());
        let new = Recorded { program: program("/opt/bin/node", 2), ..control };
        assert_eq!(said(new), ["the program `/usr/bin/node` is `/opt/bin/node`"]);
        assert_eq!(
            said(Recorded { command: "/opt/bin/node server.js", ..new }),
            ["`node` is `/opt/bin/node`"]
        );
        let by_its_path = Recorded { command: "/usr/bin/node --jitless server.js", ..control };
        assert_eq!(said(by_its_path), ["nothing is `--jitless`"]);
        let rebuilt = Recorded { program: program("/usr/bin/node", 3), ..control };
        assert_eq!(said(rebuilt), ["the program `/usr/bin/node` is another file"]);
        assert_eq!(said(Recorded { program: None, sources: None, ..control }), Vec::<String>::new());

        let commit = "commit 111111111111 of the sources is 222222222222";
        let later = Recorded { sources: at("/srv/new", &*other), ..control };
        assert_eq!(said(later), [commit]);
        assert_eq!(said(Recorded { command: "node --jitless server.js", ..later }).len(), 2);
        // Paths in both checkouts, and a program that was built there.
        for (ours, theirs, changes) in [
            ("node /srv/old/server.js", "node /srv/new/server.js", 1),
            ("node --config=/srv/old/a server.js", "node --config=/srv/new/a server.js", 1),
            ("node /srv/old/server.js", "node /srv/new/other.js", 2),
            ("node --cache redis://a/0", "node --cache redis://b/0", 2),
        ] {
            let found = between(Recorded { command: ours, ..control }, Recorded { command: theirs, ..later });
            assert_eq!(found.len(), changes, "{found:?}");
        }
        let built = |recorded, path| Recorded { command: "./serve", program: program(path, 4), ..recorded };
        assert_eq!(between(built(control, "/srv/old/serve"), built(later, "/srv/new/serve")), [commit]);
        assert_eq!(between(built(control, "/srv/old/serve"), built(later, "/bin/serve")).len(), 2);
    }
}
