//! `headroom import aws`: a case file of services that AWS scales, from the AWS CLI's JSON.

use super::{finish, now, read, refuse};
use crate::exit::Exit;
use crate::output::print;
use ::import::aws::{self, Wanted};
use std::path::PathBuf;

/// Import AWS scaling policies, alarms and schedules from the JSON of the AWS CLI
///
/// FILEs are outputs of describe-scalable-targets, describe-scaling-policies, describe-scheduled-actions
/// (application-autoscaling), describe-alarms (cloudwatch), describe-auto-scaling-groups and describe-policies
/// (autoscaling), in any order. The result is a case file; values that the files do not contain are marked TODO.
/// Everything that cannot be simulated (metric math, composite alarms, other namespaces ...) is reported with its file
/// and place, and left out.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files; - for standard input
    #[arg(required_unless_present = "print_commands", conflicts_with = "print_commands")]
    files: Vec<PathBuf>,

    /// Write the case file to this file, and a summary to standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// Print everything that was read as JSON
    #[arg(long)]
    json: bool,

    /// Print the read-only AWS CLI commands that create the files, and exit
    #[arg(long)]
    print_commands: bool,

    /// With --print-commands: only this ECS service
    #[arg(long, value_name = "CLUSTER/SERVICE", requires = "print_commands", value_parser = service)]
    service: Option<String>,

    /// With --print-commands: only this Auto Scaling group
    #[arg(long, value_name = "NAME", requires = "print_commands")]
    asg: Option<String>,

    /// With --print-commands: load balancer whose requests are the traffic; its ARN, or the app/... part of it
    #[arg(long, value_name = "NAME", requires = "print_commands")]
    load_balancer: Option<String>,

    /// With --print-commands: number of days of traffic
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=455))]
    days: u32,
}

fn service(text: &str) -> Result<String, String> {
    match text.split_once('/') {
        Some((cluster, service)) if !cluster.is_empty() && !service.is_empty() && !service.contains('/') => {
            Ok(text.to_owned())
        }
        _ => Err("expected the cluster and the service, such as shop/accounts".to_owned()),
    }
}

/// Reads, says what was left out, and prints or writes the rest.
pub fn run(args: &Args) -> Exit {
    let now = now();
    if args.print_commands {
        return print(&commands(args, now));
    }
    let texts = match read(&args.files) {
        Ok(texts) => texts,
        Err(errors) => return refuse(&errors),
    };
    let fleet = match aws::read(texts.iter().map(|(name, text)| (name.as_str(), text.as_str()))) {
        Ok(fleet) => fleet,
        Err(errors) => return refuse(&errors),
    };
    let draft = config::case::write::aws(&fleet, now);
    finish(&fleet, &draft, now, args.json, args.output.as_deref())
}

fn commands(args: &Args, now: i64) -> String {
    let wanted = Wanted {
        service: args.service.clone(),
        group: args.asg.clone(),
        load_balancer: args.load_balancer.clone(),
        days: args.days,
    };
    let all = aws::commands(&wanted, now);
    let mut text =
        "# They only read. Set AWS_PROFILE and AWS_REGION as you do for other commands.\n".to_owned();
    for command in &all {
        text += &format!("# {}\n{} > {}\n", command.what, command.line, command.file);
    }
    let settings = all.iter().map(|command| command.file).filter(|file| !OTHERS.contains(file));
    let settings = settings.collect::<Vec<_>>().join(" ");
    text += &format!("# next: headroom import aws {settings} -o case.yaml\n");
    if args.load_balancer.is_some() {
        text += "#       headroom import traffic requests.json -o traffic.csv\n";
    }
    for command in all.iter().filter(|command| command.file.ends_with(ACTIVITIES)) {
        text += &format!("#       headroom simulate case.yaml --activities {}\n", command.file);
    }
    text
}

/// The end of the names of files that a simulation is compared with.
const ACTIVITIES: &str = "activities.json";
/// Files of commands that other commands read, or people.
const OTHERS: [&str; 4] =
    ["requests.json", "load-balancers.json", "activities.json", "group-activities.json"];

const EXAMPLES: &str = "\
Examples:
  headroom import aws --print-commands --service shop/accounts \\
      --load-balancer app/shop/50dc6c495c0c9188
  headroom import aws targets.json policies.json alarms.json
  headroom import aws targets.json policies.json scheduled.json alarms.json \\
      -o case.yaml
  headroom import aws *.json --json | jq .remarks";
