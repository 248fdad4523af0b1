//! `headroom import kubernetes`: how workloads scale today, from HorizontalPodAutoscaler objects.

use super::section::{key_for, original};
use super::{read, refuse, write};
use crate::exit::Exit;
use crate::output::{note, print};
use ::import::kubernetes::{self, Autoscaler, Autoscalers, Cluster, Effect};
use ::import::width;
use control::scaling::hpa::{Behavior, HpaSettings, Metric, ResourceTarget, Rules, Source};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Read HorizontalPodAutoscalers from YAML or JSON, as the scaling of a case file
///
/// FILEs are manifests with one or several documents, or what `kubectl get hpa -A -o yaml` prints, in autoscaling/v2,
/// v2beta2 or v1. What cannot be simulated is named with its line, and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The files; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write the section of the case file here, and a summary to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reads, says what was left out, and prints or writes the rest.
pub fn run(args: &Args) -> Exit {
    let texts = match read(&args.files) {
        Ok(texts) => texts,
        Err(errors) => return refuse(&errors),
    };
    let files = texts.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let found = match kubernetes::read(files, &Cluster::default()) {
        Ok(found) => found,
        Err(errors) => return refuse(&errors),
    };
    found.remarks.iter().for_each(|remark| note(&remark.to_string()));
    let (text, left_out) = section(&found);
    left_out.iter().for_each(|left_out| note(left_out));
    match &args.output {
        None => print(&format!("{text}{NEXT}")),
        Some(path) => match write(path, text.as_bytes()) {
            Ok(()) => print(&summary(&found, left_out.len(), path)),
            Err(error) => {
                refuse(&[error]);
                Exit::Failed
            }
        },
    }
}

/// The services of a case file, and what it cannot say.
fn section(found: &Autoscalers) -> (String, Vec<String>) {
    let mut text =
        "# How workloads scale, as Kubernetes has them. Servers, hosts and traffic are yours to add.\n\
                    services:\n"
            .to_owned();
    let (mut left_out, mut keys) = (Vec::new(), Vec::new());
    for autoscaler in &found.autoscalers {
        let Some(words) = words(autoscaler, &mut left_out) else { continue };
        let key = key_for(&autoscaler.scales.name, &mut keys);
        let name = original(&key, &whole_name(autoscaler));
        let HpaSettings { min, max, .. } = &autoscaler.settings;
        let (min, max) = (min.get(), max.get());
        text += &format!(
            "  {key}:{name}\n    scaling:\n      min: {min}\n      max: {max}\n      hpa: {{ {words} }}\n"
        );
    }
    (text, left_out)
}

/// Namespace and workload.
fn whole_name(autoscaler: &Autoscaler) -> String {
    match &autoscaler.namespace {
        Some(namespace) => format!("{namespace} {}", autoscaler.scales),
        None => autoscaler.scales.to_string(),
    }
}

/// The words of an autoscaler, or none where a case file cannot say any of its metrics.
fn words(autoscaler: &Autoscaler, left_out: &mut Vec<String>) -> Option<String> {
    let HpaSettings { metrics, behavior, .. } = &autoscaler.settings;
    let place = format!("{} (`{}`)", autoscaler.spot, autoscaler.name);
    let mut cpu = None;
    for metric in metrics {
        match utilization(metric) {
            Some(percent) if percent <= 100 && cpu.is_none() => cpu = Some(percent),
            _ => {
                left_out.push(format!("{place}: {metric} is a target that a case file cannot say; left out"))
            }
        }
    }
    let Some(cpu) = cpu else {
        left_out.push(format!("{place}: no metric is left that a case file can say; left out"));
        return None;
    };
    let mut words = vec![format!("cpu: {cpu}%")];
    if let Some(Behavior { up, down }) = behavior {
        let usual = Behavior::default();
        words.push("behavior: true".to_owned());
        let mut stabilize = |key: &str, span: Option<Duration>, usual: Duration| {
            let other = span.filter(|span| *span != usual);
            words.extend(other.map(|span| format!("{key}: {}", width(span))));
        };
        stabilize("stabilize_up", up.stabilization, Duration::ZERO);
        stabilize("stabilize_down", down.stabilization, FIVE_MINUTES);
        for (which, rules, usual) in [("scaleUp", up, &usual.up), ("scaleDown", down, &usual.down)] {
            if rules.policies != usual.policies || rules.select != usual.select {
                left_out.push(format!(
                    "{place}: the policies of behavior.{which} are not the default, and a case file has only that; it is taken"
                ));
            }
        }
        words.extend(tolerance(up, down, &place, left_out));
    }
    Some(words.join(", "))
}

