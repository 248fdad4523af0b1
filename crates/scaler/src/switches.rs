//! The switches of a scaler: files in its state directory, so that they also work while nothing listens, and outlive a restart.

use status::scaler::Switch;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Whether changes are paused, and whether the kill switch is on.
pub(crate) fn read(state: &Path) -> (bool, bool) {
    (state.join(PAUSE).exists(), state.join(KILL).exists())
}

/// Stops changes, or lets them continue.
///
/// # Errors
/// The file cannot be written, or not be removed.
pub fn switch(state: &Path, switch: Switch) -> io::Result<()> {
    let write = |name| {
        std::fs::create_dir_all(state)?;
        std::fs::write(state.join(name), "by the admin interface\n")
    };
    let remove = |name| match std::fs::remove_file(state.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    match switch {
        Switch::Pause => write(PAUSE),
        Switch::Kill => write(KILL),
        Switch::Continue => remove(PAUSE).and(remove(KILL)),
    }
}

const PAUSE: &str = "pause";
const KILL: &str = "kill";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_stop_and_continue() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("run");
        assert_eq!(read(&state), (false, false));
        switch(&state, Switch::Continue).unwrap();
        switch(&state, Switch::Pause).unwrap();
        assert_eq!(read(&state), (true, false));
        switch(&state, Switch::Kill).unwrap();
        assert_eq!(read(&state), (true, true));
        switch(&state, Switch::Continue).unwrap();
        assert_eq!(read(&state), (false, false));
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert!(switch(&folder.path().join("file"), Switch::Kill).is_err());
    }
}
