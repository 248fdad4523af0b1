//! The commands whose output is read here: read-only, one file each.

use jiff::Timestamp;

/// A command line and the file that its output goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What it returns.
    pub what: &'static str,
    /// The command line, quoted for a shell.
    pub line: String,
    /// The file for its output.
    pub file: &'static str,
}

/// The services whose files are needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// An ECS service: `cluster/service`.
    pub service: Option<String>,
    /// An Auto Scaling group.
    pub group: Option<String>,
    /// A load balancer: its ARN, or the `app/...` part of it.
    pub load_balancer: Option<String>,
    /// Number of days of traffic, up to now.
    pub days: u32,
}

/// The commands. `now` is in microseconds since 1970.
pub fn commands(wanted: &Wanted, now: i64) -> Vec<Command> {
    let mut all = Vec::new();
    let mut add = |what, words: String, file| {
        all.push(Command { what, line: format!("aws {words} --output json"), file });
    };
    let ecs = wanted.service.is_some() || wanted.group.is_none();
    if ecs {
        let resource = wanted.service.as_ref().map(|service| quoted(&format!("service/{service}")));
        let ids = resource.as_ref().map_or_else(String::new, |id| format!(" --resource-ids {id}"));
        let id = resource.as_ref().map_or_else(String::new, |id| format!(" --resource-id {id}"));
        let of = "--service-namespace ecs";
        add(
            "the bounds of ECS services",
            format!("application-autoscaling describe-scalable-targets {of}{ids}"),
            "targets.json",
        );
        add(
            "their policies",
            format!("application-autoscaling describe-scaling-policies {of}{id}"),
            "policies.json",
        );
        add(
            "their scheduled actions",
            format!("application-autoscaling describe-scheduled-actions {of}{id}"),
            "scheduled.json",
        );
        if let Some(id) = &resource {
            add(
                "what scaling did, to compare a simulation with it",
                format!(
                    "application-autoscaling describe-scaling-activities {of} --resource-id {id} {NOT_SCALED}"
                ),
                "activities.json",
            );
        }
    }
    if wanted.group.is_some() || wanted.service.is_none() {
        let name = wanted.group.as_ref().map(|name| quoted(name));
        let names =
            name.as_ref().map_or_else(String::new, |name| format!(" --auto-scaling-group-names {name}"));
        let name =
            name.as_ref().map_or_else(String::new, |name| format!(" --auto-scaling-group-name {name}"));
        add(
            "the bounds of Auto Scaling groups",
            format!("autoscaling describe-auto-scaling-groups{names}"),
            "groups.json",
        );
        add("their policies", format!("autoscaling describe-policies{name}"), "group-policies.json");
        add(
            "their scheduled actions",
            format!("autoscaling describe-scheduled-actions{name}"),
            "group-scheduled.json",
        );
        if wanted.group.is_some() {
            let line = format!("autoscaling describe-scaling-activities{name}");
            add("what scaling did, to compare a simulation with it", line, "group-activities.json");
        }
    }
    add(
        "the alarms that trigger policies",
        "cloudwatch describe-alarms --alarm-types MetricAlarm CompositeAlarm".to_owned(),
        "alarms.json",
    );
    match &wanted.load_balancer {
        Some(balancer) => {
            let name = balancer.split_once("loadbalancer/").map_or(balancer.as_str(), |(_, name)| name);
            add("the traffic", traffic(name, wanted.days, now), "requests.json");
        }
        None => add(
            "the load balancers, for --load-balancer",
            "elbv2 describe-load-balancers --query 'LoadBalancers[].LoadBalancerArn'".to_owned(),
            "load-balancers.json",
        ),
    }
    all
}

/// Requests per period, at the finest period that CloudWatch still has.
fn traffic(balancer: &str, days: u32, now: i64) -> String {
    let period = match days {
        0..=15 => 60,
        16..=63 => 300,
        _ => 3_600,
    };
    let end = now.div_euclid(period * SECOND) * period * SECOND;
    let start = end.saturating_sub(i64::from(days) * DAY);
    let query = serde_json::json!([{
        "Id": "requests",
        "MetricStat": {
            "Metric": {
                "Namespace": "AWS/ApplicationELB",
                "MetricName": "RequestCount",
                "Dimensions": [{ "Name": "LoadBalancer", "Value": balancer }],
            },
            "Period": period,
            "Stat": "Sum",
        },
    }]);
    let time =
        |micros| Timestamp::from_microsecond(micros).map_or_else(|_| String::new(), |at| at.to_string());
    format!(
        "cloudwatch get-metric-data --metric-data-queries {} --start-time {} --end-time {}",
        quoted(&query.to_string()),
        time(start),
        time(end)
    )
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/:@=+-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Also the reasons why nothing was scaled.
const NOT_SCALED: &str = "--include-not-scaled-activities";
const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
