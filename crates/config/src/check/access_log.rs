//! The access log: its file and its format.

use super::span_between;
use crate::file::FileAccessLog;
use fields::{At, Report, Size, Text, suggestion};
use gateway::settings::{AccessLog, LogForm, LogFormat};
use std::path::Path;
use units::Bytes;

/// The file of the access log, and its format. Paths are relative to `base`.
pub(super) fn access_log(
    found: Option<&At<FileAccessLog>>,
    report: &mut Report,
    base: &Path,
) -> (AccessLog, LogForm) {
    let mut form = LogForm::default();
    let to = match found.map(|at| &at.value) {
        None => AccessLog::Off,
        Some(FileAccessLog::File(word)) => destination(word, base),
        Some(FileAccessLog::Table(table)) => {
            if let Some(format) = &table.format {
                form.format = self::format(format, report);
            }
            if let Some(buffer) = &table.buffer {
                form.buffer = bytes(buffer, report);
            }
            form.flush = span_between(table.flush.as_ref(), form.flush, LogForm::FLUSH, report);
            destination(&table.file.value.0, base)
        }
    };
    (to, form)
}

fn destination(word: &str, base: &Path) -> AccessLog {
    match word {
        // YAML 1.1 reads an unquoted off as a boolean; its text arrives here.
        "off" | "false" | "no" => AccessLog::Off,
        "-" => AccessLog::Stdout,
        file => AccessLog::File(base.join(file)),
    }
}

fn format(at: &At<Text>, report: &mut Report) -> LogFormat {
    let word = &at.value.0;
    let found = LogFormat::ALL.into_iter().find(|format| format.name() == word);
    found.unwrap_or_else(|| {
        let help = suggestion(word, LogFormat::ALL.map(LogFormat::name));
        report.wrong(&at.place, format!("unknown log format `{word}`"), "this word", help);
        LogFormat::Extended
    })
}

fn bytes(at: &At<Size>, report: &mut Report) -> u32 {
    let Size(found) = at.value;
    let (least, most) = LogForm::BUFFER;
    match u32::try_from(found.get()) {
        Ok(bytes) if (least..=most).contains(&bytes) => bytes,
        _ => {
            let [least, most] = [least, most].map(|bytes| Bytes::new(bytes.into()));
            let message = format!("{found} is outside {least} to {most}");
            report.wrong(&at.place, message, "outside the bounds", "64KiB is usual".to_owned());
            LogForm::BUFFER.0
        }
    }
}
