//! Values that only case files have: each has its notation and its parser.

use control::scaling::hpa::Quantity;
use control::search::Condition;
use fields::{At, Frequency, Read, Report, Scalar, Share, scalar};
use import::Origin;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sim::settings::{Distribution, PodMetric, Sizes};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use units::{Bytes, Rate, parse_duration};
use yaml::{Kind, Node};

/// A number that is not below zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number(pub(crate) f64);
scalar!(Number, { "type": "number", "minimum": 0 });

impl Scalar for Number {
    const EXPECTED: &'static str = "a number that is not below 0, such as `1.5`";
    fn parse(text: &str) -> Option<Self> {
        let number = decimal(text)?;
        (number >= 0.0).then_some(Number(number))
    }
}

/// Processor use relative to the request, which may exceed 100 %; without `%` it is at most 1, because `70` would be
/// ambiguous.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Utilization(pub(crate) f64);
scalar!(Utilization, {
    "type": ["number", "string"], "minimum": 0, "maximum": 1, "pattern": "^[0-9]+(\\.[0-9]+)?%?$"
});

impl Scalar for Utilization {
    const EXPECTED: &'static str = "a share of what is requested, such as `70%` or `150%`";
    fn parse(text: &str) -> Option<Self> {
        if let Some(share) = Share::parse(text) {
            return Some(Utilization(share.0.get()));
        }
        let percent = decimal(text.strip_suffix('%')?)?;
        (percent >= 0.0).then_some(Utilization(percent / 100.0))
    }
}

/// The object that a setting came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OriginText(pub(crate) Origin);
scalar!(OriginText, { "type": "string", "pattern": "^(arn:[^:]+:[^:]+:[^:]*:([0-9]{12})?:.+|[^:]+\\.[^:]+)$" });

impl Scalar for OriginText {
    const EXPECTED: &'static str = "the ARN of an object or the address of a resource, such as \
                                    `arn:aws:cloudwatch:eu-west-1:123456789012:alarm:cpu-high` or \
                                    `module.web.aws_appautoscaling_policy.out[0]`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(OriginText)
    }
}

/// How far a metric may be from its target: a quantity as in a manifest, or a percentage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance(pub(crate) Quantity);
scalar!(Tolerance, {
    "type": ["number", "string"], "minimum": 0, "pattern": "^[0-9]+(\\.[0-9]+)?(%|[numkMG]|[eE][-+]?[0-9]+)?$"
});

impl Scalar for Tolerance {
    const EXPECTED: &'static str = "a share of the target from 0 on, such as `0.05`, `50m` or `5%`";
    fn parse(text: &str) -> Option<Self> {
        let quantity = match text.strip_suffix('%') {
            // Divided by a hundred as a decimal number.
            Some(percent) => decimal(percent).and_then(|_| Quantity::parse(&format!("{percent}e-2"))),
            None => Quantity::parse(text),
        };
        quantity.filter(|quantity| quantity.approximate() >= 0.0).map(Tolerance)
    }
}

/// A share whose key names the unit: a number is in percent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Percentage(pub(crate) f64);
scalar!(Percentage, { "type": ["number", "string"], "minimum": 0, "pattern": "^[0-9]+(\\.[0-9]+)?%?$" });

impl Scalar for Percentage {
    const EXPECTED: &'static str = "a percentage, such as `200` or `200%`";
    fn parse(text: &str) -> Option<Self> {
        let percent = decimal(text.strip_suffix('%').unwrap_or(text))?;
        (percent >= 0.0).then_some(Percentage(percent))
    }
}

/// A number, without the special words that Rust accepts.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    plain.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

/// The seed of all randomness.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed(pub(crate) u64);
scalar!(Seed, { "type": "integer", "minimum": 0 });

impl Scalar for Seed {
    const EXPECTED: &'static str = "a whole number that is not below 0, such as `1`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Seed)
    }
}

/// A time of day, from midnight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeOfDay(pub(crate) Duration);
scalar!(TimeOfDay, { "type": "string", "pattern": "^([01][0-9]|2[0-4]):[0-5][0-9]$" });

impl Scalar for TimeOfDay {
    const EXPECTED: &'static str = "a time of the day from 00:00 to 24:00, such as `'02:30'`";
    fn parse(text: &str) -> Option<Self> {
        let (hours, minutes) = text.split_once(':')?;
        let digits = |text: &str| (text.len() == 2).then(|| text.parse::<u64>().ok()).flatten();
        let minutes = digits(hours)? * 60 + digits(minutes).filter(|minutes| *minutes < 60)?;
        (minutes <= 24 * 60).then(|| TimeOfDay(Duration::from_secs(minutes * 60)))
    }
}

