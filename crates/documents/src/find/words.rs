//! What a search found, in words: the numbers first.

use super::limits::NoFile;
use super::outcome::{Ended, Outcome, Proof};
use super::scaling;
use crate::words::{counted, row};
use control::concurrency::Adaptive;
use control::search::limits::{Limits, RateLimit};
use control::search::{Ceiling, Found};
use report::rate;
use std::path::Path;
use units::show_duration;

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

/// The summary.
pub fn summary(outcome: &Outcome, gateway: Gateway) -> String {
    let mut text = String::new();
    match outcome.ended {
        Ended::Done => {}
        Ended::Interrupted => {
            row(&mut text, "unfinished", "interrupted; this is what was known by then");
        }
        Ended::NotCalm => row(
            &mut text,
            "unfinished",
            "the service did not become calm again after a trial; it may need a restart",
        ),
    }
    found(&mut text, outcome);
    if outcome.low().is_none()
        && let Some(length) = outcome.verification.filter(|_| outcome.ended == Ended::Done)
        && matches!(outcome.found, Found::Unfinished { .. } | Found::Within(_) | Found::AtLeast { .. })
    {
        let said =
            format!("a verification takes {} of load; --budget sets the load time", show_duration(length));
        row(&mut text, "", &said);
    }
    row(&mut text, "goal", &outcome.goal.to_string());
    row(&mut text, "calm", &format!("{} (median of single requests)", show_duration(outcome.calm)));
    match (outcome.rhythm.clusters, outcome.rhythm.gap) {
        (0, _) => {}
        (_, Some(gap)) => row(
            &mut text,
            "rhythm",
            &format!(
                "late answers of the calm service come in clusters, one every {}; a full trial lasted at least {}",
                show_duration(gap),
                show_duration(outcome.rhythm.shortest_trial())
            ),
        ),
        (_, None) => row(&mut text, "rhythm", "the calm service had one cluster of late answers"),
    }
    if let Some(knee) = &outcome.knee {
        row(
            &mut text,
            "knee",
            &format!("{} in flight; at best {} with {}", knee.knee, rate(knee.best), knee.best_at),
        );
        for (place, line) in scaling::words(&scaling::of(knee)).iter().enumerate() {
            row(&mut text, if place == 0 { "scaling" } else { "" }, line);
        }
    }
    match (outcome.binding(), outcome.limited_by()) {
        (Some(binding), Some(limited)) => row(&mut text, "limited by", &format!("{limited}: {binding}")),
        (Some(binding), None) => row(&mut text, "limited by", &binding.to_string()),
        (None, Some(limited)) => row(&mut text, "limited by", &limited.to_string()),
        (None, None) => {}
    }
    if let Some(proof) = &outcome.proof {
        overload(&mut text, proof);
    }
    headroom(&mut text, outcome);
    let load = outcome.trials.iter().map(|tried| tried.outcome.ran).sum();
    row(
        &mut text,
        "effort",
        &format!(
            "{}, {} of load, {} in all{}{}",
            counted(outcome.trials.len() as u64, "trial"),
            show_duration(load),
            show_duration(outcome.elapsed),
            if outcome.time_limit.is_zero() {
                String::new()
            } else {
                format!(" of at most {} s", outcome.time_limit.as_secs())
            },
            outcome.run.as_ref().map_or(String::new(), |run| format!("; run {run} in the ledger"))
        ),
    );
    match gateway {
        Gateway::NotWanted => {}
        Gateway::None(why) => row(&mut text, "gateway", &why.to_string()),
        Gateway::Written(path, limits) => {
            row(&mut text, "gateway", &path.display().to_string());
            for line in protects(outcome, &limits) {
                row(&mut text, "", &line);
            }
        }
    }
    text
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

fn found(text: &mut String, outcome: &Outcome) {
    row(text, "sustained", &sustained(outcome));
    if let Found::Within(interval) = outcome.found
        && interval.verified
    {
        row(text, "confidence", &confidence(interval.confidence));
    }
}

/// A confidence in percent.
pub(super) fn confidence(confidence: units::Ratio) -> String {
    format!("{} %", (100.0 * confidence.get()).round())
}

/// The rate that was found, or why none was.
pub(super) fn sustained(outcome: &Outcome) -> String {
    match outcome.found {
        Found::Within(interval) if !interval.verified => format!(
            "not found: no rate held in a verification; the trials make {} to {} likely",
            rate(interval.low),
            rate(interval.high)
        ),
        Found::Within(interval) => {
            let high = if interval.confirmed { "fails" } else { "fails, not confirmed," };
            format!(
                "{} to {} (the goal holds at the low end and {high} at the high end)",
                rate(interval.low),
                rate(interval.high),
            )
        }
        Found::AtLeast { rate: least, verified: false, .. } => {
            format!("not found: {} held in a trial, but not in a verification", rate(least))
        }
        Found::AtLeast { rate: least, ceiling, .. } => {
            let what = match (ceiling, outcome.disturbed_by()) {
                (Ceiling::Disturbed, Some(what)) => format!(": {what}"),
                _ => String::new(),
            };
            format!("at least {}; {ceiling}{what}", rate(least))
        }
        Found::MissedWhenCalm { binding, calm } => format!(
            "none: the calm service already misses {binding} ({} at the median); no rate was tried",
            show_duration(calm)
        ),
        Found::Unreachable { lowest, .. } => {
            format!("none: even {} missed the goal; the goal may be too tight", rate(lowest))
        }
        Found::Unfinished { good, bad } => {
            let known =
                |what: &str, found: Option<units::Rate>| found.map(|found| format!("{what} {}", rate(found)));
            let known: Vec<String> =
                [known("held at", good), known("missed at", bad)].into_iter().flatten().collect();
            let known = if known.is_empty() { "no trial was done".to_owned() } else { known.join(", ") };
            format!("not found: {known}")
        }
        Found::Invalid => format!(
            "unknown: every trial was disturbed{}; use a quieter machine, or one more core",
            outcome.disturbed_by().map_or(String::new(), |what| format!(" ({what})"))
        ),
    }
}

fn overload(text: &mut String, proof: &Proof) {
    let Proof { rate: offered, missed, disturbed, recovery } = *proof;
    if disturbed {
        row(text, "overload", &format!("not shown: the trial at {} was disturbed", rate(offered)));
        return;
    }
    if !missed {
        row(text, "overload", &format!("{} held the goal when it was tried once more", rate(offered)));
        return;
    }
    let back = match recovery {
        None => String::new(),
        Some(recovery) => match recovery.after {
            Some(after) if after.is_zero() => format!("; at {} the goal held at once", rate(recovery.rate)),
            Some(after) => {
                format!("; back at {} the goal held after {}", rate(recovery.rate), show_duration(after))
            }
            None => format!(
                "; back at {} the goal did not hold within {}: the service does not recover by itself",
                rate(recovery.rate),
                show_duration(recovery.limit)
            ),
        },
    };
    row(text, "overload", &format!("{} missed the goal{back}", rate(offered)));
}

fn headroom(text: &mut String, outcome: &Outcome) {
    // A search that was cut short knows a rate that holds, not the highest.
    if matches!(outcome.found, Found::Unfinished { .. }) {
        return;
    }
    let (Some(peak), Some(low)) = (outcome.peak, outcome.low()) else { return };
    match peak.headroom(low) {
        Some(share) => {
            let percent = (100.0 * share.get()).round();
            row(text, "headroom", &format!("{percent} % headroom at the peak of {}", rate(peak.rate)));
        }
        None => row(
            text,
            "headroom",
            &format!("none: the peak of {} is more than {}", rate(peak.rate), rate(low)),
        ),
    }
    if let (Some(instances), Some(needed)) = (peak.instances, peak.needed(low)) {
        row(text, "instances", &format!("the peak needs {needed}; {instances} were measured"));
    }
}
