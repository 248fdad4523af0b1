//! The state directory: the wanted size, and the instances by their processes.
//!
//! `size` is a number in a file of its own, so that a person can change it with `echo 5 > size`. `instances.json` is
//! replaced as a whole, so that a scaler that is killed leaves the old one or the new one.

use host::ProcessIdentity;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) size: u32,
    /// The number of the next instance.
    pub(super) next: u64,
    pub(super) instances: Vec<Kept>,
}

/// An instance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) id: u64,
    pub(super) port: u16,
    /// None: it ended before it could be looked at.
    pub(super) process: Option<ProcessIdentity>,
    pub(super) phase: KeptPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptPhase {
    Starting,
    Ready,
    Draining,
    Stopping,
}

impl Kept {
    pub(super) fn is_alive(&self) -> bool {
        self.process.as_ref().is_some_and(ProcessIdentity::is_alive)
    }

    /// Whether it counts towards the wanted size.
    pub(super) fn counts(&self) -> bool {
        matches!(self.phase, KeptPhase::Starting | KeptPhase::Ready)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    next: u64,
    instances: Vec<FileInstance>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileInstance {
    id: u64,
    port: u16,
    /// Boot id, process id and start time.
    process: Option<String>,
    phase: KeptPhase,
}

impl State {
    /// The state of a directory; `first` is the size of one that has none.
    pub(super) fn read(folder: &Path, first: u32) -> Result<Self, String> {
        let mut state = State { size: first, next: 0, instances: Vec::new() };
        state.read_size(folder)?;
        let path = folder.join(INSTANCES);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(state),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let File { next, instances } = serde_json::from_str(&text).map_err(|error| {
            let path = path.display();
            format!("{path} is not a state of this scaler ({error}); stop its processes, then remove it")
        })?;
        state.next = next;
        state.instances = instances
            .into_iter()
            .map(|FileInstance { id, port, process, phase }| {
                let process = process.and_then(|text| text.parse().ok());
                Kept { id, port, process, phase }
            })
            .collect();
        Ok(state)
    }

    /// Replaces the file with the instances.
    pub(super) fn write(&self, folder: &Path) -> Result<(), String> {
        let instance = |kept: &Kept| FileInstance {
            id: kept.id,
            port: kept.port,
            process: kept.process.as_ref().map(ToString::to_string),
            phase: kept.phase,
        };
        let file = File { next: self.next, instances: self.instances.iter().map(instance).collect() };
        let text = serde_json::to_string(&file).map_err(|error| error.to_string())?;
        replace(folder, INSTANCES, &text)
    }

    /// Takes over a size that somebody wrote.
    pub(super) fn read_size(&mut self, folder: &Path) -> Result<(), String> {
        let path = folder.join(SIZE);
        match std::fs::read_to_string(&path) {
            // An editor may have emptied it for a moment.
            Ok(text) if text.trim().is_empty() => Ok(()),
            Ok(text) => {
                self.size = text.trim().parse().map_err(|_| {
                    format!("{} has no number of instances: {:?}", path.display(), text.trim())
                })?;
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    /// Replaces the file with the size.
    pub(super) fn write_size(&self, folder: &Path) -> Result<(), String> {
        replace(folder, SIZE, &format!("{}\n", self.size))
    }

    pub(super) fn get(&self, id: u64) -> Option<&Kept> {
        self.instances.iter().find(|kept| kept.id == id)
    }

    pub(super) fn set(&mut self, id: u64, phase: KeptPhase) {
        if let Some(kept) = self.instances.iter_mut().find(|kept| kept.id == id) {
            kept.phase = phase;
        }
    }
}

fn replace(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let (new, path) = (folder.join(format!("{name}.new")), folder.join(name));
    std::fs::write(&new, text)
        .and_then(|()| std::fs::rename(&new, &path))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

const INSTANCES: &str = "instances.json";
const SIZE: &str = "size";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State::read(folder.path(), 3).unwrap();
        assert_eq!((state.size, state.next, state.instances.len()), (3, 0, 0));
        let process = ProcessIdentity::own();
        state.instances.push(Kept { id: 4, port: 9_100, process, phase: KeptPhase::Draining });
        state.next = 5;
        state.write(folder.path()).unwrap();
        state.size = 7;
        state.write_size(folder.path()).unwrap();
        assert_eq!(State::read(folder.path(), 3).unwrap(), state);
        assert!(state.instances[0].is_alive() && !state.instances[0].counts());
        // Somebody sets the size.
        std::fs::write(folder.path().join("size"), "9\n").unwrap();
        state.read_size(folder.path()).unwrap();
        assert_eq!(state.size, 9);
        std::fs::write(folder.path().join("size"), "many").unwrap();
        assert!(state.read_size(folder.path()).unwrap_err().contains("no number of instances"));
    }
}