/// Where the measured time begins: a time of day, or a date with or without a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Begins {
    TimeOfDay(TimeOfDay),
    On(Moment),
}
scalar!(Begins, {
    "type": "string",
    "pattern": "^(([01][0-9]|2[0-4]):[0-5][0-9]|[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}.*)?)$"
});

impl Scalar for Begins {
    const EXPECTED: &'static str = "a time of the day or a date with a time, such as `'16:00'`, \
         `2026-03-02T08:00` or `2026-03-02T08:00+01:00`";
    fn parse(text: &str) -> Option<Self> {
        let time = TimeOfDay::parse(text).map(Begins::TimeOfDay);
        time.or_else(|| Moment::parse(text).map(Begins::On))
    }
}

/// A date with a time (default: 00:00), and an offset from UTC if the text has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) civil: DateTime,
    pub(crate) offset: Option<Offset>,
}
scalar!(Moment, {
    "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}.*)?$"
});

impl Scalar for Moment {
    const EXPECTED: &'static str =
        "a date with a time, such as `2026-03-02T08:00`, `2026-03-02T08:00+01:00` or `2026-03-02T08:00Z`";
    fn parse(text: &str) -> Option<Self> {
        let pieces = Pieces::parse(text).ok().filter(|pieces| pieces.time_zone_annotation().is_none())?;
        let civil = pieces.date().to_datetime(pieces.time().unwrap_or_default());
        Some(Moment { civil, offset: pieces.to_numeric_offset() })
    }
}

/// A time zone, with its name as in the file.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    pub(crate) name: String,
    pub(crate) zone: TimeZone,
}
scalar!(Zone, { "type": "string" });

impl Scalar for Zone {
    const EXPECTED: &'static str =
        "a name of the tz database or an offset from UTC, such as `Europe/Berlin`, `UTC` or `'+01:00'`";
    fn parse(text: &str) -> Option<Self> {
        import::time_zone(text).map(|zone| Zone { name: text.to_owned(), zone })
    }
}

/// Names of availability zones: a number of them, or a list.
#[derive(Debug, Clone)]
pub(crate) struct ZoneNames(pub(crate) Vec<String>);

impl Read for ZoneNames {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        let Kind::List(items) = &node.kind else { return fields::read_scalar(node, path, report) };
        let names: Vec<String> =
            Vec::<At<fields::Text>>::read(node, path, report)?.into_iter().map(|at| at.value.0).collect();
        let twice = (1..names.len()).find(|place| names[..*place].contains(&names[*place]));
        let problem = match (names.len(), twice) {
            (0, _) => "no zone".to_owned(),
            (found, _) if found > ZONES_MAX => format!("{found} zones"),
            (_, Some(place)) => format!("two zones are called `{}`", names[place]),
            _ => return Some(ZoneNames(names)),
        };
        let place = fields::place(items.get(twice.unwrap_or(usize::MAX)).unwrap_or(node), path);
        report.wrong(&place, problem, "this list", format!("write {}", Self::EXPECTED));
        None
    }
}

impl JsonSchema for ZoneNames {
    fn schema_name() -> Cow<'static, str> {
        "ZoneNames".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": ZONES_MAX },
            { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": ZONES_MAX, "uniqueItems": true }
        ] })
    }
}

impl Scalar for ZoneNames {
    const EXPECTED: &'static str = "from 1 to 26 zones, such as `3` or `[us-east-1a, us-east-1b]`";
    fn parse(text: &str) -> Option<Self> {
        let count = text.parse().ok().filter(|count| (1..=ZONES_MAX).contains(count))?;
        Some(ZoneNames(('a'..='z').take(count).map(String::from).collect()))
    }
}

/// As many as there are letters.
const ZONES_MAX: usize = 26;

/// What a query or a metric measures; none: recorded values.
#[derive(Debug, Clone)]
pub(crate) struct QueryMetric(pub(crate) Option<PodMetric>);
scalar!(QueryMetric, {
    "type": "string",
    "pattern": "^(requests-per-second|in-flight|queue-length|cpu|recorded|p[0-9]{1,2}([.][0-9]+)?)$"
});

