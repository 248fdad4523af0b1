//! The report of a search: what was found, charts of the trials and of the closed loop, and every trial.

use super::outcome::{Ended, Outcome, Tried};
use super::scaling;
use super::trials::{TrialRow, table};
use super::words::{Gateway, confidence, summary, sustained};
use control::search::closed_loop::Knee;
use control::search::{Condition, Found};
use report::{
    Band, Chart, LoadCurve, Notice, Point, Report, Section, Terminal, TrialPoint, Trials, html, load_curve,
    rate, time, trials,
};
use std::time::Duration;
use units::show_duration;

/// The page. `file` is what became of the gateway file.
pub fn page(outcome: &Outcome, file: Gateway) -> String {
    let mut sections = notices(outcome);
    sections.push(Section::Figures(figures(outcome)));
    sections.push(trial_chart(outcome));
    sections.extend(outcome.knee.as_ref().map(closed_loop));
    let rows: Vec<TrialRow> = outcome.trials.iter().map(TrialRow::of).collect();
    sections.push(Section::Heading("Trials".to_owned()));
    sections.push(Section::Table(table(&rows)));
    sections.push(Section::Heading("Summary".to_owned()));
    sections.push(Section::Code(summary(outcome, file, Terminal::of_width(PAGE))));
    sections.push(Section::Text(format!("headroom {}", status::version())));
    html(&Report {
        title: format!("Sustainable rate of {}", outcome.target),
        subtitle: format!("Goal: {}. Measured on {}.", outcome.goal, outcome.date),
        sections,
    })
}

fn notices(outcome: &Outcome) -> Vec<Section> {
    let kind = if outcome.low().is_some() { Notice::Good } else { Notice::Bad };
    let mut notices = vec![Section::Notice(kind, format!("Sustainable rate: {}", sustained(outcome).0))];
    let unfinished = match outcome.ended {
        Ended::Done => None,
        Ended::Interrupted => Some("The search was interrupted; these are the results so far."),
        Ended::NotCalm => {
            Some("The search ended early: the service did not become calm again after a trial.")
        }
    };
    notices.extend(unfinished.map(|text| Section::Notice(Notice::Warning, text.to_owned())));
    if let (Some(peak), true) = (outcome.peak, outcome.peak_is_missed()) {
        let text = format!("The peak of {} is not known to hold.", rate(peak.rate));
        notices.push(Section::Notice(Notice::Bad, text));
    }
    notices
}

fn figures(outcome: &Outcome) -> Vec<(String, String)> {
    let mut figures = Vec::new();
    let mut figure = |name: &str, value: String| figures.push((name.to_owned(), value));
    if let Some(low) = outcome.low() {
        figure("sustainable rate", rate(low));
    }
    if let Found::Within(interval) = outcome.found
        && interval.verified
    {
        figure("goal missed at", rate(interval.high));
        figure("confidence", confidence(interval.confidence));
    }
    if let (Some(peak), Some(low)) = (outcome.peak, outcome.low())
        && let Some(share) = peak.headroom(low)
    {
        figure("headroom at the peak", format!("{:.0} %", 100.0 * share.get()));
    }
    figure("p50, calm service", show_duration(outcome.calm).to_string());
    if let Some(knee) = &outcome.knee {
        figure("knee, requests in flight", knee.knee.to_string());
        figure("best throughput", rate(knee.best));
    }
    figures
}

fn trial_chart(outcome: &Outcome) -> Section {
    let judged = |tried: &&Tried| tried.outcome.is_good() || tried.outcome.is_bad();
    let points: Vec<TrialPoint> = outcome.trials.iter().filter(judged).map(point).collect();
    let disturbed = match outcome.trials.len() - points.len() {
        0 => String::new(),
        1 => " One disturbed trial is not shown.".to_owned(),
        count => format!(" {count} disturbed trials are not shown."),
    };
    let drawing = trials(&Trials {
        trials: points,
        goals: goals(outcome.goal.conditions()),
        found: band(outcome),
        peak: outcome.peak.map(|peak| (peak.rate.per_second(), format!("peak {}", rate(peak.rate)))),
    });
    Section::Chart(Chart {
        title: "Trials at fixed rates (open model)".to_owned(),
        caption: format!(
            "Each mark is a trial. A trial that misses the goal ends as soon as that is certain, so its response times \
             are those of the beginning of the overload.{disturbed}"
        ),
        drawing,
    })
}

fn point(tried: &Tried) -> TrialPoint {
    let Tried { outcome, achieved, p50, p95, .. } = tried;
    TrialPoint {
        offered: outcome.trial.rate.per_second(),
        achieved: achieved.per_second(),
        p50: p50.map(|p50| p50.at),
        p95: p95.map(|p95| p95.at),
        met: outcome.is_good(),
        says: format!("{}, p95 {}: {}", rate(outcome.trial.rate), time(*p95), outcome.verdict),
    }
}

/// The bounds on response times, as lines of a chart.
pub(crate) fn goals(conditions: &[Condition]) -> Vec<(Duration, String)> {
    let goal = |condition: &Condition| match condition {
        Condition::ResponseTime { below, .. } => Some((*below, format!("goal: {condition}"))),
        Condition::Failed { .. } => None,
    };
    conditions.iter().filter_map(goal).collect()
}

/// Where the sustainable rate lies; nothing that no verification showed is called so.
fn band(outcome: &Outcome) -> Option<Band> {
    match outcome.found {
        Found::Within(found) => {
            let name = if found.verified { "sustainable rate" } else { "likely, not verified" };
            Some(Band {
                low: found.low.per_second(),
                high: Some(found.high.per_second()),
                label: format!("{name}: {} to {}", rate(found.low), rate(found.high)),
            })
        }
        Found::AtLeast { rate: least, verified: true, .. } => Some(Band {
            low: least.per_second(),
            high: None,
            label: format!("sustainable rate: at least {}", rate(least)),
        }),
        _ => None,
    }
}

fn closed_loop(knee: &Knee) -> Section {
    let points = knee.steps.iter().map(|step| Point {
        load: f64::from(step.concurrency),
        throughput: step.throughput.per_second(),
        p50: Some(step.response_time),
    });
    let scaling = scaling::of(knee);
    let drawing = load_curve(&LoadCurve {
        points: points.collect(),
        knee: Some(f64::from(knee.knee)),
        fitted: scaling::curve(&scaling),
        axis: "requests in flight".to_owned(),
    });
    Section::Chart(Chart {
        title: "Throughput by requests in flight (closed model)".to_owned(),
        caption: format!(
            "Each connection sends its next request after the response to the last one. Above the knee, more requests in \
             flight increase only the response time. Scalability law (contention: the share of the work that runs one \
             at a time; coherency: the cost of each pair of requests that has to be kept consistent; intervals of \
             95 %): {}.",
            scaling::words(&scaling).join("; ")
        ),
        drawing,
    })
}

/// Characters of a line of the summary on the page.
const PAGE: usize = 100;
