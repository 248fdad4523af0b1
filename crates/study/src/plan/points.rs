//! A plan from measured points: runs of the ledger, or a table.
//!
//! ## What points can show
//! Points at different concurrencies of one target show how much one copy of it carries, and nothing of what copies
//! share. Points at different numbers of replicas show what replicas share, and nothing of the parts in one.
//!
//! ## Why the points themselves are trusted within their range
//! Between measured points nothing has to be assumed. Beyond them the law is trusted if it has enough points that
//! follow it; otherwise nothing is.

mod copies;
mod law;
mod replicas;
mod table;

pub(super) use law::{by_law, law};
pub use table::table;

use super::{Asked, Goal, Load};
use documents::plan::{Answer, Bottleneck, Kind, Method, Plan, Source};
use law::refused;
use measure::scalability::{self, Fit};

/// What points differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Requests in flight, or users without think time.
    Concurrency,
    /// Replicas.
    Replicas,
}

/// A measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Requests in flight, or replicas; above 0.
    pub at: f64,
    /// Responses a second; above 0.
    pub per_second: f64,
    /// Mean response time in seconds.
    pub mean: Option<f64>,
    /// The response time that the goal is for, in seconds.
    pub quantile: Option<f64>,
}

/// Measured points and where they are from.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// `runs` or `table`.
    pub kind: &'static str,
    /// The target, or the file.
    pub name: String,
    /// What they differ in.
    pub axis: Axis,
    /// The points, in any order.
    pub points: Vec<Point>,
    /// What weakens them.
    pub notes: Vec<String>,
}

/// Why points give no plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPoints {
    /// The law has three parameters.
    #[error("{found} different {axis} were measured, and a plan needs at least 3; {remedy}")]
    TooFew {
        /// How many there are.
        found: usize,
        /// Of what.
        axis: &'static str,
        /// The way out.
        remedy: &'static str,
    },
    /// No load to plan for.
    #[error("no load to plan for; use --rate, such as --rate 500/s, or --users with --think")]
    NoLoad,
    /// A goal without response times.
    #[error(
        "the points have no response times, so the goal {goal} cannot be checked; add a third column with response times such as 120ms, or remove --slo"
    )]
    NoTimes {
        /// The goal.
        goal: String,
    },
    /// A line of a table that cannot be read.
    #[error("line {line}: {message}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// The law cannot be fitted.
    #[error(transparent)]
    Fit(#[from] scalability::FitError),
}

/// Plans from points.
///
/// # Errors
/// No load, too few points, or a goal that they cannot show.
pub fn of_points(points: &Points, asked: &Asked) -> Result<Plan, NoPoints> {
    let load = asked.load.ok_or(NoPoints::NoLoad)?.grown(asked.growth);
    let mut sorted = points.points.clone();
    sorted.sort_by(|a, b| a.at.total_cmp(&b.at));
    let levels = sorted.iter().zip(sorted.iter().skip(1)).filter(|(a, b)| a.at < b.at).count();
    let levels = levels + usize::from(!sorted.is_empty());
    if levels < 3 {
        let (axis, remedy) = match points.axis {
            Axis::Concurrency => {
                ("concurrencies", "measure more with load -c, such as 1, 2, 5, 10, 20 and 50 users")
            }
            Axis::Replicas => ("numbers of replicas", "measure more, such as 1, 2, 3, 4, 6 and 8"),
        };
        return Err(NoPoints::TooFew { found: levels, axis, remedy });
    }
    if let Some(goal) = asked.goal.filter(|_| sorted.iter().any(|point| point.quantile.is_none())) {
        return Err(NoPoints::NoTimes { goal: goal.text() });
    }
    let fitted: Vec<scalability::Point> = sorted
        .iter()
        .map(|point| scalability::Point { concurrency: point.at, throughput: point.per_second })
        .collect();
    let fit = scalability::fit(&fitted)?;
    let study = Study { points, sorted, load, goal: asked.goal, asked, fit };
    Ok(match points.axis {
        Axis::Concurrency => study.of_concurrency(),
        Axis::Replicas => study.of_replicas(),
    })
}

