//! `headroom import kubernetes`: a case file from HorizontalPodAutoscaler and ScaledObject objects and their pods.

use super::{drafted, read, refuse, write};
use crate::exit::Exit;
use crate::next::quoted;
use crate::output::{note, print};
use ::import::kubernetes::{self, Cluster};
use documents::import::kubernetes::summary;
use std::path::PathBuf;

/// Import HorizontalPodAutoscalers and KEDA's ScaledObjects from YAML or JSON
///
/// FILEs are manifests with one or several documents, or the output of `kubectl get hpa,deployments,statefulsets -A -o
/// yaml`, in autoscaling/v2, v2beta2 or v1. ScaledObjects are read in keda.sh/v1alpha1, with triggers prometheus, cron
/// and cpu. Deployments, StatefulSets and ReplicaSets give requests, limits and replicas. Render Helm charts first
/// (`helm template`). The result is a case file; values that the files do not contain are marked TODO, among them what
/// metrics of pods, objects and external sources measure. Everything that cannot be simulated is reported with its
/// line, and left out. An autoscaler without a metric or trigger that can be simulated is an error; --without leaves it
/// out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Leave out the autoscaler with this name; can be repeated
    #[arg(long, value_name = "NAME")]
    without: Vec<String>,

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
    let written = |found| Ok((config::case::write::kubernetes(&found)?, found));
    let (draft, found) = match found.without(&args.without).and_then(written) {
        Ok(drafted) => drafted,
        Err(errors) => return refuse(&errors),
    };
    draft.left_out.iter().chain(&draft.assumed).for_each(|told| note(told));
    match &args.output {
        None => print(&format!("{}# {}", draft.text, drafted(&draft, "CASE.yaml").next())),
        Some(path) => match write(path, draft.text.as_bytes()) {
            Ok(()) => print(&summary(&found, &drafted(&draft, &quoted(&path.display().to_string())))),
            Err(error) => {
                refuse(&[error]);
                Exit::Failed
            }
        },
    }
}

const EXAMPLES: &str = "\
Examples:
  kubectl get hpa,deploy,sts -A -o yaml | headroom import kubernetes -
  headroom import kubernetes deploy/*.yaml -o case.yaml
  kubectl get scaledobjects,deploy,sts -A -o yaml | headroom import kubernetes -
  helm template my-release ./chart | headroom import kubernetes -";
