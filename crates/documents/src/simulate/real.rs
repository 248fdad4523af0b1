//! The desired number of instances, simulated and real: how alike they are, stage by stage.
//!
//! [`measure::scaling`] has the formulas. Desired numbers are compared, because policies set them; the actual number
//! follows later, by the time that instances need to start.

use super::{Simulated, Stage};
use crate::words::counted;
use import::aws::activities::{Activities, Group, Misread, Series};
use import::shown_time;
use measure::scaling::{self, Agreement, Change, Constant, MATCH_WITHIN, Sizes};
use report::Align::{Left, Right};
use report::Table;
use serde::Serialize;
use sim::Outcome;
use sim::outcome::ServiceOutcome;
use std::time::Duration;
use units::{Timestamp, Unit, show_duration};

/// Simulated stages beside what scaling really did.
#[derive(Debug)]
pub struct RealScaling {
    service: String,
    group: Group,
    /// Whether the file says that there are more activities.
    cut: bool,
    others: Vec<(String, u64)>,
    stages: Vec<Compared>,
}

/// A stage beside what scaling really did.
#[derive(Debug)]
struct Compared {
    place: usize,
    name: String,
    /// In microseconds since 1970.
    begins: i64,
    /// In microseconds since 1970.
    ends: i64,
    /// The real desired number, from the beginning of the simulated time.
    real: Sizes,
    size_at_start: u32,
    constant: Constant,
    /// By seed.
    runs: Vec<(u64, Agreement)>,
}

impl RealScaling {
    /// Compares `service` in the simulated stages with the real desired number of `group`, by the places of the stages.
    pub fn of(
        simulated: &Simulated,
        service: &str,
        activities: &Activities,
        group: &Group,
        stages: &[(usize, Series)],
    ) -> RealScaling {
        let compared =
            |(place, series): &(usize, Series)| Compared::of(simulated.of(*place)?, service, series);
        RealScaling {
            service: service.to_owned(),
            group: group.clone(),
            cut: activities.cut,
            others: activities.others.clone(),
            stages: stages.iter().filter_map(compared).collect(),
        }
    }

    /// The real desired number during a stage, if it is that of this service.
    pub(super) fn sizes(&self, place: usize, service: &str) -> Option<&Sizes> {
        let found = self.stages.iter().find(|stage| stage.place == place)?;
        (service == self.service).then_some(&found.real)
    }

    pub(super) fn title(&self) -> String {
        format!("Desired instances of {}: simulated, and real ({})", self.service, self.group.name)
    }

    /// A row for each figure, a column for each stage.
    pub(super) fn table(&self) -> Table {
        let names: Vec<&str> = self.stages.iter().map(|stage| stage.name.as_str()).collect();
        let columns = std::iter::once(("", Left)).chain(names.iter().map(|name| (*name, Right)));
        let mut table = Table::new(&columns.collect::<Vec<_>>());
        for (name, shown) in FIGURES {
            let cells = self.stages.iter().map(|stage| shown(stage).unwrap_or_else(|| "-".to_owned()));
            table.row(std::iter::once(name.to_owned()).chain(cells));
        }
        if self.stages.iter().any(|stage| stage.runs.len() > 1) {
            let cells = self.stages.iter().map(Compared::scores);
            table.row(std::iter::once("scores of the seeds".to_owned()).chain(cells));
        }
        table
    }

