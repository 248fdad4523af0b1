//! The autoscalers of Kubernetes and Knative, as settings of `control`. KEDA has its own module.

use super::Builder;
use super::behavior::{Directions, blamed};
use super::schedule::Agenda;
use crate::case::file::ScalingTable;
use crate::case::scaling_file::{HpaTable, KnativeTable};
use crate::case::words::{Number, Percentage, Utilization};
use control::Refusal;
use control::scaling::Scheduled;
use control::scaling::hpa::{Controller, HpaSettings, HpaSettingsError, Metric, Milli, Source, Version};
use control::scaling::knative::{KnativeSettings, KnativeSettingsError};
use fields::{At, Count, Place, Share, Span, between};
use sim::settings::{HpaScaling, KnativeScaling, PodMetric, Query};
use units::InstanceCount;

/// The keys about the cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cluster<'a> {
    pub(super) tolerance: Option<&'a At<Share>>,
    pub(super) sync_period: Option<&'a At<Span>>,
    pub(super) version: Option<&'a At<Count>>,
}

impl Builder<'_> {
    pub(super) fn hpa(
        &mut self,
        table: &ScalingTable,
        at: &At<HpaTable>,
        agenda: Agenda,
        request: Option<f64>,
    ) -> HpaScaling {
        let HpaTable {
            cpu,
            requests_per_second,
            in_flight,
            metrics: others,
            request: _,
            behavior,
            stabilize_down,
            stabilize_up,
            tolerance,
            sync_period,
            version,
        } = &at.value;
        let mut metrics = Vec::new();
        let mut kinds = Vec::new();
        if let Some(cpu) = cpu.as_ref().filter(|cpu| self.knows_cpu(&cpu.place)) {
            let percent = self.cpu_target(cpu, request, at);
            metrics.push(Metric::cpu_utilization(percent));
            kinds.push(Query::last(PodMetric::Cpu));
        }
        let of_pods = [
            ("requests-per-second", requests_per_second, PodMetric::RequestsPerSecond),
            ("in-flight", in_flight, PodMetric::InFlight),
        ];
        for (name, target, kind) in of_pods {
            let Some(At { value: Number(target), .. }) = target else { continue };
            let average = Milli((target * 1000.0).round() as i64);
            metrics.push(Metric { name: name.to_owned(), source: Source::Pods { average } });
            kinds.push(Query::last(kind));
        }
        for one in others.iter().flatten() {
            let (metric, query) = self.hpa_metric(&one.value);
            metrics.push(metric);
            kinds.push(query);
        }
        let directions = Directions {
            behavior: behavior.as_ref(),
            down: stabilize_down.as_ref(),
            up: stabilize_up.as_ref(),
        };
        let rules = self.behavior(directions);
        let cluster = Cluster {
            tolerance: tolerance.as_ref(),
            sync_period: sync_period.as_ref(),
            version: version.as_ref(),
        };
        let (controller, version) = self.cluster(cluster);
        let (least, most) = agenda.bounds((table.min.value.0, table.max.value.0));
        for desired in table.schedule.iter().flatten().filter_map(|entry| entry.value.desired.as_ref()) {
            let message = "a HorizontalPodAutoscaler decides the number of replicas itself".to_owned();
            let help = "set `min` and `max`; `desired` is for `platform: ec2` and `local`".to_owned();
            self.report.wrong(&desired.place, message, "no effect", help);
        }
        let hpa = HpaSettings {
            version,
            behavior: rules,
            controller,
            ..HpaSettings::new(InstanceCount::new(least), InstanceCount::new(most), metrics)
        };
        let place = |error: &HpaSettingsError| blamed(error, behavior.as_ref()).unwrap_or(&at.place);
        let problems = hpa.problems();
        // Problems that follow from a value that could not be read are not reported.
        let said = |error: &&HpaSettingsError| self.report.knows_of(&place(error).path);
        let (_, unsaid): (Vec<_>, Vec<_>) = problems.iter().partition(said);
        for error in unsaid {
            self.refused(place(error), error.refusal());
        }
        let scheduled: Vec<Scheduled> = agenda
            .ahead
            .into_iter()
            .map(|(action, _)| action)
            .filter(|action| action.desired.is_none())
            .collect();
        let scaling = HpaScaling { hpa, metrics: kinds, request, scheduled };
        if problems.is_empty()
            && let Some(problem) = scaling.schedule_problem()
            && let Some(entry) = table.schedule.iter().flatten().next()
        {
            let help = "set `min` or `max` in each entry, to bounds that an HPA accepts".to_owned();
            self.report.wrong(&entry.place, problem, "this schedule", help);
        }
        scaling
    }

    /// A target of processor use, in percent of the request.
    pub(super) fn cpu_target<T>(
        &mut self,
        cpu: &At<Utilization>,
        request: Option<f64>,
        table: &At<T>,
    ) -> u32 {
        let percent = (cpu.value.0 * 100.0).round();
        let request_path = fields::child(&table.place.path, "request");
        if percent > 100.0 && request.is_none() && !self.report.knows_of(&request_path) {
            let message = format!("pods never use {percent}% of what they request");
            let help = "add `request`, in cores: without it that is all that they are allotted".to_owned();
            self.report.wrong(&cpu.place, message, "above 100%", help);
        }
        percent as u32
    }

    /// The flags of the controller, and the version of the cluster.
    pub(super) fn cluster(&mut self, cluster: Cluster<'_>) -> (Controller, Version) {
        let usual = Controller::default();
        let tolerance = cluster.tolerance.map_or(usual.tolerance, |at| at.value.0.get());
        let sync_period = self.span(cluster.sync_period, usual.sync_period);
        if let Some(at) = cluster
            .sync_period
            .filter(|_| sync_period.is_zero() || 60_000 % sync_period.as_millis().max(1) != 0)
        {
            let message = "the sync period does not divide a minute".to_owned();
            self.report.wrong(&at.place, message, "this span", "15s is usual".to_owned());
        }
        let version = cluster.version.map_or(Some(Version::default()), |at| {
            let known = u16::try_from(at.value.0).ok().and_then(Version::new);
            if known.is_none() {
                let message = format!("the rules of Kubernetes 1.{} are not known", at.value.0);
                let help = format!("{} or later", Version::OLDEST.minor());
                self.report.wrong(&at.place, message, "too old", help);
            }
            known
        });
        (Controller { tolerance, sync_period, ..usual }, version.unwrap_or_default())
    }

    pub(super) fn knative(&mut self, table: &ScalingTable, at: &At<KnativeTable>) -> KnativeScaling {
        let KnativeTable {
            concurrency,
            requests_per_second,
            utilization,
            stable_window,
            scale_down_delay,
            panic_window_percentage,
            panic_threshold_percentage,
            max_scale_up_rate,
            max_scale_down_rate,
            activation_scale,
        } = &at.value;
        if let (Some(_), Some(second)) = (concurrency, requests_per_second) {
            let message = "expected only one of `concurrency` and `requests_per_second`".to_owned();
            self.report.wrong(&second.place, message, "another metric", "keep one of them".to_owned());
        }
        let usual = match (concurrency, requests_per_second) {
            (_, Some(at)) => KnativeSettings::requests_per_second(at.value.0),
            (Some(at), None) => KnativeSettings::concurrency(at.value.0),
            (None, None) => KnativeSettings::concurrency(CONCURRENCY),
        };
        let target = utilization.as_ref().map_or(usual.target, |at| usual.total * at.value.0.get());
        let share =
            |at: &Option<At<Percentage>>, usual: f64| at.as_ref().map_or(usual, |at| at.value.0 / 100.0);
        let number = |at: &Option<At<Number>>, usual: f64| at.as_ref().map_or(usual, |at| at.value.0);
        let activation_scale = activation_scale.as_ref().map_or(usual.activation_scale, |at| {
            InstanceCount::new(between(at, 1, u32::MAX, "1 is usual", self.report))
        });
        let knative = KnativeSettings {
            target,
            stable_window: self.span(stable_window.as_ref(), usual.stable_window),
            scale_down_delay: self.span(scale_down_delay.as_ref(), usual.scale_down_delay),
            panic_window_share: share(panic_window_percentage, usual.panic_window_share),
            panic_threshold: share(panic_threshold_percentage, usual.panic_threshold),
            max_scale_up_rate: number(max_scale_up_rate, usual.max_scale_up_rate),
            max_scale_down_rate: number(max_scale_down_rate, usual.max_scale_down_rate),
            activation_scale,
            min: count(&table.min),
            max: Some(count(&table.max)),
            ..usual
        };
        for error in knative.problems() {
            self.refused_of_knative(&error, at);
        }
        KnativeScaling { knative }
    }

    /// Reports the problem at its key, which is in percent where Knative's is.
    fn refused_of_knative(&mut self, error: &KnativeSettingsError, at: &At<KnativeTable>) {
        use KnativeSettingsError::{Between, Rate};
        let table = &at.value;
        let percentage = match error {
            Between { field: "panic_window_share", found, least, most } => {
                Some((&table.panic_window_percentage, found, least, most, "10% is usual"))
            }
            Between { field: "panic_threshold", found, least, most } => {
                Some((&table.panic_threshold_percentage, found, least, most, "200% is usual"))
            }
            _ => None,
        };
        if let Some((Some(at), found, least, most, help)) = percentage {
            let [found, least, most] = [found, least, most].map(|share| (share * 1e6).round() / 1e4);
            let message = format!("{found}% is outside {least}% to {most}%");
            return self.report.wrong(&at.place, message, "outside the bounds", help.to_owned());
        }
        let rate = match error {
            Rate { field: "max_scale_up_rate", .. } => table.max_scale_up_rate.as_ref(),
            Rate { field: "max_scale_down_rate", .. } => table.max_scale_down_rate.as_ref(),
            _ => None,
        };
        self.refused(rate.map_or(&at.place, |rate| &rate.place), error.refusal());
    }

    /// Settings that `control` refuses, with the way out.
    pub(super) fn refused(&mut self, place: &Place, refusal: Refusal) {
        let Refusal { problem, way_out } = refusal;
        let help = way_out.unwrap_or_else(|| "see the vendor's guide".to_owned());
        self.report.wrong(place, problem, "here", help);
    }
}

pub(super) fn count(at: &At<Count>) -> InstanceCount {
    InstanceCount::new(at.value.0)
}

/// The default of `container-concurrency-target-default`.
const CONCURRENCY: f64 = 100.0;
