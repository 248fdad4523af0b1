//! The tests of Knative's pod autoscaler: a revision, and a sequence of averages.
//!
//! A step may change any setting of `init`; the change applies from that step on, as when a revision is updated.

use super::CaseResult;
use super::reading::{At, Problem, all};
use control::scaling::knative::{Decider, KnativeSettings, ScalingMetric};
use serde_json::Value;
use std::time::Duration;
use units::{InstanceCount, Timestamp};

/// Whether these are sequences of averages.
pub fn fits(file: &Value) -> bool {
    file["sequences"].as_array().is_some_and(|sequences| {
        sequences.iter().any(|sequence| sequence.get("init").is_some() && sequence.get("steps").is_some())
    })
}

/// Runs all sequences, one result a step.
pub fn run(file: &Value) -> Result<Vec<CaseResult>, Vec<Problem>> {
    let root = At::root(file);
    let sequences = root.field("sequences").and_then(|found| found.list()).map_err(|wrong| vec![wrong])?;
    let defaults = Defaults::read(&root).map_err(|wrong| vec![wrong])?;
    all(sequences.iter().map(|sequence| defaults.sequence(sequence)))
}

/// The common part of all sequences of a file.
struct Defaults {
    settings: KnativeSettings,
    target_utilization: f64,
}

impl Defaults {
    fn read(root: &At) -> Result<Self, Problem> {
        let mut settings = KnativeSettings::concurrency(1.0);
        let mut target_utilization = 0.75;
        let Some(given) = root.maybe("defaults") else {
            return Ok(Defaults { settings, target_utilization });
        };
        for (field, place) in [
            ("max_scale_up_rate", &mut settings.max_scale_up_rate),
            ("max_scale_down_rate", &mut settings.max_scale_down_rate),
            ("panic_threshold", &mut settings.panic_threshold),
            ("target_utilization", &mut target_utilization),
        ] {
            if let Some(found) = given.maybe(field) {
                *place = found.number()?;
            }
        }
        if let Some(found) = given.maybe("stable_window_s") {
            settings.stable_window = seconds(&found)?;
        }
        Ok(Defaults { settings, target_utilization })
    }

    fn sequence(&self, sequence: &At) -> Result<Vec<CaseResult>, Problem> {
        let name = sequence.field("name")?.text()?;
        let init = sequence.field("init")?;
        init.field("target")?;
        let mut settings = self.settings;
        let mut ready = 1;
        for (key, value) in init.entries()? {
            match key {
                "ready" => ready = value.count()?,
                // Read below: they define a state and are not settings.
                "panic_since" | "max_panic" => {}
                _ if self.set(&mut settings, key, &value)? => {}
                _ => return Err(value.problem(format!("`{key}` is no setting that is known"))),
            }
        }
        let mut decider = Decider::new(EPOCH, settings, InstanceCount::new(ready));
        if let Some(since) = init.maybe("panic_since") {
            decider = decider.with_panic_since(instant(&since)?);
        }
        if let Some(most) = init.maybe("max_panic") {
            decider = decider.with_most_in_panic(InstanceCount::new(most.count()?));
        }
        let mut results = Vec::new();
        for (index, step) in sequence.field("steps")?.list()?.iter().enumerate() {
            let mut updated = false;
            for (key, value) in step.entries()? {
                match key {
                    _ if STEP.contains(&key) => {}
                    _ if self.set(&mut settings, key, &value)? => updated = true,
                    _ => return Err(value.problem(format!("`{key}` is nothing that a step has"))),
                }
            }
            if updated {
                decider.update(settings);
            }
            results.push(one_step(&mut decider, step, format!("{name}, step {}", index + 1))?);
        }
        Ok(results)
    }

    /// Sets the setting of a key; false for an unknown key. Null leaves a setting unchanged.
    fn set(&self, settings: &mut KnativeSettings, key: &str, value: &At) -> Result<bool, Problem> {
        let known = KEYS.contains(&key);
        if !known || value.value().is_null() {
            return Ok(known);
        }
        match key {
            "target" => {
                settings.target = value.number()?;
                settings.total = settings.target / self.target_utilization;
            }
            "total" => settings.total = value.number()?,
            "tbc" => {
                settings.target_burst_capacity = Some(value.number()?).filter(|capacity| *capacity >= 0.0)
            }
            "up" => settings.max_scale_up_rate = value.number()?,
            "down" => settings.max_scale_down_rate = value.number()?,
            "panic" => settings.panic_threshold = value.number()?,
            "window" => settings.stable_window = seconds(value)?,
            "delay" => settings.scale_down_delay = seconds(value)?,
            "act" => settings.activation_scale = InstanceCount::new(value.count()?),
            "reach" => settings.reachable = value.truth()?,
            _ => {
                settings.metric = match value.text()? {
                    "concurrency" => ScalingMetric::Concurrency,
                    "rps" => ScalingMetric::RequestsPerSecond,
                    _ => return Err(value.problem("this is no metric: concurrency or rps")),
                }
            }
        }
        Ok(true)
    }
}

