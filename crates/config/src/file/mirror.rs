//! The tables of copies, as they are written.

use super::FileKey;
use fields::{At, Count, Frequency, Read, Report, Scalar, Share, Size, Span, Switch, Text, scalar, tables};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use yaml::{Kind, Node};

tables! {
    /// Copies of live requests to a shadow pool, whose answers are compared with the live ones and thrown away.
    FileMirror {
        /// The shadow pool.
        pool: At<Text>,
        /// The share of the sessions whose requests are copied, such as 10%.
        fraction: At<Share>,
        /// What makes requests one session: `client` (the address), `{ header: … }` or `{ cookie: … }`; without that,
        /// the address. Default: client.
        key: Option<At<FileKey>>,
        /// Copies a second, whatever the fraction. Default: no limit.
        limit: Option<At<Frequency>>,
        /// Copies that may go at once after a calm. Default: those of a tenth of a second.
        burst: Option<At<Count>>,
        /// `safe` copies GET, HEAD, OPTIONS and TRACE; `all` also what may change something. Default: safe.
        methods: Option<At<FileMethods>>,
        /// Copies carry Authorization and Cookie. Default: false.
        credentials: Option<At<Switch>>,
        /// From when the live request has been sent whole to the end of the shadow's answer. Default: 5s.
        deadline: Option<At<Span>>,
        /// Copies that wait for their turn; further ones are dropped. Default: 1000.
        queue: Option<At<Count>>,
        /// Copies at the shadow pool at a time. Default: 64.
        in_flight: Option<At<Count>>,
        /// The longest request body that is copied. Default: 64KiB.
        body_max: Option<At<Size>>,
        /// No copies while the gateway itself is late.
        breaker: Option<FileBreaker>,
        /// Mirrors with the same salt, key and fraction copy the same sessions. Default: 0.
        salt: Option<At<Count>>,
    }

    /// When the gateway itself is too late to copy anything.
    FileBreaker {
        /// Copies stop once an event loop runs so late. Default: 5ms.
        trip_at: Option<At<Span>>,
        /// They go on once no loop has been as late as this. Default: 1ms.
        admit_below: Option<At<Span>>,
        /// For so long. Default: 5s.
        admit_after: Option<At<Span>>,
    }
}

/// Which methods are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMethods {
    Safe,
    All,
}
scalar!(FileMethods, { "enum": ["safe", "all"] });

impl Scalar for FileMethods {
    const EXPECTED: &'static str = "`safe` or `all`";
    fn parse(text: &str) -> Option<Self> {
        match text {
            "safe" => Some(FileMethods::Safe),
            "all" => Some(FileMethods::All),
            _ => None,
        }
    }
}

/// A name, or several.
#[derive(Debug)]
pub(crate) struct OneOrMore(pub(crate) Vec<At<Text>>);

impl Read for OneOrMore {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::Scalar(_) => At::<Text>::read(node, path, report).map(|name| OneOrMore(vec![name])),
            _ => Vec::read(node, path, report).map(OneOrMore),
        }
    }
}

impl JsonSchema for OneOrMore {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "OneOrMore".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}
