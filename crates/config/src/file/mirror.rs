//! The tables of mirrors.

use super::FileKey;
use fields::{At, Count, Frequency, Read, Report, Scalar, Share, Size, Span, Switch, Text, scalar, tables};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use yaml::{Kind, Node};

tables! {
    /// Copies of live requests to a shadow pool, whose responses are compared with the live ones and discarded.
    FileMirror {
        /// The shadow pool.
        pool: At<Text>,
        /// The share of the sessions whose requests are copied, such as 10%.
        fraction: At<Share>,
        /// What identifies a session: `client` (the address), `{ header: … }` or `{ cookie: … }`; for requests without
        /// that field or cookie, the address. Default: client.
        key: Option<At<FileKey>>,
        /// Maximum number of copies per second, regardless of the fraction. Default: no limit.
        limit: Option<At<Frequency>>,
        /// Copies that may be sent at once after an idle period. Default: those of a tenth of a second.
        burst: Option<At<Count>>,
        /// `safe` copies GET, HEAD, OPTIONS and TRACE; `all` also copies other methods. Default: safe.
        methods: Option<At<FileMethods>>,
        /// Whether copies include Authorization and Cookie. Default: false.
        credentials: Option<At<Switch>>,
        /// The longest time from when the live request has been sent to the end of the shadow's response. Default: 5s.
        deadline: Option<At<Span>>,
        /// Maximum number of waiting copies; further ones are dropped. Default: 1000.
        queue: Option<At<Count>>,
        /// Maximum number of copies in flight to the shadow pool. Default: 64.
        in_flight: Option<At<Count>>,
        /// The longest request body that is copied. Default: 64KiB.
        body_max: Option<At<Size>>,
        /// Stops copies while the gateway itself lags.
        breaker: Option<FileBreaker>,
        /// Mirrors with the same salt, key and fraction copy the same sessions. Default: 0.
        salt: Option<At<Count>>,
    }

    /// When copies stop because the gateway itself lags.
    FileBreaker {
        /// Copies stop once an event loop lags by this much. Default: 5ms.
        trip_at: Option<At<Span>>,
        /// Copies resume once every loop's lag has stayed below this. Default: 1ms.
        admit_below: Option<At<Span>>,
        /// How long the lag has to stay below `admit_below`. Default: 5s.
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
