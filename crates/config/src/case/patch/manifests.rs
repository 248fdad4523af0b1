//! The changes of a stage as manifests of Kubernetes: the objects that were imported, with other values.
//!
//! A manifest has what `kubectl apply` needs: kind, name, labels and the whole `spec`. What a server adds is left out.

use super::super::tree::{Absent, at, index, key_of, set};
use super::super::vary::Edit;
use crate::case::Case;
use std::fmt::Write;
use yaml::{Key, Kind, Node};

/// An object with other values, and as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its kind and name: `horizontalpodautoscaler-shop`.
    pub name: String,
    /// With the changes.
    pub text: String,
    /// As it is.
    pub undo: String,
}

/// The manifests of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifests {
    /// The objects that change.
    pub changed: Vec<Manifest>,
    /// Changed keys that are of no object of the files.
    pub elsewhere: Vec<String>,
}

impl Case {
    /// The objects of some manifests that the edits change. The files are names and texts; an object belongs to the service
    /// with the name of the workload that it scales.
    ///
    /// # Errors
    /// Files that are not YAML, a line each.
    pub fn manifests(edits: &[Edit], files: &[(String, String)]) -> Result<Manifests, Vec<String>> {
        let (mut objects, mut errors) = (Vec::new(), Vec::new());
        for (file, text) in files {
            match yaml::documents(text, BYTES_MAX) {
                Ok(documents) => documents.iter().for_each(|node| collect(node, &mut objects)),
                Err(malformed) => errors.push(format!("{file} is not YAML: {}", malformed.message)),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        // As an import names services: those of autoscalers first.
        objects.sort_by_key(|object| !matches!(object.of, Of::Autoscaler));
        let mut taken = Vec::new();
        for object in &mut objects {
            object.service = super::super::write::key_for(&object.service, &mut taken);
        }
        let mut found = Manifests::default();
        let mut changed: Vec<(usize, Node)> = Vec::new();
        for edit in edits {
            let place =
                edit.path.get(1).and_then(|name| objects.iter().position(|object| object.service == *name));
            let target = place.and_then(|place| Some((place, objects[place].target(edit)?)));
            let Some((place, (path, value))) = target else {
                found.elsewhere.push(key_of(&edit.path));
                continue;
            };
            let known = changed.iter().position(|(other, _)| *other == place);
            let index = known.unwrap_or_else(|| {
                changed.push((place, objects[place].node.clone()));
                changed.len() - 1
            });
            let _ = set(&mut changed[index].1, &path, value, Absent::Added);
        }
        found.changed = changed
            .into_iter()
            .map(|(place, node)| Manifest {
                name: objects[place].file_name(),
                text: document(&node),
                undo: document(&objects[place].node),
            })
            .collect();
        Ok(found)
    }
}

/// An autoscaler of the files.
struct Object {
    /// The key of its service in an imported case.
    service: String,
    of: Of,
    /// Without what a server adds.
    node: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Autoscaler,
    ScaledObject,
}

/// Collects autoscalers and ScaledObjects, also those of lists.
fn collect(node: &Node, objects: &mut Vec<Object>) {
    let text = |path: &[&str]| scalar(node, path);
    if let Some(Node { kind: Kind::List(items), .. }) = at(node, &["items"]) {
        items.iter().for_each(|item| collect(item, objects));
    }
    let of = match text(&["kind"]).as_deref() {
        Some("HorizontalPodAutoscaler") => Of::Autoscaler,
        Some("ScaledObject") => Of::ScaledObject,
        _ => return,
    };
    // KEDA makes it, and would change it back.
    if text(&["metadata", "labels", "app.kubernetes.io/managed-by"]).as_deref() == Some("keda-operator") {
        return;
    }
    let Some(service) = text(&["spec", "scaleTargetRef", "name"]) else { return };
    let mut entries = Vec::new();
    for (key, path) in [("apiVersion", &["apiVersion"][..]), ("kind", &["kind"])] {
        entries.extend(at(node, path).map(|value| (named(key), value.clone())));
    }
    let kept = ["name", "namespace", "labels", "annotations"];
    let metadata = kept.iter().filter_map(|key| Some((named(key), at(node, &["metadata", key])?.clone())));
    let mut metadata = table(metadata.collect());
    let applied = ["annotations", "kubectl.kubernetes.io/last-applied-configuration"].map(str::to_owned);
    let _ = set(&mut metadata, &applied, None, Absent::Added);
    entries.push((named("metadata"), metadata));
    entries.extend(at(node, &["spec"]).map(|value| (named("spec"), value.clone())));
    objects.push(Object { service, of, node: table(entries) });
}

impl Object {
    fn file_name(&self) -> String {
        let part = |path: &[&str]| scalar(&self.node, path).unwrap_or_default();
        format!("{}-{}", part(&["kind"]).to_lowercase(), part(&["metadata", "name"]))
    }

    /// Where a key of the case is in the object, and its value there; none if it is not there.
    fn target(&self, edit: &Edit) -> Option<(Vec<String>, Option<Node>)> {
        let keys: Vec<&str> = edit.path.get(3..)?.iter().map(String::as_str).collect();
        if edit.path.first()? != "services" || edit.path.get(2)? != "scaling" {
            return None;
        }
        let value = edit.value.as_deref();
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<String>>();
        let number = || value.map(|text| plain(text.trim_end_matches('%')));
        let words = || value.map(|text| quoted_node(text.trim_end_matches('%')));
        let seconds = || Some(plain(&units::parse_duration(value?).ok()?.as_secs().to_string()));
        Some(match (self.of, &keys[..]) {
            (Of::Autoscaler, ["min"]) => (path("spec/minReplicas"), number()),
            (Of::Autoscaler, ["max"]) => (path("spec/maxReplicas"), number()),
            (Of::ScaledObject, ["min"]) => (path("spec/minReplicaCount"), number()),
            (Of::ScaledObject, ["max"]) => (path("spec/maxReplicaCount"), number()),
            (Of::Autoscaler, ["hpa", "cpu"]) => (self.cpu()?, Some(number()?)),
            (Of::Autoscaler, ["hpa", "stabilize_down"]) => {
                (path("spec/behavior/scaleDown/stabilizationWindowSeconds"), seconds())
            }
            (Of::Autoscaler, ["hpa", "stabilize_up"]) => {
                (path("spec/behavior/scaleUp/stabilizationWindowSeconds"), seconds())
            }
            (Of::Autoscaler, ["hpa", "behavior", rest @ ..]) => {
                at(&self.node, &["spec", "behavior"])?;
                (path(&format!("spec/behavior/{}", rest.join("/"))), number())
            }
            (Of::ScaledObject, ["keda", "behavior", rest @ ..]) => {
                let place = ["spec", "advanced", "horizontalPodAutoscalerConfig", "behavior"];
                at(&self.node, &place)?;
                (path(&format!("{}/{}", place.join("/"), rest.join("/"))), number())
            }
            (Of::ScaledObject, ["keda", "polling_interval"]) => (path("spec/pollingInterval"), seconds()),
            (Of::ScaledObject, ["keda", "cooldown_period"]) => (path("spec/cooldownPeriod"), seconds()),
            (Of::ScaledObject, ["keda", "cpu"]) => {
                (path(&format!("{}/metadata/value", self.trigger("cpu", 0)?)), Some(words()?))
            }
            (Of::ScaledObject, ["keda", kind @ ("prometheus" | "cron"), item, key]) => {
                let item = index(item)?;
                let field = match (*kind, *key) {
                    ("prometheus", "threshold") => "threshold",
                    ("cron", "replicas") => "desiredReplicas",
                    _ => return None,
                };
                (path(&format!("{}/metadata/{field}", self.trigger(kind, item)?)), Some(words()?))
            }
            _ => return None,
        })
    }

    /// The place of the target of processor use.
    fn cpu(&self) -> Option<Vec<String>> {
        let old = ["spec", "targetCPUUtilizationPercentage"];
        if at(&self.node, &old).is_some() {
            return Some(old.map(str::to_owned).to_vec());
        }
        let Kind::List(metrics) = &at(&self.node, &["spec", "metrics"])?.kind else { return None };
        let found = metrics.iter().enumerate().find_map(|(place, metric)| {
            let source = ["resource", "containerResource"]
                .into_iter()
                .find(|source| scalar(metric, &[source, "name"]).as_deref() == Some("cpu"))?;
            Some((place, source))
        });
        let (place, source) = found?;
        let path = format!("spec/metrics/[{place}]/{source}/target/averageUtilization");
        Some(path.split('/').map(str::to_owned).collect())
    }

    /// The path of the trigger of a type, by its number among those of this type.
    fn trigger(&self, kind: &str, number: usize) -> Option<String> {
        let Kind::List(triggers) = &at(&self.node, &["spec", "triggers"])?.kind else { return None };
        let of = |(_, trigger): &(usize, &Node)| scalar(trigger, &["type"]).as_deref() == Some(kind);
        let (place, _) = triggers.iter().enumerate().filter(of).nth(number)?;
        Some(format!("spec/triggers/[{place}]"))
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

/// A number.
fn plain(text: &str) -> Node {
    Node { kind: Kind::Scalar(text.to_owned()), span: 0..0, inferred: true }
}

/// A text: the metadata of triggers are texts, also where they are numbers.
fn quoted_node(text: &str) -> Node {
    Node { kind: Kind::Scalar(text.to_owned()), span: 0..0, inferred: false }
}

/// A document in block style.
fn document(node: &Node) -> String {
    let mut text = String::new();
    block(node, 0, &mut text);
    text
}

fn block(node: &Node, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    match &node.kind {
        Kind::Table(entries) => {
            for (key, value) in entries {
                // Writing to a string cannot fail.
                let _ = write!(text, "{margin}{}:", key_text(&key.name));
                below(value, indent + 2, text);
            }
        }
        Kind::List(items) => {
            for item in items {
                let mut inner = String::new();
                block(item, indent + 2, &mut inner);
                let _ = write!(text, "{margin}- {}", inner.trim_start_matches(' '));
            }
        }
        Kind::Empty | Kind::Scalar(_) => {
            let _ = writeln!(text, "{margin}{}", value_text(node));
        }
    }
}

fn below(value: &Node, indent: usize, text: &mut String) {
    match &value.kind {
        Kind::Table(entries) if entries.is_empty() => text.push_str(" {}\n"),
        Kind::List(items) if items.is_empty() => text.push_str(" []\n"),
        Kind::Table(_) | Kind::List(_) => {
            text.push('\n');
            block(value, indent, text);
        }
        Kind::Empty | Kind::Scalar(_) => {
            let _ = writeln!(text, " {}", value_text(value));
        }
    }
}

fn value_text(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar(text) if node.inferred => text.clone(),
        Kind::Scalar(text) => crate::write::quoted(text),
        _ => "null".to_owned(),
    }
}

fn key_text(name: &str) -> String {
    crate::write::quoted(name)
}

/// Text that is read at most.
const BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFESTS: &str = "\
apiVersion: v1
kind: List
items:
- apiVersion: autoscaling/v2
  kind: HorizontalPodAutoscaler
  metadata:
    name: shop
    namespace: prod
    resourceVersion: \"12\"
    labels: { app.kubernetes.io/name: shop, tier: \"1\" }
    annotations: { kubectl.kubernetes.io/last-applied-configuration: '{}' }
  spec:
    scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: shop }
    minReplicas: 3
    maxReplicas: 40
    metrics:
    - type: Pods
      pods: { metric: { name: http_requests_per_second }, target: { type: AverageValue, averageValue: \"30\" } }
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } }
    behavior:
      scaleDown: { policies: [{ type: Percent, value: 10, periodSeconds: 60 }] }
  status: { currentReplicas: 7 }
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: mails, namespace: prod }
spec:
  scaleTargetRef: { name: mails }
  pollingInterval: 30
  triggers:
  - type: cron
    metadata: { timezone: Europe/Berlin, start: 0 8 * * *, end: 0 18 * * *, desiredReplicas: \"5\" }
  - type: prometheus
    metadata: { serverAddress: http://prometheus, query: up, threshold: \"50\" }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: keda-hpa-mails, labels: { app.kubernetes.io/managed-by: keda-operator } }
spec: { scaleTargetRef: { name: mails }, maxReplicas: 9 }
";

    fn edit(path: &str, value: Option<&str>) -> Edit {
        Edit { path: path.split('/').map(str::to_owned).collect(), value: value.map(str::to_owned) }
    }

    fn files() -> Vec<(String, String)> {
        vec![("all.yaml".to_owned(), MANIFESTS.to_owned())]
    }

    #[test]
    fn keys_of_the_case_are_fields_of_the_objects() {
        let edits = [
            edit("services/shop/scaling/min", Some("2")),
            edit("services/shop/scaling/hpa/cpu", Some("75%")),
            edit("services/shop/scaling/hpa/behavior/scaleDown/policies/[0]/value", Some("20")),
            edit("services/shop/scaling/hpa/behavior/scaleUp/stabilizationWindowSeconds", Some("60")),
            edit("services/mails/scaling/max", Some("12")),
            edit("services/mails/scaling/keda/polling_interval", Some("10s")),
            edit("services/mails/scaling/keda/prometheus/[0]/threshold", Some("80")),
            edit("services/mails/scaling/keda/cron/[0]/replicas", Some("3")),
            edit("services/shop/scaling/hpa/tolerance", Some("5%")),
            edit("services/shop/server/threads", Some("5")),
            edit("services/other/scaling/min", Some("5")),
        ];
        let found = Case::manifests(&edits, &files()).unwrap();
        assert_eq!(
            found.elsewhere,
            [
                "services.shop.scaling.hpa.tolerance",
                "services.shop.server.threads",
                "services.other.scaling.min"
            ]
        );
        let said = found.changed.iter().map(|one| format!("# {}\n{}---\n", one.name, one.text));
        insta::assert_snapshot!(said.collect::<String>());
        // They are read as what they are, and undone as what they were.
        for one in &found.changed {
            let [text, undo] = [&one.text, &one.undo].map(|text| {
                let files = [("a.yaml", text.as_str())];
                import::kubernetes::read(files, &import::kubernetes::Cluster::default()).unwrap()
            });
            assert_eq!((text.remarks.len(), undo.remarks.len()), (0, 0), "{text:?}");
            match (&text.autoscalers[..], &undo.autoscalers[..]) {
                ([text], [undo]) => {
                    assert_eq!((text.settings.min.get(), undo.settings.min.get()), (2, 3));
                    assert!(format!("{:?}", text.settings.metrics).contains("Utilization(75)"));
                    assert!(format!("{:?}", undo.settings.metrics).contains("Utilization(50)"));
                }
                _ => {
                    let (text, undo) = (&text.scaled_objects[0], &undo.scaled_objects[0]);
                    assert_eq!((text.settings.max.get(), undo.settings.max.get()), (12, 100));
                }
            }
        }
    }

    #[test]
    fn a_file_that_is_not_yaml_is_named() {
        let errors = Case::manifests(&[], &[("a.yaml".to_owned(), "a: [".to_owned())]).unwrap_err();
        assert!(errors[0].starts_with("a.yaml is not YAML: "), "{errors:?}");
    }
}