    /// What a reader of the table must know, in sentences.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = vec![NOTE.replace("{within}", &show_duration(MATCH_WITHIN).to_string())];
        notes.push(self.read());
        notes.extend(self.stages.iter().filter_map(Compared::no_better));
        notes.extend(self.uncovered());
        if self.cut {
            notes.push(
                "The file does not have all activities (it has a NextToken): ask without --max-items."
                    .to_owned(),
            );
        }
        if self.group.gaps > 0 {
            notes.push(format!(
                "{} of the desired number start from another number than the one before: the file lacks activities.",
                counted(self.group.gaps, "change")
            ));
        }
        notes.extend(self.others.iter().map(|(resource, count)| {
            let activities = if *count == 1 { "activity" } else { "activities" };
            format!("Left out: {count} {activities} of {resource}, which is no Auto Scaling group and no ECS service.")
        }));
        let unclear = &self.group.not_understood;
        if !unclear.is_empty() {
            let shown: Vec<String> = unclear.iter().take(SHOWN).map(Misread::to_string).collect();
            let more = match unclear.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" ... and {more} more, which --json lists"),
            };
            notes.push(format!(
                "{} not understood, so changes may be missing: {}{more}",
                if unclear.len() == 1 {
                    "1 text is".to_owned()
                } else {
                    format!("{} texts are", unclear.len())
                },
                shown.join("; ")
            ));
        }
        notes
    }

    /// The number of activities, by kind.
    fn read(&self) -> String {
        let counts = self.group.counts;
        let kinds = [
            (counts.failed, "failed"),
            (counts.cancelled, "cancelled"),
            (counts.overridden, "overridden"),
            (counts.unfulfilled, "unfulfilled"),
            (counts.in_progress, "in progress"),
            (counts.not_scaled, "not scaled"),
        ];
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(count, kind)| format!("{count} {kind}")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        let activities = match counts.read {
            1 => "1 activity".to_owned(),
            many => format!("{many} activities"),
        };
        let (oldest, newest) = (shown_time(self.group.oldest), shown_time(self.group.newest));
        format!("{activities} of {}{kinds}, from {oldest} to {newest}.", self.group.name)
    }

    /// Where the activities begin long after a stage or end long before its end.
    fn uncovered(&self) -> Option<String> {
        let begins = self.stages.iter().map(|stage| stage.begins).min()?;
        let ends = self.stages.iter().map(|stage| stage.ends).max()?;
        let day = i64::try_from(A_DAY.as_micros()).unwrap_or(i64::MAX);
        let late = self.group.oldest.saturating_sub(begins) > day;
        let early = ends.saturating_sub(self.group.newest) > day;
        let which = match (late, early) {
            (false, false) => return None,
            (true, false) => "before the oldest activity",
            (false, true) => "after the newest activity",
            (true, true) => "before the oldest and after the newest activity",
        };
        Some(format!("The real number is taken as unchanged {which}, for more than a day."))
    }

    pub(super) fn document(&self) -> RealDocument<'_> {
        let Group { counts, gaps, not_understood, .. } = &self.group;
        let others = self.others.iter();
        RealDocument {
            service: &self.service,
            group: &self.group.name,
            compared: "desired",
            activities: ActivitiesDocument {
                read: counts.read,
                failed: counts.failed,
                cancelled: counts.cancelled,
                overridden: counts.overridden,
                unfulfilled: counts.unfulfilled,
                in_progress: counts.in_progress,
                not_scaled: counts.not_scaled,
                unchanged: counts.unchanged,
                gaps: *gaps,
                oldest: shown_time(self.group.oldest),
                newest: shown_time(self.group.newest),
                cut: self.cut,
                not_understood: not_understood
                    .iter()
                    .map(|Misread { place, text }| MisreadDocument { place, text })
                    .collect(),
                other_resources: others.map(|(resource, count)| Other { resource, read: *count }).collect(),
            },
            stages: self.stages.iter().map(Compared::document).collect(),
        }
    }
}

impl Compared {
    /// None where the service was not simulated, or for no time.
    fn of(stage: &Stage, service: &str, series: &Series) -> Option<Compared> {
        let from = Timestamp::ZERO + stage.warm_up;
        let measured = stage.outcomes.first()?.measured;
        let until = from + measured;
        let changes = series.changes.iter().map(|&(after, to)| Change { at: from + after, to });
        let real = Sizes::new(series.start, changes);
        let run = |outcome: &Outcome| {
            let service = outcome.services.iter().find(|known| known.name == service)?;
            Some((outcome.seed, scaling::agreement(&real, &simulated(service), from, until)?))
        };
        let runs = stage.outcomes.iter().map(run).collect::<Option<Vec<_>>>()?;
        Some(Compared {
            place: stage.place,
            name: stage.name.clone(),
            begins: series.begins,
            ends: series.begins.saturating_add(i64::try_from(measured.as_micros()).unwrap_or(i64::MAX)),
            size_at_start: series.start,
            constant: scaling::best_constant(&real, from, until)?,
            real,
            runs,
        })
    }

    /// The comparison of the first seed.
    fn first(&self) -> Option<&Agreement> {
        self.runs.first().map(|(_, agreement)| agreement)
    }

    /// The lowest and the highest score of the seeds.
    fn scores(&self) -> String {
        let scores = || self.runs.iter().map(|(_, agreement)| agreement.score);
        let (low, high) = (scores().fold(1.0, f64::min), scores().fold(0.0, f64::max));
        format!("{low:.3}..{high:.3}")
    }

    /// Said where a constant size is as near to the real number.
    fn no_better(&self) -> Option<String> {
        let Constant { size, score } = self.constant;
        let no_better = |found: f64| found <= score && found < 1.0;
        let count = self.runs.iter().filter(|(_, agreement)| no_better(agreement.score)).count();
        let whose = match (count, self.runs.len()) {
            (0, _) => return None,
            (all, of) if all == of => "the score is".to_owned(),
            (some, of) => format!("the scores of {some} of {of} seeds are"),
        };
        let name = &self.name;
        Some(format!(
            "{name}: {whose} not above that of a constant size of {size}: the simulation does not predict the scaling."
        ))
    }

    fn document(&self) -> StageDocument<'_> {
        StageDocument {
            stage: &self.name,
            begins: shown_time(self.begins),
            ends: shown_time(self.ends),
            size_at_start: self.size_at_start,
            constant: ConstantDocument { size: self.constant.size, score: self.constant.score },
            runs: self.runs.iter().map(|(seed, agreement)| RunDocument::of(*seed, agreement)).collect(),
        }
    }
}

