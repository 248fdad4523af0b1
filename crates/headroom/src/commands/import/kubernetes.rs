//! `headroom import kubernetes`: how workloads scale today, from HorizontalPodAutoscaler objects.

use super::{read, refuse, write};
use crate::exit::Exit;
use crate::output::{note, print};
use ::import::kubernetes::{self, Autoscalers, Cluster, Effect};
use config::case::write::Section;
use control::scaling::hpa::{HpaSettings, Metric};
use std::path::{Path, PathBuf};

/// Import HorizontalPodAutoscalers from YAML or JSON
///
/// FILEs are manifests with one or several documents, or the output of `kubectl get hpa -A -o yaml`, in autoscaling/v2,
/// v2beta2 or v1. Everything that cannot be simulated is reported with its line, and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Write the section of the case file to this file, and a summary to standard output
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
    let Section { text, left_out } = config::case::write::kubernetes(&found);
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

fn summary(found: &Autoscalers, left_out: usize, path: &Path) -> String {
    let mut text = String::new();
    for autoscaler in &found.autoscalers {
        let HpaSettings { min, max, metrics, behavior, .. } = &autoscaler.settings;
        let metrics = metrics.iter().map(Metric::to_string).collect::<Vec<_>>().join(", ");
        let behavior = if behavior.is_some() { ", with behavior" } else { "" };
        let name = autoscaler.whole_name();
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

const NEXT: &str = "# next: describe servers and traffic too, then headroom simulate CASE.yaml\n";

const EXAMPLES: &str = "\
Examples:
  kubectl get hpa -A -o yaml | headroom import kubernetes -
  headroom import kubernetes deploy/*.yaml -o case.yaml";

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
        let summary = |text: &str, left_out| {
            let found = kubernetes::read([("hpa.yaml", text)], &Cluster::default()).unwrap();
            summary(&found, left_out, Path::new("case.yaml"))
        };
        insta::assert_snapshot!(summary(PHP, 0));
        let behavior = "  behavior: { scaleDown: { tolerance: 2 } }\n";
        insta::assert_snapshot!(summary(&format!("{PHP}{behavior}"), 1));
    }
}
