//! Autoscalers and ScaledObjects of some files, and where each key of a case is in them.

use super::super::super::tree::{Absent, at, index, path_of, set};
use super::super::super::vary::Edit;
use super::super::super::write::{Place, key_for, places, places_of_triggers};
use control::scaling::hpa::{ResourceTarget, Source, TotalTarget};
use import::kubernetes::{Autoscaler, Cluster, ScaledObject, Spot, read as imported};
use yaml::{Key, Kind, Node};

/// An autoscaler of the files.
pub(super) struct Object {
    /// The key of its service in an imported case.
    pub(super) service: String,
    of: Of,
    /// Without what a server adds.
    pub(super) node: Node,
    /// Where the targets that a case has are: paths of their metrics or triggers.
    targets: Vec<(Place, Vec<String>)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Of {
    /// With the field of each metric that has its target: `pods/target/averageValue`.
    Autoscaler(Vec<(Place, &'static str)>),
    ScaledObject,
}

/// The objects in the order in which an import names their services.
pub(super) fn read(files: &[(String, String)]) -> Result<Vec<Object>, Vec<String>> {
    let named = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let found = imported(named, &Cluster::default());
    let found = found.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let mut nodes = Vec::new();
    for (_, text) in files {
        // The import has read them.
        for document in yaml::documents(text.trim_start_matches('\u{feff}'), BYTES_MAX).into_iter().flatten()
        {
            collect(&document, None, &mut nodes);
        }
    }
    let node = |kind: &str, name: &str, namespace: Option<&str>| {
        let is_it = |node: &&Node| {
            let text = |path: &[&str]| scalar(node, path);
            text(&["kind"]).as_deref() == Some(kind)
                && text(&["metadata", "name"]).as_deref() == Some(name)
                && text(&["metadata", "namespace"]).as_deref() == namespace
        };
        nodes.iter().find(is_it).cloned()
    };
    let mut taken = Vec::new();
    let mut objects = Vec::new();
    for one in &found.autoscalers {
        let found = places(one);
        // An import leaves these out.
        if found.iter().all(Option::is_none) {
            continue;
        }
        let service = key_for(&one.scales.name, &mut taken);
        let spots = one.metric_spots.iter();
        let Some(node) = node("HorizontalPodAutoscaler", &one.name, one.namespace.as_deref()) else {
            continue;
        };
        let (targets, of) = (targets(&found, spots, &one.spot), Of::Autoscaler(fields(one, &found)));
        objects.push(Object { service, of, node, targets });
    }
    for one in &found.scaled_objects {
        let found = places_of_triggers(one);
        if found.iter().all(Option::is_none) {
            continue;
        }
        let service = key_for(&one.scales.name, &mut taken);
        let ScaledObject { sources, spot, .. } = one;
        let Some(node) = node("ScaledObject", &one.name, one.namespace.as_deref()) else { continue };
        let targets = targets(&found, sources.iter().map(|source| &source.spot), spot);
        objects.push(Object { service, of: Of::ScaledObject, node, targets });
    }
    Ok(objects)
}

/// The paths of metrics or triggers in their object.
fn targets<'a>(
    places: &[Option<Place>],
    spots: impl Iterator<Item = &'a Spot>,
    object: &Spot,
) -> Vec<(Place, Vec<String>)> {
    let inside = |spot: &Spot| path_of(spot.path.strip_prefix(&object.path)?.trim_start_matches('.'));
    places.iter().zip(spots).filter_map(|(place, spot)| Some(((*place)?, inside(spot)?))).collect()
}

/// The field of each metric that has its target.
fn fields(autoscaler: &Autoscaler, places: &[Option<Place>]) -> Vec<(Place, &'static str)> {
    let field = |source: &Source| match source {
        Source::Resource { target: ResourceTarget::Utilization(_) } => "resource/target/averageUtilization",
        Source::Resource { .. } => "resource/target/averageValue",
        Source::ContainerResource { .. } => "containerResource/target/averageUtilization",
        Source::Pods { .. } => "pods/target/averageValue",
        Source::Object { target: TotalTarget::Value(_), .. } => "object/target/value",
        Source::Object { .. } => "object/target/averageValue",
        Source::External { target: TotalTarget::Value(_), .. } => "external/target/value",
        Source::External { .. } => "external/target/averageValue",
    };
    let metrics = autoscaler.settings.metrics.iter();
    metrics.zip(places).filter_map(|(metric, place)| Some(((*place)?, field(&metric.source)))).collect()
}

/// Collects autoscalers and ScaledObjects, also those of lists. Items of a typed list may lack what the list says of them.
fn collect(node: &Node, of_list: Option<(&str, &str)>, nodes: &mut Vec<Node>) {
    let text = |key: &str| scalar(node, &[key]);
    let said = text("apiVersion").zip(text("kind"));
    let (version, kind) = match (&said, of_list) {
        (Some((version, kind)), _) => (version.as_str(), kind.as_str()),
        (None, Some(of_list)) => of_list,
        (None, None) => return,
    };
    if let Some(Node { kind: Kind::List(items), .. }) = at(node, &["items"]) {
        let of_items = kind.strip_suffix("List").filter(|kind| !kind.is_empty());
        items.iter().for_each(|item| collect(item, of_items.map(|kind| (version, kind)), nodes));
    }
    if !["HorizontalPodAutoscaler", "ScaledObject"].contains(&kind) {
        return;
    }
    let mut entries = vec![(named("apiVersion"), plain(version)), (named("kind"), plain(kind))];
    let kept = ["name", "namespace", "labels", "annotations"];
    let metadata = kept.iter().filter_map(|key| Some((named(key), at(node, &["metadata", key])?.clone())));
    let mut metadata = table(metadata.collect());
    let applied = ["annotations", "kubectl.kubernetes.io/last-applied-configuration"].map(str::to_owned);
    // Objects without annotations have none to remove.
    let _ = set(&mut metadata, &applied, None, Absent::Refused);
    entries.push((named("metadata"), metadata));
    entries.extend(at(node, &["spec"]).map(|value| (named("spec"), value.clone())));
    nodes.push(table(entries));
}

impl Object {
    pub(super) fn file_name(&self) -> String {
        let part = |path: &[&str]| scalar(&self.node, path).unwrap_or_default();
        format!("{}-{}", part(&["kind"]).to_lowercase(), part(&["metadata", "name"]))
    }

    /// Where a key of the case is in the object, and its value there; none if it is not there.
    pub(super) fn target(&self, edit: &Edit) -> Option<(Vec<String>, Option<Node>)> {
        let keys: Vec<&str> = edit.path.get(3..)?.iter().map(String::as_str).collect();
        if edit.path.first()? != "services" || edit.path.get(2)? != "scaling" {
            return None;
        }
        let value = edit.value.as_deref();
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<String>>();
        let number = || value.map(|text| plain(text.trim_end_matches('%')));
        let words = || value.map(|text| quoted(text.trim_end_matches('%')));
        let seconds = || Some(plain(&units::parse_duration(value?).ok()?.as_secs().to_string()));
        let behavior = |above: &[&str], rest: &[&str]| {
            at(&self.node, above)?;
            Some(path(&[above, rest].concat().join("/")))
        };
        Some(match (&self.of, &keys[..]) {
            (Of::Autoscaler(_), ["min"]) => (path("spec/minReplicas"), number()),
            (Of::Autoscaler(_), ["max"]) => (path("spec/maxReplicas"), number()),
            (Of::ScaledObject, ["min"]) => (path("spec/minReplicaCount"), number()),
            (Of::ScaledObject, ["max"]) => (path("spec/maxReplicaCount"), number()),
            (Of::Autoscaler(_), ["hpa", "cpu"]) => self.cpu(number()?)?,
            (Of::Autoscaler(_), ["hpa", "requests_per_second"]) => {
                (self.metric(Place::RequestsPerSecond)?, Some(words()?))
            }
            (Of::Autoscaler(_), ["hpa", "in_flight"]) => (self.metric(Place::InFlight)?, Some(words()?)),
            (Of::Autoscaler(_), ["hpa", "metrics", item, "threshold"]) => {
                (self.metric(Place::Metric(index(item)?))?, Some(words()?))
            }
            (Of::Autoscaler(_), ["hpa", "stabilize_down"]) => {
                (path("spec/behavior/scaleDown/stabilizationWindowSeconds"), seconds())
            }
            (Of::Autoscaler(_), ["hpa", "stabilize_up"]) => {
                (path("spec/behavior/scaleUp/stabilizationWindowSeconds"), seconds())
            }
            (Of::Autoscaler(_), ["hpa", "behavior", rest @ ..]) => {
                (behavior(&["spec", "behavior"], rest)?, number())
            }
            (Of::ScaledObject, ["keda", "behavior", rest @ ..]) => (
                behavior(&["spec", "advanced", "horizontalPodAutoscalerConfig", "behavior"], rest)?,
                number(),
            ),
            (Of::ScaledObject, ["keda", "polling_interval"]) => (path("spec/pollingInterval"), seconds()),
            (Of::ScaledObject, ["keda", "cooldown_period"]) => (path("spec/cooldownPeriod"), seconds()),
            (Of::ScaledObject, ["keda", "cpu"]) => (self.trigger(Place::Cpu, "value")?, Some(words()?)),
            (Of::ScaledObject, ["keda", "prometheus", item, "threshold"]) => {
                (self.trigger(Place::Query(index(item)?), "threshold")?, Some(words()?))
            }
            (Of::ScaledObject, ["keda", "cron", item, key @ ("replicas" | "start" | "end")]) => {
                let field = if *key == "replicas" { "desiredReplicas" } else { key };
                (self.trigger(Place::Cron(index(item)?), field)?, Some(words()?))
            }
            _ => return None,
        })
    }

    fn place(&self, place: Place) -> Option<&Vec<String>> {
        self.targets.iter().find(|(found, _)| *found == place).map(|(_, path)| path)
    }

    /// The path of the target of a metric.
    fn metric(&self, place: Place) -> Option<Vec<String>> {
        let Of::Autoscaler(fields) = &self.of else { return None };
        let field = fields.iter().find(|(found, _)| *found == place)?.1;
        Some(self.place(place)?.iter().cloned().chain(field.split('/').map(str::to_owned)).collect())
    }

    /// The target of processor use with its place: `autoscaling/v1` has one, and an object without metrics has
    /// Kubernetes' default.
    fn cpu(&self, percent: Node) -> Option<(Vec<String>, Option<Node>)> {
        if scalar(&self.node, &["apiVersion"]).as_deref() == Some("autoscaling/v1") {
            let path = ["spec", "targetCPUUtilizationPercentage"].map(str::to_owned);
            return Some((path.to_vec(), Some(percent)));
        }
        if self.place(Place::Cpu)?.len() > 1 {
            return Some((self.metric(Place::Cpu)?, Some(percent)));
        }
        let entry = |key: &str, value: Node| (named(key), value);
        let target = table(vec![entry("type", plain("Utilization")), entry("averageUtilization", percent)]);
        let resource = table(vec![entry("name", plain("cpu")), entry("target", target)]);
        let metric = table(vec![entry("type", plain("Resource")), entry("resource", resource)]);
        let list = Node { kind: Kind::List(vec![metric]), span: 0..0, inferred: false };
        Some((["spec", "metrics"].map(str::to_owned).to_vec(), Some(list)))
    }

    /// The path of a field of the metadata of a trigger.
    fn trigger(&self, place: Place, field: &str) -> Option<Vec<String>> {
        let fields = ["metadata", field].map(str::to_owned);
        Some(self.place(place)?.iter().cloned().chain(fields).collect())
    }
}

fn scalar(node: &Node, path: &[&str]) -> Option<String> {
    match &at(node, path)?.kind {
        Kind::Scalar(text) => Some(text.clone()),
        _ => None,
    }
}

fn named(name: &str) -> Key {
    Key { name: name.to_owned(), span: 0..0 }
}

fn table(entries: Vec<(Key, Node)>) -> Node {
    Node { kind: Kind::Table(entries), span: 0..0, inferred: false }
}

/// A number, or a word that YAML reads as a text.
fn plain(text: &str) -> Node {
    Node { kind: Kind::Scalar(text.to_owned()), span: 0..0, inferred: true }
}

/// A text: quantities, and the metadata of triggers, also where they are numbers.
fn quoted(text: &str) -> Node {
    Node { kind: Kind::Scalar(text.to_owned()), span: 0..0, inferred: false }
}

/// Text that is read at most.
const BYTES_MAX: usize = 64 << 20;
