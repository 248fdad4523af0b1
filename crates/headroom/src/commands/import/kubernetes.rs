//! `headroom import kubernetes`: a case file from HorizontalPodAutoscaler objects and the pods that they scale.

use super::{fill_in, left_out, read, refuse, write};
use crate::exit::Exit;
use crate::output::{note, print};
use ::import::kubernetes::{self, Autoscalers, Cluster, Effect};
use config::case::write::Draft;
use control::scaling::hpa::HpaSettings;
use std::path::{Path, PathBuf};

/// Import HorizontalPodAutoscalers from YAML or JSON
///
/// FILEs are manifests with one or several documents, or the output of `kubectl get hpa,deployments,statefulsets -A -o
/// yaml`, in autoscaling/v2, v2beta2 or v1. Deployments, StatefulSets and ReplicaSets give requests, limits and
/// replicas. Render Helm charts first (`helm template`). The result is a case file; values that the files do not
/// contain are marked TODO. Everything that cannot be simulated is reported with its line, and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write the case file to this file, and a summary to standard output
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
    let draft = match config::case::write::kubernetes(&found) {
        Ok(draft) => draft,
        Err(errors) => return refuse(&errors),
    };
    draft.left_out.iter().chain(&draft.assumed).for_each(|told| note(told));
    match &args.output {
        None => print(&format!("{}# {}", draft.text, fill_in(&draft, "CASE.yaml"))),
        Some(path) => match write(path, draft.text.as_bytes()) {
            Ok(()) => print(&summary(&found, &draft, path)),
            Err(error) => {
                refuse(&[error]);
                Exit::Failed
            }
        },
    }
}

fn summary(found: &Autoscalers, draft: &Draft, path: &Path) -> String {
    let mut text = String::new();
    for autoscaler in &found.autoscalers {
        let HpaSettings { min, max, metrics, behavior, .. } = &autoscaler.settings;
        let metrics = metrics.iter().map(kubernetes::metric_words).collect::<Vec<_>>().join(", ");
        let behavior = if behavior.is_some() { ", with behavior" } else { "" };
        let name = autoscaler.whole_name();
        text += &format!("{name}: {} to {}, by {metrics}{behavior}\n", min.get(), max.get());
    }
    let remarks = found.remarks.iter().filter(|remark| remark.cause.effect() == Effect::LeftOut).count();
    text + &left_out(remarks + draft.left_out.len()) + &fill_in(draft, &path.display().to_string())
}

const EXAMPLES: &str = "\
Examples:
  kubectl get hpa,deploy,sts -A -o yaml | headroom import kubernetes -
  headroom import kubernetes deploy/*.yaml -o case.yaml
  helm template my-release ./chart | headroom import kubernetes -";

#[cfg(test)]
mod tests {
    use super::*;

    const PHP: &str = "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: php-apache, namespace: shop }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: php-apache }
  maxReplicas: 10
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: 50 } }
";

    #[test]
    fn the_summary_names_what_was_read_and_the_next_command() {
        let summary = |text: &str| {
            let found = kubernetes::read([("hpa.yaml", text)], &Cluster::default()).unwrap();
            let draft = config::case::write::kubernetes(&found).unwrap();
            summary(&found, &draft, Path::new("case.yaml"))
        };
        insta::assert_snapshot!(summary(PHP));
        let memory = "    - type: Resource\n      resource: { name: memory, target: { type: Utilization, \
                      averageUtilization: 60 } }\n";
        let behavior = "  behavior: { scaleDown: { tolerance: 2 } }\n";
        insta::assert_snapshot!(summary(&format!("{PHP}{memory}{behavior}")));
    }
}
