//! The tables of a squeeze file. Their descriptions are used in the JSON Schema.

use crate::case::words::GoalText;
use fields::yaml::{Kind, Node};
use fields::{At, Count, Needed, Read, Report, Share, Span, Text, read_scalar, tables};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

tables! {
    /// More load on a few instances of a pool of a gateway, to find out how many requests a second one of them carries.
    SqueezeTable {
        /// The name of the squeeze.
        squeeze: Needed<At<Text>>,
        /// The admin listener of the gateway, such as `127.0.0.1:9901` or `unix:/run/headroom.sock`.
        gateway: Needed<At<Text>>,
        /// A file with the token of the admin listener; relative to this file.
        token_file: Option<At<Text>>,
        /// The pool of the gateway whose instances are squeezed.
        pool: Needed<At<Text>>,
        /// What an instance has to hold, such as `p(95)<100ms`; several conditions as a list. `failed<1%` is added if none is
        /// about failures.
        goal: Needed<At<Goals>>,
        /// How many instances get the larger share. Default: 1.
        instances: Option<At<Count>>,
        /// How much the rate of these instances grows in a step, as a share of it. Default: 10%.
        step: Option<At<Share>>,
        /// The width of the interval at which the squeeze ends, as a share of its low end. Default: 3%.
        precision: Option<At<Share>>,
        /// The longest time. Default: 10m.
        time: Option<At<Span>>,
        /// What must hold for all requests of the pool; the squeeze ends if it does not.
        guards: Option<At<GuardsTable>>,
        /// Traffic to count instances for, such as that of last week: an access log, or a table that `headroom import traffic`
        /// reads; relative to this file.
        traffic: Option<At<Text>>,
    }

    /// What must hold for all requests of the pool, in the last three seconds.
    GuardsTable {
        /// The largest share of failed requests (shed, 5xx, no response). Default: 1%.
        errors: Option<At<Share>>,
        /// A condition on response times, such as `p(99)<1s`. Default: none.
        response_time: Option<At<GoalText>>,
        /// The largest share of this machine's processor time in use. Default: none.
        processor: Option<At<Share>>,
    }
}

/// Conditions: a single one, or a list.
#[derive(Debug)]
pub(crate) struct Goals(pub(crate) Vec<GoalText>);

impl Read for Goals {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::List(_) => {
                let all: Vec<At<GoalText>> = Read::read(node, path, report)?;
                Some(Goals(all.into_iter().map(|at| at.value).collect()))
            }
            _ => read_scalar(node, path, report).map(|goal| Goals(vec![goal])),
        }
    }
}

impl JsonSchema for Goals {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Goals".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "string" }, { "type": "array", "minItems": 1, "items": { "type": "string" } }]
        })
    }
}
