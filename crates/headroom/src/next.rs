//! The next sensible command, ready to be pasted: it repeats what the user typed where that matters for it too.
//!
//! ```text
//! headroom load https://shop/ -k -H 'X-Key: 1' --threshold 'p(95)<50ms'
//! next: headroom find https://shop/ --slo 'p(95)<50ms' --header 'X-Key: 1' --insecure
//! ```
//!
//! What was typed comes from clap's own account of the command line, so a flag that is added to both commands is
//! repeated without a change here.

use crate::help;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// What the user typed after the name of a command.
pub struct Typed {
    given: Vec<Given>,
}

/// A flag, or a positional argument, with what was given for it.
struct Given {
    flag: Option<String>,
    heading: Option<String>,
    /// The values of each time that it was given; a flag may have none.
    times: Vec<Vec<String>>,
    /// Whether a value follows `=`.
    joined: bool,
}

/// A command line.
#[derive(Clone)]
pub struct Line {
    command: String,
    remark: Option<String>,
}

impl Typed {
    /// What this process was called with. Environment variables hold for the next command anyway.
    pub fn now() -> Self {
        help::command().try_get_matches().map_or(Typed { given: Vec::new() }, |matches| Self::of(&matches))
    }

    fn of(matches: &ArgMatches) -> Self {
        let (mut command, mut matches) = (&help::command(), matches);
        while let Some((name, below)) = matches.subcommand() {
            let Some(found) = command.find_subcommand(name) else { break };
            (command, matches) = (found, below);
        }
        Typed { given: command.get_arguments().filter_map(|arg| Given::of(arg, matches)).collect() }
    }

    /// The values of a flag, or none.
    pub fn values(&self, flag: &str) -> impl Iterator<Item = &str> {
        let given = self.given.iter().filter(move |given| given.flag.as_deref() == Some(flag));
        given.flat_map(|given| given.times.iter().flatten()).map(String::as_str)
    }
}

impl Given {
    fn of(arg: &Arg, matches: &ArgMatches) -> Option<Self> {
        let id = arg.get_id().as_str();
        if matches.try_contains_id(id).is_err() || matches.value_source(id) != Some(ValueSource::CommandLine)
        {
            return None;
        }
        let mut times: Vec<Vec<String>> = Vec::new();
        for values in matches.get_raw_occurrences(id)? {
            let values = values.map(|value| value.to_string_lossy().into_owned());
            times.push(match arg.get_value_delimiter() {
                // clap has taken the list apart.
                Some(delimiter) => vec![values.collect::<Vec<_>>().join(&delimiter.to_string())],
                None if arg.get_action().takes_values() => values.collect(),
                None => Vec::new(),
            });
        }
        Some(Given {
            flag: arg.get_long().map(str::to_owned),
            heading: arg.get_help_heading().map(str::to_owned),
            times,
            joined: arg.is_require_equals_set(),
        })
    }
}

impl Line {
    /// Begins with the name of a program or of one of its commands.
    pub fn new(command: &str) -> Self {
        Line { command: command.to_owned(), remark: None }
    }

    /// Adds a value that is no flag's.
    pub fn value(mut self, value: &str) -> Self {
        self.command += &format!(" {}", quoted(value));
        self
    }

    /// Adds a flag with its value.
    pub fn flag(self, name: &str, value: &str) -> Self {
        self.flags(name, &[value])
    }

    /// Adds a flag with several values.
    pub fn flags(mut self, name: &str, values: &[&str]) -> Self {
        self.add(name, values, &|value| value.starts_with('-'));
        self
    }

    fn add(&mut self, name: &str, values: &[impl AsRef<str>], joined: &dyn Fn(&str) -> bool) {
        self.command += &format!(" --{name}");
        for value in values.iter().map(AsRef::as_ref) {
            let between = if joined(value) { '=' } else { ' ' };
            self.command += &format!("{between}{}", quoted(value));
        }
    }

