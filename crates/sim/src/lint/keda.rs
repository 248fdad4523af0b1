//! Settings of a ScaledObject that KEDA accepts, and that do not do what they say.
//!
//! ## Sources
//! KEDA's admission webhook warns of a polling interval and a cooldown without effect. The autoscaler has the minimum,
//! not the idle count, as its lower bound: `controllers/keda/hpa.go`.

use super::{Finding, Rule, Subject};
use crate::settings::{KedaInput, KedaScaling, Policy};
use control::scaling::hpa::TotalTarget;
use control::scaling::keda::{FallbackBehavior, KedaSettings, Pause, Trigger};
use units::show_duration;

pub(super) fn check(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let Policy::Keda(scaling) = &subject.service.scaling.policy else { return };
    let name = &subject.service.name;
    let found = [
        unused(&scaling.keda),
        never_activated(scaling),
        idle(&scaling.keda),
        fallback(&scaling.keda),
        paused(&scaling.keda),
    ];
    let all = found.into_iter().flatten().chain(activation(&scaling.keda));
    findings.extend(all.map(|Found { rule, key, what, why, remedy }| Finding {
        rule,
        place: format!("{name}: scaling.keda{key}"),
        what: what.to_owned(),
        why,
        remedy: remedy.to_owned(),
    }));
}

struct Found {
    rule: Rule,
    key: &'static str,
    what: &'static str,
    why: String,
    remedy: &'static str,
}

fn unused(keda: &KedaSettings) -> Option<Found> {
    if keda.deactivates() {
        return None;
    }
    let usual = KedaSettings::new(Vec::new());
    let spans = [
        (".cooldown_period", keda.cooldown_period, usual.cooldown_period),
        (".initial_cooldown_period", keda.initial_cooldown_period, usual.initial_cooldown_period),
    ];
    let (key, found, _) = spans.into_iter().find(|(_, found, usual)| found != usual)?;
    Some(Found {
        rule: Rule::UnusedSetting,
        key,
        what: "the cooldown has no effect",
        why: format!(
            "KEDA waits {} before it scales to zero or to `idle`; with a minimum of {} and without `idle` it scales to \
             neither, and the horizontal pod autoscaler has no cooldown",
            show_duration(found),
            keda.active_min()
        ),
        remedy: "set `behavior.scaleDown.stabilizationWindowSeconds` for a slower scale-in, or `min: 0`",
    })
}

fn never_activated(scaling: &KedaScaling) -> Option<Found> {
    let keda = &scaling.keda;
    let wakes = scaling.inputs.iter().any(|input| match input {
        KedaInput::Cpu => false,
        KedaInput::Time => true,
        KedaInput::Query(query) => !query.of_pods,
    });
    let reaches_zero = keda.bounds().0.get() == 0 && !keda.force_activation;
    (reaches_zero && !wakes && !keda.pause.is_whole()).then(|| Found {
        rule: Rule::NeverActivated,
        key: "",
        what: "at zero, it is never activated again",
        why: "every query measures the pods: without pods the result is empty, and no trigger is active"
            .to_owned(),
        remedy: "query the balancer or the ingress instead of the pods, add another trigger, or set `min: 1`",
    })
}

fn idle(keda: &KedaSettings) -> Option<Found> {
    let idle = keda.idle.filter(|idle| idle.get() > 0)?;
    Some(Found {
        rule: Rule::IdleAboveZero,
        key: ".idle",
        what: "the autoscaler undoes the scale-in to the idle count",
        why: format!(
            "KEDA scales to {idle}, and its horizontal pod autoscaler, whose minimum is {}, raises that at the next sync",
            keda.active_min()
        ),
        remedy: "set `idle: 0`, the only idle count at which the autoscaler is disabled",
    })
}

fn fallback(keda: &KedaSettings) -> Option<Found> {
    let fallback = keda.fallback.filter(|fallback| fallback.behavior != FallbackBehavior::CurrentReplicas)?;
    let (min, max) = (keda.active_min().get(), keda.max.get());
    (!(min..=max).contains(&fallback.replicas)).then(|| Found {
        rule: Rule::FallbackOutOfBounds,
        key: ".fallback.replicas",
        what: "the bounds change the fallback",
        why: format!("it requests {} replicas, and the autoscaler keeps {min} to {max}", fallback.replicas),
        remedy: "use a number of replicas within the bounds",
    })
}

fn paused(keda: &KedaSettings) -> Option<Found> {
    let what = match keda.pause {
        Pause::None => return None,
        Pause::All | Pause::At(_) => "scaling is paused: the triggers have no effect",
        Pause::Directions { scale_in: true, scale_out: true } => "scaling in both directions is paused",
        Pause::Directions { scale_in: true, .. } => "scaling in is paused",
        Pause::Directions { .. } => "scaling out is paused",
    };
    Some(Found {
        rule: Rule::Paused,
        key: "",
        what,
        why: "an annotation of the ScaledObject pauses it until it is removed".to_owned(),
        remedy: "remove the key if the pause is over",
    })
}

/// Triggers that activate later than their target requests a second pod.
fn activation(keda: &KedaSettings) -> Vec<Found> {
    let late = |trigger: &Trigger| match trigger {
        Trigger::Prometheus { target: TotalTarget::AverageValue(target), activation, .. } => {
            (*activation >= target.fraction()).then(|| (*activation, target.fraction()))
        }
        _ => None,
    };
    let found = |(activation, target): (f64, f64)| Found {
        rule: Rule::ActivationAboveTarget,
        key: ".prometheus",
        what: "it stays without pods at a load for which the target requests more than one",
        why: format!(
            "`activation_threshold` is {activation} and `threshold` is {target}: without pods nothing happens up to \
             {activation}, and requests are refused"
        ),
        remedy: "lower `activation_threshold`; 0 activates at any load",
    };
    if keda.bounds().0.get() > 0 {
        Vec::new()
    } else {
        keda.triggers.iter().filter_map(late).map(found).collect()
    }
}