impl Scalar for QueryMetric {
    const EXPECTED: &'static str = "a metric (`requests-per-second`, `in-flight`, `queue-length`, `cpu`, a percentile of \
         response times such as `p95`, or `recorded` with `file`), such as `in-flight`";
    fn parse(text: &str) -> Option<Self> {
        let metric = match text {
            "requests-per-second" => PodMetric::RequestsPerSecond,
            "in-flight" => PodMetric::InFlight,
            "queue-length" => PodMetric::Queued,
            "cpu" => PodMetric::Cpu,
            "recorded" => return Some(QueryMetric(None)),
            percentile => PodMetric::ResponseTime(percentile.parse().ok()?),
        };
        Some(QueryMetric(Some(metric)))
    }
}

impl QueryMetric {
    /// The word in a case file.
    pub(crate) fn words(&self) -> String {
        match &self.0 {
            Some(PodMetric::RequestsPerSecond) => "requests-per-second".to_owned(),
            Some(PodMetric::InFlight) => "in-flight".to_owned(),
            Some(PodMetric::Queued) => "queue-length".to_owned(),
            Some(PodMetric::Cpu) => "cpu".to_owned(),
            Some(PodMetric::ResponseTime(quantile)) => quantile.to_string(),
            Some(PodMetric::Recorded(_)) | None => "recorded".to_owned(),
        }
    }
}

/// How long a thread keeps its runtime's lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockTime(pub(crate) Duration);
scalar!(LockTime, { "type": "string" });

impl Scalar for LockTime {
    const EXPECTED: &'static str = "a duration, or `held` for an event loop, such as `100ms`";
    fn parse(text: &str) -> Option<Self> {
        if text == "held" {
            return Some(LockTime(Duration::MAX));
        }
        parse_duration(text).ok().filter(|span| !span.is_zero()).map(LockTime)
    }
}

/// A bound on response time, as on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoalText(pub(crate) Condition);
scalar!(GoalText, { "type": "string" });

impl Scalar for GoalText {
    const EXPECTED: &'static str = "a goal, such as `p(95)<600ms`";
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(GoalText)
    }
}

/// What an instance carries: a rate, or a file or a run with the result of a measurement.
#[derive(Debug, Clone)]
pub(crate) enum CapacityText {
    Rate(Rate),
    Measured(String),
}
scalar!(CapacityText, { "type": "string" });

impl Scalar for CapacityText {
    const EXPECTED: &'static str =
        "a rate with its unit, the JSON of a measurement or a run, such as `100/s`, `squeeze.json` or `r17`";
    fn parse(text: &str) -> Option<Self> {
        // A number without a unit is a mistake, and no name.
        let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic() || "./_~".contains(first));
        let is_measured = text.ends_with(".json") || (is_name && !text.contains(char::is_whitespace));
        Frequency::parse(text)
            .map(|rate| CapacityText::Rate(rate.0))
            .or_else(|| is_measured.then(|| CapacityText::Measured(text.to_owned())))
    }
}

/// A random time on one line, or a measured histogram as a list.
#[derive(Debug, Clone)]
pub(crate) struct Times(pub(crate) Distribution);

impl Read for Times {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::List(_) => measured(node, path, report).map(Times),
            _ => fields::read_scalar(node, path, report),
        }
    }
}

impl JsonSchema for Times {
    fn schema_name() -> Cow<'static, str> {
        "Times".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bin = generator.subschema_for::<TimesBin>();
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": bin }] })
    }
}

impl Scalar for Times {
    const EXPECTED: &'static str = "a random time, such as `5ms` (always), `1ms..3ms`, `exponential 10ms`, \
         `lognormal 10ms cv 0.6`, `erlang 10ms shape 3`, `hyperexponential 10ms cv 2`, or a list of \
         `{ at_most: 5ms, share: 50% }`";
    fn parse(text: &str) -> Option<Self> {
        random(text, |text| parse_duration(text).ok().filter(|mean| *mean <= MEAN_MAX)).map(Times)
    }
}

/// A distribution on one line, with amounts that are read by `mean`.
fn random(text: &str, mean: impl Fn(&str) -> Option<Duration>) -> Option<Distribution> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(match words.as_slice() {
        [range] => match range.split_once("..") {
            Some((least, most)) => {
                let (least, most) = (mean(least)?, mean(most)?);
                (least < most).then_some(Distribution::Uniform { least, most })?
            }
            None => Distribution::Constant(mean(range)?),
        },
        ["exponential", span] => Distribution::Exponential { mean: positive(mean(span)?)? },
        ["lognormal", span, "cv", cv] => {
            let cv = decimal(cv).filter(|cv| *cv > 0.0 && *cv <= CV_MAX)?;
            Distribution::LogNormal { mean: positive(mean(span)?)?, cv }
        }
        ["erlang", span, "shape", shape] => {
            let shape = shape.parse().ok().filter(|shape| (1..=SHAPE_MAX).contains(shape))?;
            Distribution::Erlang { shape, mean: positive(mean(span)?)? }
        }
        ["hyperexponential", span, "cv", cv] => {
            let cv = decimal(cv).filter(|cv| *cv > 1.0 && *cv <= CV_MAX)?;
            Distribution::HyperExponential { mean: positive(mean(span)?)?, cv }
        }
        _ => return None,
    })
}

