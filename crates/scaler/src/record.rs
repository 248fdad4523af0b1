//! The record of a scaler: every sample, every decision with its reason and its effect, and what happened, as JSON
//! lines.
//!
//! ## Why a write never stops a scaler
//! A full disk is the moment in which a service may need more instances. Lines that could not be written at once are
//! counted and told. A few kilobytes of them are written later, if that is possible; the others are a gap, which a replay
//! detects by the numbers of its samples.

use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// A scaler began.
    Begin(Begin),
    /// A step.
    Sample(Sample),
    /// A decision of the step before it.
    Decision(Box<DecisionLine>),
    /// Something happened.
    Event {
        /// When, in nanoseconds since the scaler began.
        at_ns: u64,
        /// What.
        text: String,
    },
}

/// The beginning of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The version of headroom.
    pub version: String,
    /// The case file.
    pub case: String,
    /// Its stage.
    pub stage: String,
    /// The number of instances that served.
    pub size: u32,
    /// The time from one sample to the next, in nanoseconds.
    pub step_ns: u64,
    /// Whether decisions are carried out.
    pub applies: bool,
    /// The run of the ledger, such as `r12`; none: it was not kept there.
    #[serde(default)]
    pub run: Option<String>,
    /// When the scaler began, in microseconds since 1970: schedules count from it. None in records of before it was kept.
    #[serde(default)]
    pub began_us: Option<i64>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionLine {
    /// The number of its sample.
    pub number: u64,
    /// When, in nanoseconds since the scaler began.
    pub at_ns: u64,
    /// The policies that decided or refused, each with its reason.
    pub policies: Vec<PolicyLine>,
    /// The size that the policy requested.
    pub asked: Option<u32>,
    /// The size before.
    pub from: u32,
    /// The size after.
    pub to: u32,
    /// The rule of the guard that decided.
    pub rule: String,
    /// The same in words.
    pub reason: String,
    /// Whether the target was told.
    pub applied: bool,
}

/// The decision of one policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyLine {
    /// Its name.
    pub policy: String,
    /// The size before.
    pub from: u32,
    /// The size that it requested.
    pub to: u32,
    /// Why.
    pub reason: String,
}

/// A record that is being written.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    out: Option<BufWriter<File>>,
    bytes: u64,
    lost: u64,
    told: bool,
}

impl Record {
    /// A new record; the one before is kept as [`Record::before`] says.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        if path.exists() {
            std::fs::rename(path, Record::before(path))?;
        }
        let out = Some(BufWriter::new(File::create(path)?));
        Ok(Record { path: path.to_owned(), out, bytes: 0, lost: 0, told: false })
    }

    /// The file of the record before: with the ending `.1`.
    pub fn before(path: &Path) -> PathBuf {
        let mut kept = path.as_os_str().to_owned();
        kept.push(".1");
        kept.into()
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line.
    pub fn write(&mut self, line: &Line) {
        let Ok(mut text) = serde_json::to_string(line) else { return };
        text.push('\n');
        let fits = self.bytes + text.len() as u64 <= BYTES_MAX;
        let written = match &mut self.out {
            Some(out) if fits => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
            _ => Err(io::Error::other("full")),
        };
        match written {
            Ok(()) => self.bytes += text.len() as u64,
            Err(_) => self.lost += 1,
        }
    }

    /// A message, once, if lines are lost.
    pub fn problem(&mut self) -> Option<String> {
        if self.lost == 0 || self.told {
            return None;
        }
        self.told = true;
        let path = self.path.display();
        Some(format!(
            "{path} cannot be written, or has reached its 1 GiB: decisions go on, and are not recorded"
        ))
    }

    /// Lines that were not written.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The largest record: about a week of a small service.
const BYTES_MAX: u64 = 1 << 30;
