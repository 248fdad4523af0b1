//! An entry of `metrics` of an HPA.

use super::Builder;
use super::query::QueryKeys;
use crate::case::scaling_file::HpaMetricTable;
use control::scaling::hpa::{Metric, ResourceTarget, Source, TotalTarget};
use fields::word;
use sim::settings::{PodMetric, Query};

impl Builder<'_> {
    /// An entry of `metrics`.
    pub(super) fn hpa_metric(&mut self, table: &HpaMetricTable) -> (Metric, Query) {
        let kinds = [
            ("External", MetricKind::External),
            ("Object", MetricKind::Object),
            ("Pods", MetricKind::Pods),
            ("Resource", MetricKind::Resource),
        ];
        let kind = word(Some(&table.r#type), &kinds, self.report);
        let is_total = self.is_total(table.metric_type.as_ref());
        let target = self.threshold(&table.threshold);
        self.contradictions(table, kind, is_total);
        let query = self.query(QueryKeys {
            measures: &table.measures,
            factor: table.factor.as_ref(),
            file: table.file.as_ref(),
            bin: table.bin.as_ref(),
            source: table.source.as_ref(),
            window: table.window.as_ref(),
            outages: table.outages.as_deref().unwrap_or_default(),
        });
        let total = if is_total { TotalTarget::Value(target) } else { TotalTarget::AverageValue(target) };
        let source = match kind {
            MetricKind::External => Source::External { selector: None, target: total },
            MetricKind::Object => {
                let kind = table.object.as_ref().map_or("Service", |at| &at.value.0);
                Source::Object { kind: kind.to_owned(), target: total }
            }
            MetricKind::Pods => Source::Pods { average: target },
            MetricKind::Resource => Source::Resource { target: ResourceTarget::AverageValue(target) },
        };
        let name = match (&table.name, kind) {
            (_, MetricKind::Resource) => "cpu".to_owned(),
            (Some(at), _) => at.value.0.clone(),
            (None, _) => table.measures.value.words(),
        };
        (Metric { name, source }, query)
    }

    /// Reports keys that do not go together.
    fn contradictions(&mut self, table: &HpaMetricTable, kind: MetricKind, is_total: bool) {
        let of_pods = matches!(kind, MetricKind::Pods | MetricKind::Resource);
        if let Some(at) = table.metric_type.as_ref().filter(|_| of_pods && is_total) {
            let message = "`Value` only with `External` and `Object`".to_owned();
            let help = "write `AverageValue`: the target of a pod".to_owned();
            self.report.wrong(&at.place, message, "this target", help);
        }
        let is_cpu = matches!(table.measures.value.0, Some(PodMetric::Cpu));
        if kind == MetricKind::Resource && !is_cpu {
            let message = "the only `Resource` that is simulated is `cpu`".to_owned();
            let help = "write `measures: cpu`, or another `type`".to_owned();
            self.report.wrong(&table.measures.place, message, "this metric", help);
        }
        if let Some(at) = table.object.as_ref().filter(|_| kind != MetricKind::Object) {
            let message = "`object` only with `type: Object`".to_owned();
            self.report.wrong(&at.place, message, "no effect", "remove it".to_owned());
        }
        if let Some(at) = table.window.as_ref().filter(|_| of_pods && is_cpu) {
            let message = "processor use of a pod is that of the last sync period".to_owned();
            self.report.wrong(&at.place, message, "no effect", "remove it, or set `sync_period`".to_owned());
        }
    }
}

/// The source of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    External,
    Object,
    Pods,
    Resource,
}
