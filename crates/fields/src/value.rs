//! Single values: each has its notation and its parser. Other crates define their own.

use crate::table::{Report, place};
use std::net::SocketAddr;
use std::time::Duration;
use units::{Bytes, Rate, Ratio, parse_duration};
use yaml::{Kind, Node};

/// A value of one word or line.
pub trait Scalar: Sized {
    /// What it is and its notation, after "expected".
    const EXPECTED: &'static str;

    /// Parses the text; `None` if it is not valid.
    fn parse(text: &str) -> Option<Self>;
}

/// Reads a single value, or reports what was expected.
pub fn read_scalar<T: Scalar>(node: &Node, path: &str, report: &mut Report) -> Option<T> {
    let expected = T::EXPECTED.split(", such as").next().unwrap_or("");
    let found = match &node.kind {
        Kind::Scalar(text) if text == TO_FILL_IN => {
            let message = format!("fill in this key: expected {expected}, found `{TO_FILL_IN}`");
            report.wrong(&place(node, path), message, "no value yet", format!("write {}", T::EXPECTED));
            return None;
        }
        Kind::Scalar(text) => match T::parse(text) {
            Some(value) => return Some(value),
            None => format!("`{}`", shortened(text)),
        },
        other => other.shown().to_owned(),
    };
    let message = format!("expected {expected}, found {found}");
    report.wrong(&place(node, path), message, "this value", format!("write {}", T::EXPECTED));
    None
}

/// The value of a key that is still to be filled in, as imported files have it.
const TO_FILL_IN: &str = "TODO";

/// The first characters of a text, for a message.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Makes a type with a text parser ([`Scalar`](crate::Scalar)) a value of tables, with its JSON Schema.
#[macro_export]
macro_rules! scalar {
    ($name:ty, $schema:tt) => {
        impl $crate::Read for $name {
            fn read(node: &$crate::yaml::Node, path: &str, report: &mut $crate::Report) -> Option<Self> {
                $crate::read_scalar(node, path, report)
            }
        }
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

/// Any text of one line or more.
#[derive(Debug, Clone)]
pub struct Text(pub String);
scalar!(Text, { "type": "string" });

impl Scalar for Text {
    const EXPECTED: &'static str = "a text, such as `some words`";
    fn parse(text: &str) -> Option<Self> {
        Some(Text(text.to_owned()))
    }
}

/// A whole number.
#[derive(Debug, Clone, Copy)]
pub struct Count(pub u32);
scalar!(Count, { "type": "integer", "minimum": 0, "maximum": 4294967295_u32 });

impl Scalar for Count {
    const EXPECTED: &'static str = "a whole number from 0 to 4294967295, such as `64`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Count)
    }
}

/// A span of time with its unit.
#[derive(Debug, Clone, Copy)]
pub struct Span(pub Duration);
scalar!(Span, { "type": "string", "pattern": "^(0|([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|min|m|h|d))+)$" });

impl Scalar for Span {
    const EXPECTED: &'static str =
        "a duration with its unit, such as `50ms`, `10s` or `1m30s` (ns, us, ms, s, m, h, d)";
    fn parse(text: &str) -> Option<Self> {
        parse_duration(text).ok().map(Span)
    }
}

/// Events over time, with the time.
#[derive(Debug, Clone, Copy)]
pub struct Frequency(pub Rate);
scalar!(Frequency, { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?[kKMG]?/(s|m|min|h)$" });

impl Scalar for Frequency {
    const EXPECTED: &'static str =
        "a rate with its unit, such as `100/s`, `5k/s` or `5M/m` (/s, /m, /h; k, M, G)";
    fn parse(text: &str) -> Option<Self> {
        // A bare number is a rate on the command line, but in a file its unit would be unclear.
        text.contains('/').then(|| text.parse().ok().map(Frequency)).flatten()
    }
}

/// A rate whose key names the unit: a number is per minute.
#[derive(Debug, Clone, Copy)]
pub struct PerMinute(pub Rate);
scalar!(PerMinute, {
    "type": ["number", "string"], "minimum": 0, "pattern": "^[0-9]+(\\.[0-9]+)?[kKMG]?/(s|m|min|h)$"
});

impl Scalar for PerMinute {
    const EXPECTED: &'static str = "a number of requests per minute, such as `6000` or `6k/m`";
    fn parse(text: &str) -> Option<Self> {
        let with_unit = if text.contains('/') { text.to_owned() } else { format!("{text}/m") };
        with_unit.parse().ok().map(PerMinute)
    }
}

/// A share of a whole.
#[derive(Debug, Clone, Copy)]
pub struct Share(pub Ratio);
scalar!(Share, {
    "type": ["number", "string"], "minimum": 0, "maximum": 1, "pattern": "^[0-9]+(\\.[0-9]+)?%?$"
});

impl Scalar for Share {
    const EXPECTED: &'static str = "a share from 0% to 100%, such as `95%` or `0.95`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Share)
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy)]
pub struct Switch(pub bool);
scalar!(Switch, { "type": "boolean" });

impl Scalar for Switch {
    const EXPECTED: &'static str = "`true` or `false`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Switch)
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub Bytes);
scalar!(Size, { "type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+(\\.[0-9]+)?([kKMG](i?B)?|B)?$" });

impl Scalar for Size {
    const EXPECTED: &'static str = "a size, such as `512`, `64KiB` or `10MB`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Size)
    }
}

/// Bytes over time.
#[derive(Debug, Clone, Copy)]
pub struct Speed(pub Bytes);
scalar!(Speed, { "type": ["integer", "string"], "pattern": "^(0|[0-9]+(\\.[0-9]+)?([kKMG](i?B)?|B)?/s)$" });

impl Scalar for Speed {
    const EXPECTED: &'static str = "bytes a second, such as `240B/s` or `1KiB/s`, or `0` for no bound";
    fn parse(text: &str) -> Option<Self> {
        let size = if text == "0" { text } else { text.strip_suffix("/s")? };
        size.parse().ok().map(Speed)
    }
}

/// An address with its port, never 0.
#[derive(Debug, Clone, Copy)]
pub struct Address(pub SocketAddr);
scalar!(Address, { "type": "string", "pattern": "^(.+):[0-9]{1,5}$" });

impl Scalar for Address {
    const EXPECTED: &'static str =
        "an IP address and a port from 1 to 65535, such as `127.0.0.1:8080` or `[::1]:8080` (no host names)";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|address: &SocketAddr| address.port() != 0).map(Address)
    }
}
