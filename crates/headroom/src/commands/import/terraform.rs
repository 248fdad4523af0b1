//! `headroom import terraform`: a case file of services that AWS scales, from a Terraform state or plan.

use super::{finish, now, read, refuse};
use crate::exit::Exit;
use ::import::aws::terraform;
use std::path::PathBuf;
use std::slice;

/// Import AWS scaling policies, alarms and schedules from a Terraform or OpenTofu state or plan
///
/// FILE is the output of `terraform show -json` (the state) or `terraform show -json PLANFILE` (a plan), of any 1.x of
/// Terraform or OpenTofu. All modules are read: aws_appautoscaling_target, _policy and _scheduled_action,
/// aws_autoscaling_group, _policy and _schedule, aws_cloudwatch_metric_alarm, and of aws_ecs_service and
/// aws_lb_target_group what changes a simulation. The result is a case file; each policy, alarm and target has the
/// address of its resource (`origin`). Values that the document does not contain, that are sensitive or known only after
/// apply, are marked TODO. Everything that cannot be simulated is reported with its address, and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Output of `terraform show -json`; - for standard input
    file: PathBuf,

    /// Write the case file to this file, and a summary to standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// Print everything that was read as JSON
    #[arg(long)]
    json: bool,
}

/// Reads, says what was left out, and prints or writes the rest.
pub fn run(args: &Args) -> Exit {
    let texts = match read(slice::from_ref(&args.file)) {
        Ok(texts) => texts,
        Err(errors) => return refuse(&errors),
    };
    let Some((name, text)) = texts.first() else { return Exit::Usage };
    let now = now();
    match terraform::read(name, text) {
        Ok(fleet) => {
            let draft = config::case::write::terraform(&fleet, now);
            finish(&fleet, &draft, now, args.json, args.output.as_deref())
        }
        Err(errors) => refuse(&errors),
    }
}

const EXAMPLES: &str = "\
Examples:
  terraform show -json | headroom import terraform -
  terraform plan -out plan.bin && terraform show -json plan.bin > plan.json
  headroom import terraform plan.json -o case.yaml
  headroom import terraform plan.json --json | jq .remarks";