fn positive(span: Duration) -> Option<Duration> {
    (!span.is_zero()).then_some(span)
}

/// A random size on one line, or a measured histogram as a list.
#[derive(Debug, Clone)]
pub(crate) struct RandomSizes(pub(crate) Sizes);

impl Read for RandomSizes {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        match &node.kind {
            Kind::List(_) => {
                let bins = Vec::<At<SizesBin>>::read(node, path, report)?;
                let points = bins.iter().map(|at| (as_time(at.value.at_most.value.0), &at.value.share));
                let help = "write as in `[{ at_most: 2KiB, share: 50% }, { at_most: 20KiB, share: 100% }]`";
                rising(points, node, path, help, report).map(|all| RandomSizes(Sizes::of_nanoseconds(all)))
            }
            _ => fields::read_scalar(node, path, report),
        }
    }
}

impl JsonSchema for RandomSizes {
    fn schema_name() -> Cow<'static, str> {
        "RandomSizes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bin = generator.subschema_for::<SizesBin>();
        json_schema!({ "anyOf": [{ "type": ["integer", "string"] }, { "type": "array", "items": bin }] })
    }
}

impl Scalar for RandomSizes {
    const EXPECTED: &'static str = "a random size, such as `512` (always), `1KiB..3KiB`, `exponential 10KiB`, \
         `lognormal 10KiB cv 0.6`, or a list of `{ at_most: 2KiB, share: 50% }`";
    fn parse(text: &str) -> Option<Self> {
        let size = |text: &str| text.parse().ok().filter(|size: &Bytes| size.get() <= SIZE_MAX).map(as_time);
        random(text, size).map(|all| RandomSizes(Sizes::of_nanoseconds(all)))
    }
}

fn as_time(size: Bytes) -> Duration {
    Duration::from_nanos(size.get())
}

fields::tables! {
    /// A bin of a measured histogram of sizes.
    SizesBin {
        /// The upper end of the bin.
        at_most: At<fields::Size>,
        /// The share of all sizes up to this end; it rises to 100%.
        share: At<Share>,
    }

    /// A bin of a measured histogram.
    TimesBin {
        /// The upper end of the bin.
        at_most: At<fields::Span>,
        /// The share of all times up to this end; it rises to 100%.
        share: At<Share>,
    }
}

fn measured(node: &Node, path: &str, report: &mut Report) -> Option<Distribution> {
    let bins = Vec::<At<TimesBin>>::read(node, path, report)?;
    let points = bins.iter().map(|at| (at.value.at_most.value.0, &at.value.share));
    let help = "write as in `[{ at_most: 5ms, share: 50% }, { at_most: 20ms, share: 100% }]`";
    rising(points, node, path, help, report)
}

/// The distribution of a histogram, if its ends and shares rise, these to 100 %.
fn rising<'a>(
    points: impl Iterator<Item = (Duration, &'a At<Share>)>,
    node: &Node,
    path: &str,
    help: &str,
    report: &mut Report,
) -> Option<Distribution> {
    let points: Vec<(Duration, f64)> = points.map(|(end, share)| (end, share.value.0.get())).collect();
    let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
    let whole = points.last().is_some_and(|last| last.1 == 1.0);
    if !(rises && whole) {
        let place = fields::place(node, path);
        if !report.knows_of(path) {
            let message = "a histogram whose ends and shares do not rise to 100%".to_owned();
            report.wrong(&place, message, "this list", help.to_owned());
        }
        return None;
    }
    Some(Distribution::Empirical(Arc::from(points)))
}

/// The size of a policy's change: instances, or a share of them; or the new count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Change {
    Instances(i32),
    Percent(i32),
    Exact(i32),
}
scalar!(Change, { "type": ["integer", "string"], "pattern": "^([+-]?[0-9]+%?|=[0-9]+)$" });

