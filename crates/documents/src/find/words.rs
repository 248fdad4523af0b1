//! What a search found, in words: the numbers first.

use super::limits::NoFile;
use super::outcome::{Ended, Outcome, Proof};
use super::scaling;
use crate::words::{Rows, counted};
use control::concurrency::Adaptive;
use control::search::limits::{Limits, RateLimit};
use control::search::recovery::Recovery;
use control::search::{Ceiling, Found};
use report::{Terminal, Tone, rate};
use std::path::Path;
use std::time::Duration;
use units::{Rate, Ratio, show_duration};

/// What became of the gateway file.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "there is one of it, while the summary is made")]
pub enum Gateway<'a> {
    /// It was not wanted.
    NotWanted,
    /// There is nothing to write.
    None(NoFile),
    /// It was written there.
    Written(&'a Path, Limits),
}

impl<'a> Gateway<'a> {
    /// Where it was written, and with which limits.
    pub fn written(self) -> Option<(&'a Path, Limits)> {
        match self {
            Gateway::Written(path, limits) => Some((path, limits)),
            Gateway::NotWanted | Gateway::None(_) => None,
        }
    }
}

/// The summary for a terminal.
pub fn summary(outcome: &Outcome, gateway: Gateway, terminal: Terminal) -> String {
    rows(outcome, gateway).text(terminal)
}

/// The rows of the summary, the numbers first.
pub fn rows(outcome: &Outcome, gateway: Gateway) -> Rows {
    let mut rows = Rows::default();
    match outcome.ended {
        Ended::Done => {}
        Ended::Interrupted => rows.row("unfinished", "interrupted; the results so far follow"),
        Ended::NotCalm => rows
            .row("unfinished", "the service did not become calm again after a trial; it may need a restart"),
    }
    let (text, part, tone) = sustained(outcome);
    rows.row("sustained", text);
    rows.stress(&part, tone);
    if outcome.low().is_none()
        && let Some(length) = outcome.verification.filter(|_| outcome.ended == Ended::Done)
        && matches!(outcome.found, Found::Unfinished { .. } | Found::Within(_) | Found::AtLeast { .. })
    {
        rows.row(
            "",
            format!("a verification takes {} of load; --budget sets the load time", show_duration(length)),
        );
    }
    rows.row("goal", outcome.goal.to_string());
    for (place, reason) in outcome.suspect().iter().enumerate() {
        rows.row(if place == 0 { "suspect" } else { "" }, reason.to_string());
    }
    match (outcome.binding(), outcome.limited_by()) {
        (Some(binding), Some(limited)) => rows.row("limited by", format!("{limited}: {binding}")),
        (Some(binding), None) => rows.row("limited by", binding.to_string()),
        (None, Some(limited)) => rows.row("limited by", limited.to_string()),
        (None, None) => {}
    }
    for (place, found) in outcome.findings.iter().enumerate() {
        let name = if place == 0 { "bottleneck" } else { "" };
        rows.row(name, format!("{} [{}]", found.sentence, found.code));
    }
    rows.row("calm", format!("{} median response time without load", show_duration(outcome.calm)));
    match (outcome.rhythm.clusters, outcome.rhythm.gap) {
        (0, _) => {}
        (_, Some(gap)) => rows.row(
            "pauses",
            format!(
                "without load, late responses come in clusters, one every {}; a full trial lasted at least {}",
                show_duration(gap),
                show_duration(outcome.rhythm.shortest_trial())
            ),
        ),
        (_, None) => rows.row("pauses", "without load, there was one cluster of late responses"),
    }
    if let Some(knee) = &outcome.knee {
        rows.row(
            "knee",
            format!(
                "{} in flight; best throughput {} with {} in flight",
                knee.knee,
                rate(knee.best),
                knee.best_at
            ),
        );
        for (place, line) in scaling::words(&scaling::of(knee)).into_iter().enumerate() {
            rows.row(if place == 0 { "scaling" } else { "" }, line);
        }
    }
    if let Some(proof) = &outcome.proof {
        overload(&mut rows, proof);
    }
    headroom(&mut rows, outcome);
    effort(&mut rows, outcome);
    match gateway {
        Gateway::NotWanted => {}
        Gateway::None(why) => rows.row("gateway", why.to_string()),
        Gateway::Written(path, limits) => {
            rows.row("gateway", path.display().to_string());
            protects(outcome, &limits).into_iter().for_each(|line| rows.row("", line));
        }
    }
    rows
}

fn effort(rows: &mut Rows, outcome: &Outcome) {
    let load = outcome.trials.iter().map(|tried| tried.outcome.ran).sum();
    let limit = match outcome.time_limit {
        Duration::ZERO => String::new(),
        limit => format!(" (limit {} s)", limit.as_secs()),
    };
    rows.row(
        "effort",
        format!(
            "{}, {} of load; {} in total{limit}{}",
            counted(outcome.trials.len() as u64, "trial"),
            show_duration(load),
            show_duration(outcome.elapsed),
            outcome.run.as_ref().map_or(String::new(), |run| format!("; run {run} in the ledger"))
        ),
    );
}

