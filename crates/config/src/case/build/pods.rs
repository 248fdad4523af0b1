//! The autoscalers of Kubernetes and Knative, as settings of `control`.

use super::Builder;
use super::behavior::blamed;
use super::schedule::Agenda;
use crate::case::file::ScalingTable;
use crate::case::scaling_file::{HpaTable, KnativeTable};
use crate::case::words::{Number, Percentage};
use control::Refusal;
use control::scaling::Scheduled;
use control::scaling::hpa::{Controller, HpaSettings, HpaSettingsError, Metric, Milli, Source, Version};
use control::scaling::knative::{KnativeSettings, KnativeSettingsError};
use fields::{At, Place, between};
use sim::settings::{HpaScaling, KnativeScaling, PodMetric};
use units::InstanceCount;

impl Builder<'_> {
    pub(super) fn hpa(&mut self, table: &ScalingTable, at: &At<HpaTable>, agenda: Agenda) -> HpaScaling {
        let HpaTable {
            cpu, requests_per_second, in_flight, request, tolerance, sync_period, version, ..
        } = &at.value;
        let request_path = fields::child(&at.place.path, "request");
        let mut metrics = Vec::new();
        let mut kinds = Vec::new();
        if let Some(at) = cpu.as_ref().filter(|at| self.knows_cpu(&at.place)) {
            let percent = (at.value.0 * 100.0).round();
            if percent > 100.0 && request.is_none() && !self.report.knows_of(&request_path) {
                let message = format!("pods never use {percent}% of what they request");
                let help =
                    "add `request`, in cores: without it that is all that they are allotted".to_owned();
                self.report.wrong(&at.place, message, "above 100%", help);
            }
            metrics.push(Metric::cpu_utilization(percent as u32));
            kinds.push(PodMetric::Cpu);
        }
        let of_pods = [
            ("requests-per-second", requests_per_second, PodMetric::RequestsPerSecond),
            ("in-flight", in_flight, PodMetric::InFlight),
        ];
        for (name, target, kind) in of_pods {
            let Some(At { value: Number(target), .. }) = target else { continue };
            let average = Milli((target * 1000.0).round() as i64);
            metrics.push(Metric { name: name.to_owned(), source: Source::Pods { average } });
            kinds.push(kind);
        }
        let behavior = self.behavior(&at.value);
        let usual = Controller::default();
        let tolerance = tolerance.as_ref().map_or(usual.tolerance, |at| at.value.0.get());
        let sync = self.span(sync_period.as_ref(), usual.sync_period);
        if let Some(at) =
            sync_period.as_ref().filter(|_| sync.is_zero() || 60_000 % sync.as_millis().max(1) != 0)
        {
            let message = "the sync period does not divide a minute".to_owned();
            self.report.wrong(&at.place, message, "this span", "15s is usual".to_owned());
        }
        let version = version.as_ref().map_or(Some(Version::default()), |at| {
            let known = u16::try_from(at.value.0).ok().and_then(Version::new);
            if known.is_none() {
                let message = format!("the rules of Kubernetes 1.{} are not known", at.value.0);
                let help = format!("{} or later", Version::OLDEST.minor());
                self.report.wrong(&at.place, message, "too old", help);
            }
            known
        });
        let (least, most) = agenda.bounds((table.min.value.0, table.max.value.0));
        for desired in table.schedule.iter().flatten().filter_map(|entry| entry.value.desired.as_ref()) {
            let message = "a HorizontalPodAutoscaler decides the number of replicas itself".to_owned();
            let help = "set `min` and `max`; `desired` is for `platform: ec2` and `local`".to_owned();
            self.report.wrong(&desired.place, message, "no effect", help);
        }
        let hpa = HpaSettings {
            version: version.unwrap_or_default(),
            behavior,
            controller: Controller { tolerance, sync_period: sync, ..usual },
            ..HpaSettings::new(InstanceCount::new(least), InstanceCount::new(most), metrics)
        };
        let place = |error: &HpaSettingsError| blamed(error, &at.value).unwrap_or(&at.place);
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
        let scaling =
            HpaScaling { hpa, metrics: kinds, request: request.as_ref().map(|at| at.value.0), scheduled };
        if problems.is_empty()
            && let Some(problem) = scaling.schedule_problem()
            && let Some(entry) = table.schedule.iter().flatten().next()
        {
            let help = "set `min` or `max` in each entry, to bounds that an HPA accepts".to_owned();
            self.report.wrong(&entry.place, problem, "this schedule", help);
        }
        scaling
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

fn count(at: &At<fields::Count>) -> InstanceCount {
    InstanceCount::new(at.value.0)
}

/// The default of `container-concurrency-target-default`.
const CONCURRENCY: f64 = 100.0;
