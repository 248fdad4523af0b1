//! What surrounds a command: facts that may explain why two runs differ, beside those of the machine's hardware.

use crate::text::{read, soft_limit};
use std::path::{Path, PathBuf};

/// The revision of the sources in the working directory, the machine's model (on AWS Nitro, the type of the instance), limits of
/// the process, and its environment (names begin with `env `). Values that look like secrets are masked.
pub fn surroundings() -> Vec<(String, String)> {
    let directory = std::env::current_dir().ok();
    let facts = [
        ("revision", directory.as_deref().and_then(revision)),
        ("machine", machine()),
        ("open files at most", limit("Max open files")),
        ("processes at most", limit("Max processes")),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let mut environment: Vec<(String, String)> = std::env::vars_os()
        .map(|(name, value)| {
            let (name, value) = (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned());
            let shown = masked(&name, &value);
            (format!("{ENVIRONMENT}{name}"), shown)
        })
        .collect();
    environment.sort_unstable();
    facts.chain(environment).collect()
}

/// The beginning of the names of environment variables in [`surroundings`].
pub const ENVIRONMENT: &str = "env ";

/// The commit that is checked out in the repository of Git around a directory.
fn revision(directory: &Path) -> Option<String> {
    commit_of(&repository(directory)?)
}

/// The folder of the repository of Git around a directory.
pub(crate) fn repository(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find(|directory| directory.join(".git").exists()).map(Path::to_owned)
}

/// The commit that is checked out in a repository, as its files say: no program is run, so changes that are not committed are
/// not seen.
pub(crate) fn commit_of(repository: &Path) -> Option<String> {
    let git = repository.join(".git");
    // In a worktree it is a file with the name of the directory.
    let git = match read(&git) {
        Some(text) => repository.join(text.strip_prefix("gitdir:")?.trim()),
        None => git,
    };
    let head = read(git.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return commit(head.trim()) };
    let common = read(git.join("commondir")).map_or(git.clone(), |text| git.join(text.trim()));
    let loose = |git: &PathBuf| read(git.join(name)).and_then(|text| commit(text.trim()));
    let packed = || {
        let all = read(common.join("packed-refs"))?;
        all.lines().find_map(|line| line.strip_suffix(name).and_then(|line| commit(line.trim())))
    };
    loose(&git).or_else(|| loose(&common)).or_else(packed)
}

fn commit(text: &str) -> Option<String> {
    (text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit())).then(|| text.to_owned())
}

/// The maker and the model that the firmware names.
fn machine() -> Option<String> {
    let of = |name: &str| {
        read(Path::new("/sys/class/dmi/id").join(name)).map(|text| text.trim().to_owned()).unwrap_or_default()
    };
    let named = format!("{} {}", of("sys_vendor"), of("product_name"));
    Some(named.trim().to_owned()).filter(|named| !named.is_empty())
}

/// The soft limit of this process.
fn limit(name: &str) -> Option<String> {
    soft_limit(&read("/proc/self/limits")?, name).map(str::to_owned)
}

/// Whether a variable of the environment looks as if it holds a secret.
pub fn looks_secret(name: &str, value: &str) -> bool {
    let upper = name.to_uppercase();
    let has_secret = upper.ends_with("_PWD")
        || SECRET.iter().any(|word| upper.contains(word))
        || SECRET_VALUES.iter().any(|begin| value.starts_with(begin))
        || value.contains("-----BEGIN");
    // A URL with a login.
    let is_login = value.split("://").skip(1).any(|rest| {
        let url = rest.split([' ', ',', ';', '?', '#']).next().unwrap_or_default();
        let authority = url.split('/').next().unwrap_or_default();
        authority.contains('@') || authority.contains(':') && url.contains('@')
    });
    // Parameters of a URL, or of a connection string.
    let lower = value.to_lowercase();
    let has_parameter = SECRET_PARAMETERS.iter().any(|name| lower.contains(name));
    !value.is_empty() && (has_secret || is_login || has_parameter)
}

/// A command without the values of flags and variables that look like secrets: `***` in their place.
pub fn without_secrets(command: &str) -> String {
    let mut flag = "";
    // The quote that ends a secret with blanks.
    let mut quote = None;
    let mut shown = String::with_capacity(command.len());
    for part in command.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        if let Some(end) = quote {
            quote = quote.filter(|_| !word.ends_with(end));
            continue;
        }
        let (name, value) = word.split_once('=').unwrap_or((flag, word));
        let is_flag = word.starts_with('-') && !word.contains('=');
        flag = if is_flag { word } else { "" };
        let hidden = match () {
            () if is_flag => None,
            () if looks_secret(name, value.trim_matches(QUOTES)) => Some(value),
            // A URL with a login and a `=`.
            () => looks_secret("", word).then_some(word),
        };
        let Some(hidden) = hidden else {
            shown += part;
            continue;
        };
        shown += &format!("{}***{}", &word[..word.len() - hidden.len()], &part[word.len()..]);
        let begin = hidden.chars().next().filter(|first| QUOTES.contains(first));
        quote = begin.filter(|begin| hidden.len() == 1 || !hidden.ends_with(*begin));
    }
    shown
}