    /// Adds what was typed of the request, the connection and the permission to load the target, as far as `to`, a command
    /// of headroom, knows it; also the flags in `more`.
    pub fn repeated(self, typed: &Typed, to: &str, more: &[&str]) -> Self {
        let command = help::command();
        let known = |flag: &str| command.find_subcommand(to).is_some_and(|command| has(command, flag));
        self.with(typed, |given| {
            let carried = given.heading.as_deref().is_some_and(|heading| CARRIED.contains(&heading));
            let flag = given.flag.as_deref();
            flag.filter(|flag| (carried || more.contains(flag)) && known(flag)).map(str::to_owned)
        })
    }

    /// Adds everything that was typed but the outputs, which would be overwritten.
    pub fn same(mut self, typed: &Typed) -> Self {
        for given in typed.given.iter().filter(|given| given.flag.is_none()) {
            self = given.times.iter().flatten().fold(self, |line, value| line.value(value));
        }
        self.with(typed, |given| {
            let output = given.heading.as_deref() == Some("Output");
            let flag = given.flag.clone();
            flag.filter(|flag| !output || flag == "ledger")
        })
    }

    /// Adds what was typed that curl knows too, by the names that curl has for it.
    pub fn with_curl_flags(self, typed: &Typed) -> Self {
        self.chosen(typed, false, |given| {
            let flag = given.flag.as_deref()?;
            let renamed = CURL_RENAMED.iter().find(|(ours, _)| *ours == flag).map(|(_, theirs)| *theirs);
            renamed.or_else(|| CURL.contains(&flag).then_some(flag)).map(str::to_owned)
        })
    }

    fn with(self, typed: &Typed, name: impl Fn(&Given) -> Option<String>) -> Self {
        self.chosen(typed, true, name)
    }

    fn chosen(mut self, typed: &Typed, of_clap: bool, name: impl Fn(&Given) -> Option<String>) -> Self {
        for given in &typed.given {
            let Some(name) = name(given) else { continue };
            // clap would take a value that begins like a flag for one; curl never does, and knows no `=`.
            let joined = |value: &str| of_clap && (given.joined || value.starts_with('-'));
            for values in &given.times {
                let values: Vec<_> = values.iter().map(|value| without_secret(&name, value)).collect();
                self.add(&name, &values, &joined);
            }
        }
        self
    }

    /// Says what the command is for.
    pub fn remark(mut self, text: &str) -> Self {
        self.remark = Some(text.to_owned());
        self
    }

    /// The line as the last one of a result, below its remark: not every shell that people type at knows comments.
    pub fn next(&self) -> String {
        let remark = self.remark.as_ref().map_or(String::new(), |remark| format!("{remark}:\n"));
        format!("{remark}next: {self}\n")
    }
}

/// A header whose value is a secret, and a ledger with a password, without it: the line may be kept in a log.
fn without_secret<'a>(flag: &str, value: &'a str) -> Cow<'a, str> {
    if flag == "ledger" {
        return Cow::Owned(ledger::Location::from(std::ffi::OsString::from(value)).to_string());
    }
    let name = value.split(':').next().unwrap_or_default().trim();
    let lower = name.to_ascii_lowercase();
    let is_secret = flag == "header" && SECRETS.iter().any(|part| lower.contains(part));
    if is_secret { Cow::Owned(format!("{name}: SECRET")) } else { Cow::Borrowed(value) }
}

/// Parts of the names of headers whose values are secrets.
const SECRETS: [&str; 6] = ["authorization", "cookie", "token", "secret", "api-key", "apikey"];

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.command)
    }
}

fn has(command: &Command, flag: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(flag))
}

/// The text as one word of a POSIX shell: as it is where no character means anything there, otherwise in single quotes.
pub fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+=".contains(c);
    // `=word` is the path of a command for zsh.
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('=') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

/// Groups of flags that say what is sent, how, and that it may be.
const CARRIED: [&str; 4] = ["Request", "Connections", "TLS", "Safety"];

/// Flags that are curl's too, with the same meaning.
const CURL: [&str; 16] = [
    "cacert",
    "cert",
    "ciphers",
    "connect-to",
    "header",
    "http2",
    "http2-prior-knowledge",
    "insecure",
    "key",
    "no-sessionid",
    "resolve",
    "tls-max",
    "tls13-ciphers",
    "tlsv1.2",
    "tlsv1.3",
    "unix-socket",
];