fn utilization(metric: &Metric) -> Option<u32> {
    match &metric.source {
        Source::Resource { target: ResourceTarget::Utilization(percent) } if metric.name == "cpu" => {
            Some(*percent)
        }
        _ => None,
    }
}

/// One tolerance for both directions is all that a case file has.
fn tolerance(up: &Rules, down: &Rules, place: &str, left_out: &mut Vec<String>) -> Option<String> {
    match (up.tolerance, down.tolerance) {
        (None, None) => None,
        (Some(up), Some(down)) if up == down => Some(format!("tolerance: {}%", up * 100.0)),
        _ => {
            left_out.push(format!(
                "{place}: a tolerance for one direction; a case file has one for both; left out"
            ));
            None
        }
    }
}

fn summary(found: &Autoscalers, left_out: usize, path: &Path) -> String {
    let mut text = String::new();
    for autoscaler in &found.autoscalers {
        let HpaSettings { min, max, metrics, behavior, .. } = &autoscaler.settings;
        let metrics = metrics.iter().map(Metric::to_string).collect::<Vec<_>>().join(", ");
        let behavior = if behavior.is_some() { ", with behavior" } else { "" };
        let name = whole_name(autoscaler);
        text += &format!("{name}: {} to {}, by {metrics}{behavior}\n", min.get(), max.get());
    }
    let remarks = found.remarks.iter().filter(|remark| remark.cause.effect() == Effect::LeftOut).count();
    text += &match remarks + left_out {
        0 => "nothing was left out\n".to_owned(),
        1 => "1 thing was left out (told above)\n".to_owned(),
        many => format!("{many} things were left out (told above)\n"),
    };
    let path = path.display();
    text + &format!("next: describe servers and traffic in {path} too, then headroom simulate {path}\n")
}

/// Kubernetes' default for scaling down.
const FIVE_MINUTES: Duration = Duration::from_secs(300);

const NEXT: &str = "# next: describe servers and traffic too, then headroom simulate CASE.yaml\n";

const EXAMPLES: &str = "\
Examples:
  kubectl get hpa -A -o yaml | headroom import kubernetes -
  headroom import kubernetes deploy/*.yaml -o case.yaml";

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let found = kubernetes::read([("hpa.yaml", text)], &Cluster::default()).unwrap();
        let (text, left_out) = section(&found);
        let summary = summary(&found, left_out.len(), Path::new("case.yaml"));
        format!("{text}---\n{}\n---\n{summary}", left_out.join("\n"))
    }

    /// The shape of Kubernetes' own example.
    const PHP: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: php-apache
  namespace: shop
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: php-apache }
  minReplicas: 1
  maxReplicas: 10
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } }
";

    #[test]
    fn autoscalers_are_written_as_a_case_file_has_them() {
        insta::assert_snapshot!(shown(PHP));
    }

    #[test]
    fn what_a_case_file_cannot_say_is_told() {
        let more = "    - type: Resource
      resource: { name: memory, target: { type: Utilization, averageUtilization: 60 } }
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 60
      policies: [{ type: Pods, value: 1, periodSeconds: 60 }]
";
        insta::assert_snapshot!(shown(&format!("{PHP}{more}")));
        insta::assert_snapshot!(shown(&PHP.replace("name: cpu", "name: memory")));
    }
}
