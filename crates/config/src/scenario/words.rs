//! Values that only scenario files have: each has its notation and its parser.

use ::load::StageText;
use fields::{Read, Report, Scalar, scalar};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::time::Duration;
use units::parse_duration;
use yaml::{Kind, Node};

/// A constant think time, or a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileWait {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}
scalar!(FileWait, { "type": "string" });

impl Scalar for FileWait {
    const EXPECTED: &'static str =
        "a wait, such as `2s`, `1s..3s`, `{ exponential: 2s }` or `{ lognormal: { median: 2s, p95: 8s } }`";
    fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let (from, to) = (parse_duration(from.trim()).ok()?, parse_duration(to.trim()).ok()?);
        (from <= to).then_some(FileWait { from, to })
    }
}

/// A stage, as on the command line.
#[derive(Debug, Clone)]
pub(crate) struct FileStage(pub(crate) StageText);
scalar!(FileStage, { "type": "string", "pattern": "^[^:]+:[^:]+$" });

impl Scalar for FileStage {
    const EXPECTED: &'static str =
        "a stage, such as `30s:200/s` (a rate), `30s:..200/s` (a ramp) or `30s:50` (users)";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(FileStage)
    }
}

/// A status, or a class of them, with its spelling.
#[derive(Debug, Clone)]
pub(crate) struct FileStatus {
    pub(crate) text: String,
    pub(crate) range: (u16, u16),
}
scalar!(FileStatus, { "type": ["integer", "string"], "minimum": 100, "maximum": 999, "pattern": "^[1-9]([0-9][0-9]|xx)$" });

impl Scalar for FileStatus {
    const EXPECTED: &'static str = "a status, such as `200` or `2xx`";
    fn parse(text: &str) -> Option<Self> {
        let range = match text.strip_suffix("xx") {
            Some(class) => {
                let class: u16 = class.parse().ok().filter(|class| (1..=9).contains(class))?;
                (class * 100, class * 100 + 99)
            }
            None => {
                let status = text.parse().ok().filter(|status| (100..=999).contains(status))?;
                (status, status)
            }
        };
        Some(FileStatus { text: text.to_owned(), range })
    }
}

/// One status or a list of them.
#[derive(Debug, Clone)]
pub(crate) struct FileStatuses(pub(crate) Vec<FileStatus>);

impl Read for FileStatuses {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::List(_) => Vec::read(node, path, report).map(FileStatuses),
            _ => FileStatus::read(node, path, report).map(|status| FileStatuses(vec![status])),
        }
    }
}

impl JsonSchema for FileStatuses {
    fn schema_name() -> Cow<'static, str> {
        "FileStatuses".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<FileStatus>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}
