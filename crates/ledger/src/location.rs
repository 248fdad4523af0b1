//! Where a ledger is.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The place of a ledger: a file of SQLite, or a database of a PostgreSQL server. It is shown without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The file.
    File(PathBuf),
    /// The database.
    Server(Server),
}

/// A database of a PostgreSQL server, as a URL: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`
/// (<https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>).
#[derive(Clone, PartialEq, Eq)]
pub struct Server(String);

impl Server {
    pub(crate) fn url(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.0.split_once("://").unwrap_or(("", &self.0));
        // Parameters may hold a password, and a password may hold what separates other parts.
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let place = place.split('?').next().unwrap_or_default();
        match login {
            Some(login) => {
                let (user, password) = login.split_once(':').map_or((login, ""), |(user, _)| (user, ":***"));
                write!(f, "{scheme}://{user}{password}@{place}")
            }
            None => write!(f, "{scheme}://{place}"),
        }
    }
}

impl Location {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Location::File(path) => Some(path),
            Location::Server(_) => None,
        }
    }
}

#[cfg(test)]
impl Location {
    /// What [`Location::from`] reads, with a password.
    pub(crate) fn text(&self) -> OsString {
        match self {
            Location::File(path) => path.clone().into(),
            Location::Server(Server(url)) => url.into(),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => write!(f, "{}", path.display()),
            Location::Server(server) => write!(f, "{server}"),
        }
    }
}

impl From<OsString> for Location {
    /// A URL of PostgreSQL, or else a path.
    fn from(text: OsString) -> Self {
        let is_url = |text: &str| text.starts_with("postgres://") || text.starts_with("postgresql://");
        match text.to_str() {
            Some(url) if is_url(url) => Location::Server(Server(url.to_owned())),
            _ => Location::File(text.into()),
        }
    }
}

impl FromStr for Location {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(OsString::from(text).into())
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        Location::File(path.to_owned())
    }
}

impl From<&PathBuf> for Location {
    fn from(path: &PathBuf) -> Self {
        Location::File(path.clone())
    }
}

impl From<&Location> for Location {
    fn from(place: &Location) -> Self {
        place.clone()
    }
}

/// `headroom/ledger.sqlite` in the user's data directory; `None` if the environment has no home directory.
///
/// The data directory is `$XDG_DATA_HOME` if it is an absolute path, else `~/.local/share`:
/// <https://specifications.freedesktop.org/basedir-spec/latest/>.
pub fn default_path() -> Option<PathBuf> {
    beneath(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
}

fn beneath(data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |text: OsString| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
    let data = data
        .and_then(absolute)
        .or_else(|| home.and_then(absolute).map(|home| home.join(".local").join("share")))?;
    Some(data.join("headroom").join("ledger.sqlite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_base_directories() {
        let path = |data: &str, home: &str| beneath(Some(data.into()), Some(home.into()));
        assert_eq!(path("/data", "/home/a").as_deref(), Some(Path::new("/data/headroom/ledger.sqlite")));
        // A relative data directory is ignored.
        let usual = Some(Path::new("/home/a/.local/share/headroom/ledger.sqlite"));
        assert_eq!(path("data", "/home/a").as_deref(), usual);
        assert_eq!(beneath(None, None), None);
    }

    #[test]
    fn a_place_is_shown_without_its_password() {
        for (text, shown) in [
            ("runs.sqlite", "runs.sqlite"),
            ("postgres://db/runs", "postgres://db/runs"),
            ("postgres://me@db:5433/runs?sslmode=disable", "postgres://me@db:5433/runs"),
            ("postgresql://me:p@ss:word@db/runs?password=x", "postgresql://me:***@db/runs"),
            ("postgres://me:pa/ss?word@db/runs", "postgres://me:***@db/runs"),
        ] {
            let place: Location = text.parse().unwrap();
            assert_eq!(place.to_string(), shown);
            assert!(!format!("{place:?}").contains("word"), "{place:?}");
        }
    }
}
