//! The default location of the ledger.

use std::ffi::OsString;
use std::path::PathBuf;

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
    use std::path::Path;

    #[test]
    fn follows_the_base_directories() {
        let path = |data: &str, home: &str| beneath(Some(data.into()), Some(home.into()));
        assert_eq!(path("/data", "/home/a").as_deref(), Some(Path::new("/data/headroom/ledger.sqlite")));
        // A relative data directory is ignored.
        let usual = Some(Path::new("/home/a/.local/share/headroom/ledger.sqlite"));
        assert_eq!(path("data", "/home/a").as_deref(), usual);
        assert_eq!(beneath(None, None), None);
    }
}