/// The keys of a revision.
const KEYS: [&str; 11] =
    ["target", "total", "tbc", "up", "down", "panic", "window", "delay", "act", "reach", "metric"];
/// Additional keys of a step.
const STEP: [&str; 8] = ["t", "ready", "stable", "panic", "want", "want_ebc", "note", "name"];

fn one_step(decider: &mut Decider, step: &At, name: String) -> Result<CaseResult, Problem> {
    let now = instant(&step.field("t")?)?;
    let ready = InstanceCount::new(step.field("ready")?.count()?);
    let (stable, panic) = (step.field("stable")?.number()?, step.field("panic")?.number()?);
    let decision = decider.decide(now, ready, stable, panic);
    let mut expected = format!("{} pods", step.field("want")?.count()?);
    let mut found = format!("{} pods", decision.wanted);
    if let Some(burst) = step.maybe("want_ebc") {
        let wanted = burst.whole()?;
        let capacity = decision.excess_burst_capacity;
        // Upstream allows a difference of one, because platforms round differently; here it is allowed only if rounding
        // decides.
        let settings = decider.settings();
        let exact =
            f64::from(ready.get()) * settings.total - settings.target_burst_capacity.unwrap_or(0.0) - panic;
        let on_the_edge = (exact - exact.round()).abs() < 1e-6 && wanted.abs_diff(capacity) <= 1;
        expected += &format!(", burst capacity {wanted}");
        found += &format!(", burst capacity {}", if on_the_edge { wanted } else { capacity });
    }
    Ok(CaseResult { name, expected, found })
}

/// A time in seconds from the beginning of a sequence, which may be before it.
fn instant(value: &At) -> Result<Timestamp, Problem> {
    let span = Duration::try_from_secs_f64(value.number()?.abs());
    let span = span.map_err(|_| value.problem("a time in seconds was expected"))?;
    Ok(if value.number()? < 0.0 { EPOCH - span } else { EPOCH + span })
}

fn seconds(value: &At) -> Result<Duration, Problem> {
    let span = Duration::try_from_secs_f64(value.number()?);
    span.map_err(|_| value.problem("a number of seconds from 0 on was expected"))
}

/// Where the time of a sequence begins; even, because a tick is two seconds.
const EPOCH: Timestamp = Timestamp::from_secs(1_000_000);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn missed(cases: &[CaseResult]) -> Vec<String> {
        let missed = cases.iter().filter(|case| !case.matches());
        missed.map(|case| format!("{}: {} and not {}", case.name, case.found, case.expected)).collect()
    }

    #[test]
    fn every_shipped_step_matches() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../headroom/tests/conformance/knative_kpa.json");
        let mut file: Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("it is shipped")).expect("JSON");
        assert!(fits(&file));
        let cases = run(&file).unwrap();
        assert_eq!((cases.len(), missed(&cases)), (26, vec![]));
        file["sequences"][0]["steps"][0]["want_ebc"] = json!(-651);
        assert_eq!(
            missed(&run(&file).unwrap()),
            ["DecreaseNonReachable, step 1: 1 pods, burst capacity -650 and not 1 pods, burst capacity -651"]
        );
    }

    /// The panic of five pods holds them for its window, and lasts from its given beginning.
    #[test]
    fn a_sequence_may_begin_in_a_panic() {
        let step = |t: i32, want: u32| json!({ "t": t, "ready": 5, "stable": 3, "panic": 3, "want": want });
        let sequence = |init: Value| {
            let steps = [step(0, 5), step(54, 5), step(56, 3)];
            let file = json!({ "sequences": [{ "name": "panic", "init": init, "steps": steps }] });
            missed(&run(&file).unwrap())
        };
        let begun = json!({ "target": 1, "tbc": 100, "panic_since": -5, "max_panic": 5 });
        assert_eq!(sequence(begun), [""; 0]);
        // Without a panic its largest count has no meaning yet.
        let calm = json!({ "target": 1, "tbc": 100, "max_panic": 5, "panic_since": null });
        assert_eq!(
            sequence(calm),
            ["panic, step 1: 3 pods and not 5 pods", "panic, step 2: 3 pods and not 5 pods"]
        );
    }

    #[test]
    fn a_step_may_update_the_revision() {
        let step = |t: u32, want: u32| json!({ "t": t, "ready": 1, "stable": 40, "panic": 0, "want": want });
        let mut second = step(2, 8);
        second["target"] = json!(5);
        let file = json!({ "sequences": [
            { "name": "update", "init": { "target": 10, "tbc": 0 }, "steps": [step(0, 4), second] },
        ] });
        assert_eq!(missed(&run(&file).unwrap()), [""; 0]);
        let unknown =
            json!({ "sequences": [{ "name": "a", "init": { "target": 1, "cheddar": 1 }, "steps": [] }] });
        assert_eq!(
            run(&unknown).unwrap_err()[0].to_string(),
            "$.sequences[0].init.cheddar: `cheddar` is no setting that is known"
        );
    }
}
