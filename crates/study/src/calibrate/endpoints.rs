//! The endpoints of a service, each measured with one user.
//!
//! One endpoint by itself shows what its requests cost relative to the others. How much all of them cost under load, and
//! what limits them, shows the mix: so the times of the endpoints are scaled to those of the mix.

use super::figure::Figure;
use super::measure::Part;
use super::model::Kind;
use super::{Known, Level, Slice};
use ::load::Endpoint;
use ::measure::Measurement;

/// An endpoint as it was measured.
#[derive(Debug, Clone)]
pub struct Single {
    /// Its name.
    pub name: String,
    /// Its share of the requests, 0 to 1.
    pub share: f64,
    /// One user who sends it; `None` where it is too rare to be measured.
    pub alone: Option<Level>,
}

/// What a request to an endpoint takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The name of the endpoint.
    pub name: String,
    /// Its share of the requests, 0 to 1.
    pub share: f64,
    /// Processor time of a request that is alone, in seconds; `None` without a process to look at.
    pub cpu: Option<Figure>,
    /// Response time of a request that is alone, in seconds.
    pub alone: Figure,
    /// The part of it that is no processor time of the service, in seconds.
    pub wait: Figure,
}

/// The share of each endpoint in the requests: as it is known, or as a run of the whole shows it.
pub(super) fn shares(endpoints: &[Endpoint], whole: &Measurement) -> Vec<f64> {
    let count = |one: &Endpoint| {
        whole.endpoints.get(one.place_in_whole).map_or(0, |found| found.part.accounting.scheduled) as f64
    };
    let all: f64 = endpoints.iter().map(count).sum();
    let share = |one: &Endpoint| one.share.unwrap_or(if all > 0.0 { count(one) / all } else { 0.0 });
    endpoints.iter().map(share).collect()
}

/// Whether an endpoint is too rare to be a part of the model.
pub(super) fn is_rare(share: f64) -> bool {
    share < RARE
}

/// The level of one endpoint, from work that has it for the most part: what the other endpoints of that work cost is
/// known from their own levels, `costs`, by their places.
pub(super) fn level(endpoint: &Endpoint, part: Part, idle_cores: f64, costs: &[(usize, Level)]) -> Level {
    let found = &part.measurement.endpoints;
    let all: u64 = found.iter().map(|one| one.part.accounting.answered).sum();
    let share = |place: usize| match found.get(place) {
        Some(one) if all > 0 => one.part.accounting.answered as f64 / all as f64,
        _ => 0.0,
    };
    let others = (0..found.len()).filter(|&place| place != endpoint.place).map(|place| {
        let cost =
            costs.iter().find(|(known, _)| *known == place).and_then(|(_, level)| level.cpu(idle_cores));
        share(place) * cost.map_or(0.0, |cost| cost.value)
    });
    let (own, of_others) = (share(endpoint.place), others.sum::<f64>());
    let slice = |slice: Slice| Slice {
        responses: (slice.responses as f64 * own).round() as u64,
        cpu_seconds: slice.cpu_seconds.map(|cpu| cpu - slice.responses as f64 * of_others),
        ..slice
    };
    let times = found.get(endpoint.place).map(|one| one.part.service.clone()).unwrap_or_default();
    Level { users: 1, slices: part.slices.into_iter().map(slice).collect(), times, known: None }
}

/// What requests to each endpoint cost; those that were not measured are left out.
pub(super) fn costs(singles: &[Single], known: &Known) -> Vec<Cost> {
    let cost = |single: &Single| {
        let level = single.alone.as_ref()?;
        let alone = level.mean_time().ok()?;
        let cpu = level.cpu(known.idle_cores);
        let wait = cpu.map_or(alone, |cpu| alone.minus(&cpu));
        Some(Cost { name: single.name.clone(), share: single.share, cpu, alone, wait })
    };
    singles.iter().filter_map(cost).collect()
}

/// The endpoints of a model in which a request of the mix has this processor time and this wait.
pub(super) fn kinds(singles: &[Single], costs: &[Cost], cpu: f64, wait: f64, known: &Known) -> Vec<Kind> {
    let sum = |of: fn(&Cost) -> f64| -> f64 {
        let all: f64 = costs.iter().map(|cost| cost.share).sum();
        costs.iter().map(|cost| cost.share / all * of(cost)).sum()
    };
    let factor = |mean: f64, sum: f64| if sum > 0.0 { mean / sum } else { 0.0 };
    let cpu_of = |cost: &Cost| cost.cpu.map_or(0.0, |cpu| cpu.value.max(0.0));
    let wait_of = |cost: &Cost| cost.wait.value.max(0.0);
    let (of_cpu, of_wait) = (factor(cpu, sum(cpu_of)), factor(wait, sum(wait_of)));
    let kind = |cost: &Cost| {
        let level = singles.iter().find(|single| single.name == cost.name)?.alone.as_ref()?;
        let (cpu, wait) = super::fit::shapes(level, cpu_of(cost), wait_of(cost), known);
        let (cpu, wait) = (cpu.scaled(of_cpu), wait.scaled(of_wait));
        Some(Kind { name: cost.name.clone(), share: cost.share, cpu, wait })
    };
    costs.iter().filter_map(kind).collect()
}

/// A smaller share of the requests is too few to be measured at the levels and trials.
const RARE: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;
    use ::measure::Histogram;
    use std::time::Duration;

    fn single(name: &str, share: f64, millis: u64, cpu: f64) -> Single {
        let mut times = Histogram::default();
        (0..600).for_each(|_| times.record(Duration::from_millis(millis)));
        let slice =
            Slice { seconds: 1.0, responses: 1_000 / millis, cpu_seconds: Some(cpu * 1e3 / millis as f64) };
        let slices = (0..40).map(|_| slice).collect();
        Single { name: name.to_owned(), share, alone: Some(Level { users: 1, slices, times, known: None }) }
    }

    #[test]
    fn endpoints_keep_their_proportions_and_have_the_mean_of_the_mix() {
        let mut singles = vec![
            single("search", 0.75, 10, 0.002),
            single("report", 0.24, 100, 0.020),
            single("rare", 0.01, 5, 0.0),
        ];
        singles[2].alone = None;
        let known = Known::default();
        let costs = costs(&singles, &known);
        assert_eq!(costs.len(), 2);
        assert!((costs[1].wait.value - 0.080).abs() < 1e-3, "{costs:?}");
        // Under load, processor time is twice as long as the sum of the endpoints alone.
        let mean = |of: fn(&Cost) -> f64| (0.75 * of(&costs[0]) + 0.24 * of(&costs[1])) / 0.99;
        let (cpu, wait) = (2.0 * mean(|cost| cost.cpu.unwrap().value), mean(|cost| cost.wait.value));
        let kinds = kinds(&singles, &costs, cpu, wait, &known);
        let of =
            |place: usize| (kinds[place].cpu.mean().as_secs_f64(), kinds[place].wait.mean().as_secs_f64());
        assert!((of(0).0 - 0.004).abs() < 1e-5 && (of(1).0 - 0.040).abs() < 1e-4, "{kinds:?}");
        assert!((of(0).1 - 0.008).abs() < 1e-4 && (of(1).1 - 0.080).abs() < 1e-3, "{kinds:?}");
    }
}