impl Scalar for Change {
    const EXPECTED: &'static str =
        "a change of the number of instances, such as `+1`, `-3`, `+10%`, or `=4` for exactly four";
    fn parse(text: &str) -> Option<Self> {
        if let Some(number) = text.strip_prefix('=') {
            let digits = number.chars().all(|c| c.is_ascii_digit());
            return digits.then(|| number.parse().ok().map(Change::Exact)).flatten();
        }
        match text.strip_suffix('%') {
            Some(number) => number.parse().ok().map(Change::Percent),
            None => text.parse().ok().map(Change::Instances),
        }
    }
}

/// A mean above this is probably an error in the unit.
const MEAN_MAX: Duration = Duration::from_secs(3600);
/// A mean above this is no response of a web service.
const SIZE_MAX: u64 = 1 << 40;
/// No measured time varies this much; above it, the mean depends on values that do not occur in a run.
const CV_MAX: f64 = 20.0;
const SHAPE_MAX: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let bytes = Duration::from_nanos;
        for (text, distribution) in [
            ("512", Distribution::Constant(bytes(512))),
            ("1KiB..3KiB", Distribution::Uniform { least: bytes(1024), most: bytes(3072) }),
            ("lognormal 10kB cv 0.6", Distribution::LogNormal { mean: bytes(10_000), cv: 0.6 }),
        ] {
            assert_eq!(RandomSizes::parse(text).unwrap().0, Sizes::of_nanoseconds(distribution), "{text}");
        }
        for text in ["", "5ms", "3KiB..1KiB", "lognormal 10KiB", "-1", "2000GiB"] {
            assert!(RandomSizes::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn times_are_read() {
        let ms = Duration::from_millis;
        for (text, distribution) in [
            ("5ms", Distribution::Constant(ms(5))),
            ("0", Distribution::ZERO),
            ("1ms..3ms", Distribution::Uniform { least: ms(1), most: ms(3) }),
            ("exponential 10ms", Distribution::Exponential { mean: ms(10) }),
            ("lognormal 10ms cv 0.6", Distribution::LogNormal { mean: ms(10), cv: 0.6 }),
            ("erlang 10ms shape 3", Distribution::Erlang { shape: 3, mean: ms(10) }),
            ("hyperexponential 10ms cv 2", Distribution::HyperExponential { mean: ms(10), cv: 2.0 }),
        ] {
            assert_eq!(Times::parse(text).unwrap().0, distribution, "{text}");
        }
        for text in [
            "",
            "5",
            "3ms..1ms",
            "exponential 0",
            "lognormal 10ms",
            "lognormal 10ms cv 0",
            "lognormal 10ms cv inf",
            "erlang 10ms shape 0",
            "hyperexponential 10ms cv 1",
            "normal 3ms",
            "2h",
        ] {
            assert!(Times::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn times_of_day_are_read() {
        let minutes = |text| TimeOfDay::parse(text).map(|time| time.0.as_secs() / 60);
        let found = ["00:00", "02:30", "24:00", "24:01", "2:30", "02:60", "0230"].map(minutes);
        assert_eq!(found, [Some(0), Some(150), Some(1440), None, None, None, None]);
    }

    #[test]
    fn dates_are_read_with_their_offset() {
        let shown = |text| match Begins::parse(text)? {
            Begins::TimeOfDay(time) => Some(format!("{:?}", time.0)),
            Begins::On(Moment { civil, offset }) => {
                Some(format!("{civil} {:?}", offset.map(Offset::seconds)))
            }
        };
        for (text, want) in [
            ("16:00", Some("57600s")),
            ("2026-03-02", Some("2026-03-02T00:00:00 None")),
            ("2026-03-02T08:00", Some("2026-03-02T08:00:00 None")),
            ("2026-03-02 08:00:30", Some("2026-03-02T08:00:30 None")),
            ("2026-03-02T08:00Z", Some("2026-03-02T08:00:00 Some(0)")),
            ("2026-03-02T08:00+05:30", Some("2026-03-02T08:00:00 Some(19800)")),
            ("2028-02-29", Some("2028-02-29T00:00:00 None")),
            // There is no such day.
            ("2026-02-29", None),
            // A zone has a key of its own.
            ("2026-03-02T08:00[Europe/Berlin]", None),
            ("monday", None),
            ("25:00", None),
        ] {
            assert_eq!(shown(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn zones_have_names_or_offsets() {
        let known = ["UTC", "Europe/Berlin", "+01:00", "-0330", "Mars/Olympus", "CEST?", ""]
            .map(|text| Zone::parse(text).is_some());
        assert_eq!(known, [true, true, true, true, false, false, false]);
    }
}