/// What the file limits, a line each: what was measured, and what only follows from it.
fn protects(outcome: &Outcome, limits: &Limits) -> Vec<String> {
    let mut lines = Vec::new();
    let at_most = |limit: RateLimit| format!("at most {}", rate(limit.rate));
    if let Some(always) = limits.always {
        lines.push(format!(
            "measured path: always {}, as failures come too soon to wait for",
            at_most(always)
        ));
    }
    match limits.gated {
        Some(gated) => {
            let in_flight = format!("{} in flight{}", gated.in_flight, adapts(gated.adaptive));
            let applied: Vec<String> = gated.rate.map(at_most).into_iter().chain([in_flight]).collect();
            let conform = match (limits.target, outcome.not_conforming()) {
                (Some(target), statuses) if statuses.is_empty() => {
                    format!("come within {}", show_duration(target))
                }
                (Some(target), statuses) => {
                    format!("come within {} and are not {statuses}", show_duration(target))
                }
                (None, statuses) => format!("are not {statuses}"),
            };
            let applied = applied.join(" and ");
            lines.push(format!("measured path: {applied} while fewer than {} {conform}", gated.enter));
        }
        None => lines.push("measured path: no limit of its own, nothing limited it".to_owned()),
    }
    let service = limits.service;
    lines.push(match outcome.only_path {
        true => "other paths: no limit (--only-path)".to_owned(),
        false => format!(
            "all paths together: {} in flight{}; no other path was measured",
            service.in_flight,
            adapts(Some(service.adaptive))
        ),
    });
    lines
}

fn adapts(adaptive: Option<Adaptive>) -> String {
    adaptive.map_or(String::new(), |found| format!(" (adapts between {} and {})", found.least, found.most))
}

/// A confidence in percent.
pub(super) fn confidence(confidence: Ratio) -> String {
    format!("{} %", (100.0 * confidence.get()).round())
}

/// The rate that was found, or why none was; its beginning that strikes the eye, and how.
pub(super) fn sustained(outcome: &Outcome) -> (String, String, Tone) {
    match outcome.found {
        Found::Within(interval) if !interval.verified => {
            let (low, high) = (rate(interval.low), rate(interval.high));
            let text =
                format!("not found: no rate held in a verification; the trials make {low} to {high} likely");
            (text, "not found".to_owned(), Tone::Busy)
        }
        Found::Within(interval) => {
            let part = format!("{} to {}", rate(interval.low), rate(interval.high));
            let unconfirmed = if interval.confirmed { "" } else { " (not confirmed)" };
            let confidence = confidence(interval.confidence);
            let text = format!(
                "{part} with {confidence} confidence: the low end meets the goal, the high end misses it{unconfirmed}"
            );
            (text, part, Tone::Good)
        }
        Found::AtLeast { rate: least, verified: false, .. } => {
            let held = rate(least);
            let text = format!("not found: {held} held in a trial, but not in a verification");
            (text, "not found".to_owned(), Tone::Busy)
        }
        Found::AtLeast { rate: least, ceiling, .. } => {
            let what = match (ceiling, outcome.disturbed_by()) {
                (Ceiling::Disturbed, Some(what)) => format!(": {what}"),
                _ => String::new(),
            };
            let part = format!("at least {}", rate(least));
            (format!("{part}; {ceiling}{what}"), part, Tone::Good)
        }
        Found::MissedWhenCalm { binding, calm } => {
            let median = show_duration(calm);
            let text = format!(
                "none: the service misses {binding} even without load (median {median}); no rate was tried"
            );
            (text, "none".to_owned(), Tone::Bad)
        }
        Found::Unreachable { lowest, .. } => {
            let text = format!("none: even {} missed the goal; the goal may be too strict", rate(lowest));
            (text, "none".to_owned(), Tone::Bad)
        }
        Found::Unfinished { good, bad } => {
            let known =
                |what: &str, found: Option<Rate>| found.map(|found| format!("{what} {}", rate(found)));
            let known: Vec<String> =
                [known("met at", good), known("missed at", bad)].into_iter().flatten().collect();
            let text = match known.is_empty() {
                true => "not found: no trial was done".to_owned(),
                false => format!("not found: the goal was {}", known.join(", ")),
            };
            (text, "not found".to_owned(), Tone::Busy)
        }
        Found::Invalid => {
            let by = outcome.disturbed_by().map_or(String::new(), |what| format!(" ({what})"));
            let text =
                format!("unknown: every trial was disturbed{by}; use a quieter machine, or one more core");
            (text, "unknown".to_owned(), Tone::Bad)
        }
    }
}

fn overload(rows: &mut Rows, proof: &Proof) {
    let Proof { rate: offered, missed, disturbed, recovery } = *proof;
    let offered = rate(offered);
    if disturbed {
        return rows.row("overload", format!("not shown: the trial at {offered} was disturbed"));
    }
    if !missed {
        return rows.row("overload", format!("{offered} met the goal when it was tried once more"));
    }
    let back = recovery.map_or(String::new(), |Recovery { rate: back, after, limit }| match after {
        Some(after) => format!("; back at {}, it was met again after {}", rate(back), show_duration(after)),
        None => format!(
            "; back at {}, it was not met again within {}: the service does not recover by itself",
            rate(back),
            show_duration(limit)
        ),
    });
    rows.row("overload", format!("{offered} missed the goal{back}"));
}

fn headroom(rows: &mut Rows, outcome: &Outcome) {
    // A search that was cut short knows a rate that holds, not the highest.
    if matches!(outcome.found, Found::Unfinished { .. }) {
        return;
    }
    let (Some(peak), Some(low)) = (outcome.peak, outcome.low()) else { return };
    match peak.headroom(low) {
        Some(share) => {
            let part = format!("{} %", (100.0 * share.get()).round());
            rows.row("headroom", format!("{part} headroom at the peak of {}", rate(peak.rate)));
            rows.stress(&part, Tone::Good);
        }
        None => {
            rows.row("headroom", format!("none: the peak of {} is more than {}", rate(peak.rate), rate(low)));
            rows.stress("none", Tone::Bad);
        }
    }
    if let (Some(instances), Some(needed)) = (peak.instances, peak.needed(low)) {
        rows.row("instances", format!("the peak needs {needed}; {instances} were measured"));
    }
}