struct Study<'a> {
    points: &'a Points,
    sorted: Vec<Point>,
    load: Load,
    goal: Option<Goal>,
    asked: &'a Asked,
    fit: Fit,
}

impl Study<'_> {
    /// The throughput at which the last points level off; `None` if they still grow.
    fn plateau(&self) -> Option<f64> {
        let [.., before, last] = self.sorted.as_slice() else { return None };
        let most = self.sorted.iter().map(|point| point.per_second).fold(0.0, f64::max);
        (last.per_second < (1.0 + GROWTH) * before.per_second).then_some(most)
    }

    fn law_remark(&self) -> String {
        match self.fit.trusted() {
            Ok(()) => "contention and coherency from all points".to_owned(),
            Err(refusal) => refused(&refusal, self.points.axis.of()),
        }
    }

    fn answer(&self, methods: &[Method], trusted: usize, why: &str) -> Answer {
        let method = &methods[trusted];
        let others = methods.iter().enumerate().filter(|(place, other)| {
            *place != trusted && other.replicas.is_some() && !overlapping(&[method.clone(), (*other).clone()])
        });
        let others: Vec<&str> = others.map(|(_, other)| other.name).collect();
        let agree = others.is_empty();
        let why = if agree {
            format!("the methods agree within their intervals; {why}")
        } else {
            format!(
                "trusted: the {}, because {why}; outside their interval: {}",
                method.name,
                others.join(" and ")
            )
        };
        Answer {
            replicas: method.replicas,
            low: method.low,
            high: method.high,
            trusted: Some(method.name),
            agree,
            why,
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.points.notes.clone();
        if self.points.axis == Axis::Replicas
            && matches!(self.load, Load::Users { .. })
            && self.sorted.iter().all(|point| point.mean.is_none())
        {
            notes
                .push("without response times, users are taken to wait only for their think time".to_owned());
        }
        notes
    }

    fn plan(&self, methods: Vec<Method>, answer: Answer) -> Plan {
        Plan {
            version: self.asked.version,
            source: Source {
                kind: self.points.kind,
                axis: Some(self.points.axis.name()),
                name: self.points.name.clone(),
                replica: "the target".to_owned(),
                replicas: None,
                points: self
                    .sorted
                    .iter()
                    .map(|point| documents::plan::Point {
                        at: point.at,
                        per_second: point.per_second,
                        response_ms: point.quantile.or(point.mean).map(|time| 1e3 * time),
                    })
                    .collect(),
            },
            load: self.load.document(self.asked.growth, None),
            goal: self.goal.map(|goal| goal.text()),
            answer,
            methods,
            bottleneck: Bottleneck {
                kind: Kind::Unknown,
                name: None,
                limit_per_second: None,
                said: String::new(),
            },
            response: None,
            parts: Vec::new(),
            changes: Vec::new(),
            law: Some(law(&self.fit, self.points.axis.of())),
            notes: Vec::new(),
        }
    }
}

/// How many of this throughput carry a rate.
fn count(rate: f64, per_second: f64) -> Option<u32> {
    let count = (rate / per_second).ceil().max(1.0);
    (per_second > 0.0 && count <= f64::from(u32::MAX)).then_some(count as u32)
}

fn overlapping(methods: &[Method]) -> bool {
    let ends = |method: &Method| (method.low.unwrap_or(1), method.high.unwrap_or(u32::MAX));
    let known: Vec<(u32, u32)> =
        methods.iter().filter(|method| method.replicas.is_some()).map(ends).collect();
    let low = known.iter().map(|(low, _)| *low).max().unwrap_or(1);
    known.iter().all(|(_, high)| *high >= low)
}

fn short(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

impl Axis {
    fn name(self) -> &'static str {
        match self {
            Axis::Concurrency => "concurrency",
            Axis::Replicas => "replicas",
        }
    }

    fn of(self) -> &'static str {
        match self {
            Axis::Concurrency => "requests in flight",
            Axis::Replicas => "replicas",
        }
    }
}

const MEASURED: &str = "measured points";
const LAW: &str = "scalability law";
const FORMULAS: &str = "queueing formulas";
/// Less growth counts as none.
const GROWTH: f64 = 0.03;