/// The desired number of a simulated service.
fn simulated(service: &ServiceOutcome) -> Sizes {
    let first = service.rows.first().map_or(0, |row| row.counts.desired);
    if service.decisions.left_off() > 0 {
        // Not all decisions were kept, but each minute has the number at its end.
        let changes = service.rows.iter().map(|row| Change { at: row.at - A_MINUTE, to: row.counts.desired });
        return Sizes::new(first, changes);
    }
    let scaled = || service.decisions.notes().iter().filter(|noted| noted.what.from != noted.what.to);
    let start = scaled().next().map_or(first, |noted| noted.what.from);
    Sizes::new(start, scaled().map(|noted| Change { at: noted.at, to: noted.what.to }))
}

type Shown = fn(&Compared) -> Option<String>;

/// The rows of the table.
const FIGURES: [(&str, Shown); 9] = [
    ("score", |stage| Some(format!("{:.3}", stage.first()?.score))),
    ("score of a constant size", |stage| {
        Some(format!("{:.3} ({})", stage.constant.score, stage.constant.size))
    }),
    ("time within one instance", |stage| Some(Unit::Share.shown(stage.first()?.within_one))),
    ("time within 10 %", |stage| Some(Unit::Share.shown(stage.first()?.within_tenth))),
    ("mean difference, instances", |stage| Some(format!("{:.2}", stage.first()?.mean_difference))),
    ("instance-hours, simulated / real", |stage| {
        let found = stage.first()?;
        Some(format!("{:.1} / {:.1}", found.simulated.instance_hours, found.real.instance_hours))
    }),
    ("scale-outs, simulated / real", |stage| {
        let found = stage.first()?;
        Some(format!("{} / {}", found.simulated.scale_outs, found.real.scale_outs))
    }),
    ("scale-ins, simulated / real", |stage| {
        let found = stage.first()?;
        Some(format!("{} / {}", found.simulated.scale_ins, found.real.scale_ins))
    }),
    ("matching actions, median delay", |stage| {
        let found = stage.first()?;
        let later = found.median_later?;
        let sign = if later < 0.0 { "-" } else { "+" };
        let span = Duration::from_secs_f64(later.abs().round());
        Some(format!("{}, {sign}{}", found.matched, show_duration(span)))
    }),
];

/// What the figures are.
const NOTE: &str = "score: 1 minus the absolute difference as a share of the real instance-hours, at least 0. A \
    simulation that predicts the scaling scores more than the best constant size. matching actions: in the same \
    direction and at most {within} apart; the delay is positive where the simulation acts later.";

/// The comparison as JSON has it.
#[derive(Debug, Serialize)]
pub(super) struct RealDocument<'a> {
    service: &'a str,
    group: &'a str,
    compared: &'static str,
    activities: ActivitiesDocument<'a>,
    stages: Vec<StageDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ActivitiesDocument<'a> {
    read: u64,
    failed: u64,
    cancelled: u64,
    overridden: u64,
    unfulfilled: u64,
    in_progress: u64,
    not_scaled: u64,
    unchanged: u64,
    gaps: u64,
    oldest: String,
    newest: String,
    cut: bool,
    not_understood: Vec<MisreadDocument<'a>>,
    other_resources: Vec<Other<'a>>,
}

#[derive(Debug, Serialize)]
struct MisreadDocument<'a> {
    place: &'a str,
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct Other<'a> {
    resource: &'a str,
    read: u64,
}

#[derive(Debug, Serialize)]
struct StageDocument<'a> {
    stage: &'a str,
    begins: String,
    ends: String,
    size_at_start: u32,
    constant: ConstantDocument,
    runs: Vec<RunDocument>,
}

#[derive(Debug, Serialize)]
struct ConstantDocument {
    size: u32,
    score: f64,
}

#[derive(Debug, Serialize)]
struct RunDocument {
    seed: u64,
    score: f64,
    within_one: f64,
    within_tenth: f64,
    mean_difference: f64,
    real: TotalsDocument,
    simulated: TotalsDocument,
    matched: usize,
    median_later_s: Option<f64>,
    median_apart_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct TotalsDocument {
    instance_hours: f64,
    scale_outs: usize,
    scale_ins: usize,
}

impl RunDocument {
    fn of(seed: u64, found: &Agreement) -> Self {
        let totals = |totals: scaling::Totals| TotalsDocument {
            instance_hours: totals.instance_hours,
            scale_outs: totals.scale_outs,
            scale_ins: totals.scale_ins,
        };
        RunDocument {
            seed,
            score: found.score,
            within_one: found.within_one,
            within_tenth: found.within_tenth,
            mean_difference: found.mean_difference,
            real: totals(found.real),
            simulated: totals(found.simulated),
            matched: found.matched,
            median_later_s: found.median_later,
            median_apart_s: found.median_apart,
        }
    }
}

/// Texts that are shown; all are in the JSON.
const SHOWN: usize = 3;
const A_MINUTE: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(24 * 3600);