/// Flags that curl has by another name.
const CURL_RENAMED: [(&str, &str); 3] = [
    // `--data` would leave out line ends.
    ("data", "data-binary"),
    ("local-address", "interface"),
    ("method", "request"),
];

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::process::Command as Process;

    /// What was typed, as text.
    pub fn typed(line: &str) -> Typed {
        Typed::of(&help::command().try_get_matches_from(words(line)).unwrap())
    }

    /// The line, if the command line of this program accepts what a shell makes of it.
    pub fn accepted(line: &Line) -> String {
        help::command().try_get_matches_from(words(&line.to_string())).unwrap();
        line.to_string()
    }

    /// The words of a line, by a real shell.
    fn words(line: &str) -> Vec<String> {
        let script = format!("printf '%s\\0' {line}");
        let output = Process::new("sh").args(["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{line}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        for text in [
            "",
            "plain",
            "p(95)<50ms",
            "it's",
            "a b",
            "$HOME `id` \\ \"x\" !",
            "~/x",
            "#c",
            "=ls",
            "*",
            "é",
            "a\nb",
            "''",
        ] {
            assert_eq!(words(&quoted(text)), [text], "{}", quoted(text));
        }
        assert_eq!(quoted("http://127.0.0.1:8080/a-b_c"), "http://127.0.0.1:8080/a-b_c");
        assert_eq!(quoted("http://h/?a=1&b=2"), "'http://h/?a=1&b=2'");
    }

    #[test]
    fn the_request_and_the_way_to_it_are_repeated() {
        let load = typed(
            "headroom load 'https://shop:8443/a?b=1&c=2' -k -H \"X-Key: it's\" -H 'A: b' -X POST --data=-x --http2 -r 5/s \
             -c 7 --timeout 3s --allow-host shop --json --resolve shop:8443:127.0.0.1",
        );
        let find = Line::new("headroom find").value("https://shop:8443/a?b=1&c=2");
        let find = find.repeated(&load, "find", &["timeout", "ledger"]);
        insta::assert_snapshot!(accepted(&find));
        insta::assert_snapshot!(Line::new("curl -v").value("https://shop:8443/").with_curl_flags(&load));
    }

    #[test]
    fn the_same_command_is_repeated_without_its_outputs() {
        let replay = typed(
            "headroom replay 'my log.gz' http://127.0.0.1:1 --speed 2 --user-header --json --ledger l.sqlite --csv x.csv",
        );
        insta::assert_snapshot!(accepted(&Line::new("headroom replay").same(&replay)));
    }

    #[test]
    fn secrets_of_headers_are_left_out() {
        let load = typed("headroom load http://127.0.0.1:1/ -H 'Authorization: Bearer abc' -H 'X-Page: 2'");
        let find = Line::new("headroom find").value("http://127.0.0.1:1/").repeated(&load, "find", &[]);
        assert!(accepted(&find).contains("--header 'Authorization: SECRET'"), "{find}");
        assert!(
            find.to_string().contains("--header 'X-Page: 2'") && !find.to_string().contains("abc"),
            "{find}"
        );
    }

    #[test]
    fn lists_and_pairs_stay_whole() {
        let simulate =
            typed("headroom simulate --case accounts --stage baseline,final --compare baseline final");
        insta::assert_snapshot!(accepted(&Line::new("headroom simulate").same(&simulate)));
    }

    #[test]
    fn a_remark_is_no_part_of_the_command() {
        let line = Line::new("headroom runs").remark("it's (all)");
        assert_eq!(line.next(), "it's (all):\nnext: headroom runs\n");
    }

    #[test]
    fn every_carried_group_is_one() {
        let command = help::command();
        let load = command.find_subcommand("load").unwrap();
        for heading in CARRIED {
            assert!(load.get_arguments().any(|arg| arg.get_help_heading() == Some(heading)), "{heading}");
        }
        for flag in CURL.iter().chain(CURL_RENAMED.iter().map(|(ours, _)| ours)) {
            assert!(has(load, flag), "{flag}");
        }
    }
}