const QUOTES: [char; 2] = ['"', '\''];

/// A value of the environment without what looks like a secret.
fn masked(name: &str, value: &str) -> String {
    match value.chars().count() {
        _ if looks_secret(name, value) => "***".to_owned(),
        count if count > LONGEST => {
            format!("{}… ({count} characters)", value.chars().take(LONGEST).collect::<String>())
        }
        _ => value.to_owned(),
    }
}

/// Parts of names of variables that hold secrets.
const SECRET: [&str; 14] = [
    "PASS",
    "SECRET",
    "TOKEN",
    "KEY",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "SESSION",
    "PRIVATE",
    "DSN",
    "SIGNATURE",
    "CERT",
    "WEBHOOK",
    "SALT",
];
/// Beginnings of well-known secrets: JSON web tokens, keys of AWS, tokens of GitHub, GitLab, npm, Hugging Face and Slack.
const SECRET_VALUES: [&str; 12] =
    ["eyJ", "AKIA", "ASIA", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "npm_", "hf_", "xox", "sk-"];
/// Names of parameters that hold secrets.
const SECRET_PARAMETERS: [&str; 8] =
    ["password=", "passwd=", "pwd=", "secret=", "token=", "key=", "sig=", "credential="];
/// Longer values are cut.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (name, value) in [
            ("AWS_SECRET_ACCESS_KEY", "abc"),
            ("db_password", "abc"),
            ("GITHUB_TOKEN", "abc"),
            ("MINE", "eyJhbGciOi"),
            ("DATABASE_URL", "postgres://me:pw@db/x"),
            ("PROXY", "http://me@proxy:3128"),
            ("TWO", "a=http://x/ b=redis://:pw@cache:6379"),
            ("PEM", "-----BEGIN RSA"),
            ("HEADROOM_LEDGER", "postgres://db/runs?user=me&password=x"),
            ("HEADROOM_LEDGER", "postgres://me:pa/ss@db/runs"),
            ("MYSQL_PWD", "abc"),
            ("STORE", "Server=db;AccountKey=abc"),
        ] {
            assert_eq!(masked(name, value), "***", "{name}");
        }
        assert_eq!(masked("RUSTFLAGS", "-C target-cpu=native"), "-C target-cpu=native");
        assert_eq!(masked("URL", "http://example.org/a@b"), "http://example.org/a@b");
        assert_eq!(masked("A_TOKEN", ""), "", "it is not set");
        assert!(masked("LS_COLORS", &"x".repeat(500)).ends_with("… (500 characters)"));
    }

    #[test]
    fn a_command_keeps_all_but_its_secrets() {
        for (command, shown) in [
            ("gunicorn -w 2 --bind :8000 app:app", "gunicorn -w 2 --bind :8000 app:app"),
            ("DATABASE_URL=postgres://me:pw@db/x  gunicorn app", "DATABASE_URL=***  gunicorn app"),
            ("serve --token abc --wait 5ms\n", "serve --token *** --wait 5ms\n"),
            ("serve --db-password='a' --key", "serve --db-password=*** --key"),
            ("serve http://me:pw@cache:6379 x", "serve *** x"),
            ("serve http://me:pw@cache/?a=b x", "serve *** x"),
            ("serve --token 'a b c' x", "serve --token *** x"),
            ("TOKEN=\"a b\" serve 'x y'", "TOKEN=*** serve 'x y'"),
        ] {
            assert_eq!(without_secrets(command), shown);
        }
    }

    #[test]
    fn the_revision_is_read_from_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        let [one, two, three] = ["1", "2", "3"].map(|digit| digit.repeat(40));
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(revision(&deep), None, "there is no commit yet");
        std::fs::write(git.join("packed-refs"), format!("# pack\n{two} refs/heads/main\n")).unwrap();
        assert_eq!(revision(&deep), Some(two));
        std::fs::write(git.join("refs/heads/main"), format!("{one}\n")).unwrap();
        assert_eq!(revision(&deep), Some(one.clone()));
        let tree = tempfile::tempdir().unwrap();
        let of_tree = git.join("worktrees/t");
        std::fs::create_dir_all(&of_tree).unwrap();
        std::fs::write(of_tree.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(of_tree.join("commondir"), "../..\n").unwrap();
        std::fs::write(tree.path().join(".git"), format!("gitdir: {}\n", of_tree.display())).unwrap();
        assert_eq!(revision(tree.path()), Some(one));
        std::fs::write(of_tree.join("HEAD"), format!("{three}\n")).unwrap();
        assert_eq!(revision(tree.path()), Some(three), "a detached head");
    }

    #[test]
    fn this_process_has_limits_and_an_environment() {
        let facts = surroundings();
        assert!(
            facts.iter().any(|(name, value)| name == "open files at most" && !value.is_empty()),
            "{facts:?}"
        );
        assert!(facts.iter().any(|(name, _)| name == "env PATH"), "{facts:?}");
    }
}
