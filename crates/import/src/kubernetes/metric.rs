//! Metrics of an autoscaler: where each comes from, and what it should be.

use super::field::{Field, Object, Report};
use super::quantity;
use super::remark::Spot;
use control::scaling::hpa::{Metric, Milli, ResourceTarget, Source, TotalTarget};
use std::collections::BTreeMap;
use yaml::Kind;

/// Reads all, each with its place; none if one cannot be read.
pub(super) fn read(list: &Field<'_>, name: Option<&str>, report: &mut Report) -> Option<Vec<(Metric, Spot)>> {
    let metrics: Vec<Option<(Metric, Spot)>> = list
        .list(report)
        .iter()
        .map(|entry| one(entry, name, report).map(|metric| (metric, entry.spot())))
        .collect();
    metrics.into_iter().collect()
}

/// Where metrics come from, by `type`, and the field that goes with it.
const TYPES: [(&str, &str); 5] = [
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("Pods", "pods"),
    ("Object", "object"),
    ("External", "external"),
];

fn one(entry: &Field<'_>, name: Option<&str>, report: &mut Report) -> Option<Metric> {
    let entry = entry.object(report)?;
    let field = entry.needed("type", "a text", report)?.one_of(&TYPES, report)?;
    let source = entry.object(field, report)?;
    let metric = match field {
        "resource" => {
            let target = resource_target(&source, name, report);
            let resource = source.text("name", report);
            (resource, target.map(|target| Source::Resource { target }))
        }
        "containerResource" => {
            let target = resource_target(&source, name, report);
            let container = source.text("container", report).map(str::to_owned);
            let resource = source.text("name", report);
            let both = target.zip(container);
            (resource, both.map(|(target, container)| Source::ContainerResource { container, target }))
        }
        "pods" => {
            let (metric, _) = identifier(&source, name, report);
            let average = pods_target(&source, name, report);
            (metric, average.map(|average| Source::Pods { average }))
        }
        "object" => {
            let (metric, _) = identifier(&source, name, report);
            let kind = source.object("describedObject", report).and_then(|described| {
                let kind = described.text("kind", report).map(str::to_owned);
                described.without_effect(&["apiVersion", "name"]);
                described.done(name, report);
                kind
            });
            let target = total_target(&source, name, report);
            (metric, kind.zip(target).map(|(kind, target)| Source::Object { kind, target }))
        }
        _ => {
            let (metric, selector) = identifier(&source, name, report);
            let target = total_target(&source, name, report);
            (metric, target.map(|target| Source::External { selector, target }))
        }
    };
    source.done(name, report);
    entry.done(name, report);
    let (metric, source) = metric;
    Some(Metric { name: metric?.to_owned(), source: source? })
}

/// `metric`: its name, and its selector as Kubernetes prints it.
fn identifier<'a>(
    source: &Object<'a>,
    name: Option<&str>,
    report: &mut Report,
) -> (Option<&'a str>, Option<String>) {
    let Some(metric) = source.object("metric", report) else { return (None, None) };
    let selector = metric.get("selector").and_then(|selector| selector_words(&selector, name, report));
    let metric_name = metric.text("name", report);
    metric.done(name, report);
    (metric_name, selector)
}

/// What Kubernetes writes for a selector in events.
fn selector_words(selector: &Field<'_>, name: Option<&str>, report: &mut Report) -> Option<String> {
    let selector = selector.object(report)?;
    let mut labels = BTreeMap::new();
    if let Some(found) = selector.get("matchLabels")
        && let Kind::Table(entries) = found.kind()
    {
        for (key, value) in entries {
            if let Kind::Scalar(value) = &value.kind {
                labels.insert(key.name.clone(), value.clone());
            }
        }
    }
    let expressions = selector.get("matchExpressions").map_or(0, |list| list.list(report).len());
    selector.done(name, report);
    let labels: String = labels.iter().map(|(key, value)| format!("{key}: {value},")).collect();
    let expressions = if expressions == 0 { String::new() } else { format!("{expressions} expressions") };
    Some(format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    ))
}

/// What `target.type` may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Utilization,
    AverageValue,
    Value,
}

fn resource_target(source: &Object<'_>, name: Option<&str>, report: &mut Report) -> Option<ResourceTarget> {
    let words = [("Utilization", Target::Utilization), ("AverageValue", Target::AverageValue)];
    let target = source.object("target", report)?;
    let read = match target.needed("type", "a text", report)?.one_of(&words, report)? {
        Target::Utilization => {
            let percent = target.needed("averageUtilization", "a percentage", report);
            percent
                .and_then(|percent| percent.whole(1, i32::MAX as u32, report))
                .map(ResourceTarget::Utilization)
        }
        _ => quantity_of(&target, "averageValue", report).map(ResourceTarget::AverageValue),
    };
    target.done(name, report);
    read
}

fn pods_target(source: &Object<'_>, name: Option<&str>, report: &mut Report) -> Option<Milli> {
    let target = source.object("target", report)?;
    target.needed("type", "a text", report)?.one_of(&[("AverageValue", ())], report)?;
    let read = quantity_of(&target, "averageValue", report);
    target.done(name, report);
    read
}

fn total_target(source: &Object<'_>, name: Option<&str>, report: &mut Report) -> Option<TotalTarget> {
    let words = [("Value", Target::Value), ("AverageValue", Target::AverageValue)];
    let target = source.object("target", report)?;
    let read = match target.needed("type", "a text", report)?.one_of(&words, report)? {
        Target::Value => quantity_of(&target, "value", report).map(TotalTarget::Value),
        _ => quantity_of(&target, "averageValue", report).map(TotalTarget::AverageValue),
    };
    target.done(name, report);
    read
}

fn quantity_of(target: &Object<'_>, field: &'static str, report: &mut Report) -> Option<Milli> {
    quantity::read(&target.needed(field, "a quantity such as 500m, 2 or 1Gi", report)?, report)
}
