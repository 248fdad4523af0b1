//! What was left out or assumed, and problems, each with its place.

use std::fmt;

/// Something in the files that the result does not contain unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Remark {
    /// The file.
    pub file: String,
    /// The path in it: `MetricAlarms[3].Metrics`.
    pub path: String,
    /// The name of the object, if it has one.
    pub name: Option<String>,
    /// The reason.
    pub cause: Cause,
}

/// The effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is not in the result, which may scale differently from the service.
    LeftOut,
    /// The result depends on it.
    Assumed,
    /// It has no effect on scaling here, and is listed for completeness.
    Noted,
}

/// Why the result does not contain something unchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Cause {
    /// An unknown field.
    #[error("this field is not known; what it does is left out")]
    UnknownField,
    /// A target of another service of AWS.
    #[error("`{0}` is no ECS service; left out")]
    OtherTarget(String),
    /// A metric that is not modelled.
    #[error("the metric {namespace} {name} is not modelled; left out, and so is what it triggers")]
    OtherMetric {
        /// Such as `AWS/SQS`.
        namespace: String,
        /// Such as `ApproximateNumberOfMessagesVisible`.
        name: String,
    },
    /// A metric of something other than the service.
    #[error("it looks at {found}, not at {expected}; left out")]
    OtherDimension {
        /// The dimension that was found.
        found: String,
        /// The dimension of the service.
        expected: String,
    },
    /// A unit in which the metric is not published.
    #[error(
        "its unit is {found}, but the metric is published in {expected}, so it would see no data; left out"
    )]
    OtherUnit {
        /// The value found.
        found: String,
        /// The metric's own.
        expected: &'static str,
    },
    /// A statistic that the simulator does not support.
    #[error("the statistic {0} is not modelled; left out")]
    OtherStatistic(String),
    /// An alarm on an expression.
    #[error("metric math is not modelled; left out")]
    MetricMath,
    /// An alarm on a band.
    #[error("anomaly detection is not modelled, its band is not in the files; left out")]
    AnomalyDetection,
    /// A composite alarm.
    #[error("composite alarms are not modelled; left out")]
    Composite,
    /// An unknown kind of policy.
    #[error("policies of type {0} are not known; left out")]
    OtherPolicy(String),
    /// An alarm whose actions are switched off.
    #[error("its actions are switched off (ActionsEnabled is false), so it triggers nothing; left out")]
    ActionsDisabled,
    /// A policy that is switched off.
    #[error("it is switched off (Enabled is false); left out")]
    PolicyDisabled,
    /// A policy that is triggered when an alarm ends or has insufficient data.
    #[error(
        "policy `{policy}` is among its {list}; only alarms in state ALARM trigger policies here; left out"
    )]
    OtherState {
        /// The policy.
        policy: String,
        /// `OKActions` or `InsufficientDataActions`.
        list: &'static str,
    },
    /// An alarm that is not in the files.
    #[error("its alarm `{0}` is not in the files; give them the output of `aws cloudwatch describe-alarms`")]
    AlarmMissing(String),
    /// A policy without an alarm that could be used.
    #[error("no alarm that could be used triggers it; left out")]
    NoAlarm,
    /// A target that is not in the files.
    #[error("`{0}` is not in the files, so its bounds are not known; give them the output of `{1}`")]
    TargetMissing(String, &'static str),
    /// Alarms without policies.
    #[error("{}; left out", others(*.0))]
    OtherAlarms(usize),
    /// An alarm of target tracking differs from the assumption.
    #[error("AWS made this alarm with {found}; the simulator assumes {assumed}")]
    MadeAlarm {
        /// The value found.
        found: String,
        /// The assumption.
        assumed: String,
    },
    /// Target tracking with metrics of 20 s.
    #[error(
        "tracks metrics of 20 s, by the preset `ecs-high-resolution`; that they are published sooner than those of a \
         minute is not in the files: set `publication_delay`"
    )]
    HighResolution,
    /// Target tracking with metrics of another resolution, in seconds.
    #[error("tracks metrics of {0} s; the simulator takes it for metrics of a minute")]
    OtherResolution(u64),
    /// A schedule that cannot be parsed.
    #[error("the schedule `{found}` cannot be read: {problem}; left out")]
    Schedule {
        /// The text found.
        found: String,
        /// The reason.
        problem: String,
    },
    /// A setting of a group that changes how it scales, and is not modelled.
    #[error("{0} is not modelled; what it does is left out")]
    NotModelled(&'static str),
    /// A process of a group that is suspended.
    #[error("the process {0} is suspended, which is not modelled; left out")]
    SuspendedProcess(String),
    /// A value that Terraform does not have or does not show, of a key that users fill in.
    #[error("its value is {0}; fill in the key that the case file marks TODO")]
    ToFillIn(&'static str),
    /// A value that Terraform does not have or does not show.
    #[error("its value is {0}; left out, and so is what needs it")]
    Hidden(&'static str),
    /// An action of an alarm that is not known before apply.
    #[error(
        "its actions are known only after apply, and refer to no policy of the document; it triggers nothing here"
    )]
    UnknownActions,
    /// An alarm that is not in the document.
    #[error("no resource of the document is its alarm `{0}`; it may belong to another state; left out")]
    AlarmElsewhere(String),
    /// A target that is not in the document.
    #[error("no {1} of the document has `{0}`, so its bounds are not known; left out")]
    TargetElsewhere(String, &'static str),
    /// The output was truncated.
    #[error("NextToken says that there is more than the files hold; ask without --max-items")]
    Cut,
    /// Alarms of a service use several load balancers.
    #[error(
        "it looks at load balancer {found}, another alarm of the service at {other}; both are taken for the service's own"
    )]
    SeveralBalancers {
        /// This one's.
        found: String,
        /// The other's.
        other: String,
    },
}

fn others(count: usize) -> String {
    match count {
        1 => "1 other alarm triggers no policy of these services".to_owned(),
        many => format!("{many} other alarms trigger no policy of these services"),
    }
}

impl Cause {
    /// The effect.
    pub fn effect(&self) -> Effect {
        match self {
            Cause::MadeAlarm { .. }
            | Cause::HighResolution
            | Cause::ToFillIn(_)
            | Cause::OtherResolution(_)
            | Cause::SeveralBalancers { .. } => Effect::Assumed,
            Cause::OtherAlarms(_) | Cause::OtherTarget(_) => Effect::Noted,
            _ => Effect::LeftOut,
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if !self.path.is_empty() {
            write!(f, ", {}", self.path)?;
        }
        if let Some(name) = &self.name {
            write!(f, " (`{name}`)")?;
        }
        write!(f, ": {}", self.cause)
    }
}

/// Why the files cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AwsError {
    /// Not JSON.
    #[error(
        "{file}, line {line}, column {column}: {problem}; expected what the AWS CLI prints with --output json"
    )]
    Json {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The problem.
        problem: String,
    },
    /// An empty file.
    #[error("{file}: is empty; did the command fail?")]
    Empty {
        /// The file.
        file: String,
    },
    /// JSON of another kind.
    #[error(
        "{file}: found {found}, expected the output of describe-scalable-targets, describe-scaling-policies, describe-scheduled-actions, describe-alarms, describe-auto-scaling-groups or describe-policies; `headroom import aws --print-commands` lists them"
    )]
    NotAnAnswer {
        /// The file.
        file: String,
        /// Its contents.
        found: String,
    },
    /// JSON of another kind, where a document of Terraform is expected.
    #[error(
        "{file}: found {found}, expected the output of `terraform show -json`, of a state or of a plan file (`terraform show -json PLANFILE`)"
    )]
    NotTerraform {
        /// The file.
        file: String,
        /// Its contents.
        found: String,
    },
    /// A version of the format whose meaning is not known.
    #[error(
        "{file}, format_version: found {found}, expected 1.x; write the document with Terraform or OpenTofu 1.x: `terraform show -json`"
    )]
    FormatVersion {
        /// The file.
        file: String,
        /// The version found.
        found: String,
    },
    /// No resource that scales is left.
    #[error(
        "{file}: no service to scale is left{}; the document needs an aws_appautoscaling_target of an ECS service or an aws_autoscaling_group",
        because(remarks)
    )]
    NoResource {
        /// The file.
        file: String,
        /// The remarks about what was left out.
        remarks: Vec<String>,
    },
    /// A document of Terraform, which another command reads.
    #[error("{file}: is a document of Terraform; read it with `headroom import terraform {file}`")]
    Terraform {
        /// The file.
        file: String,
    },
    /// Traffic, which another command reads.
    #[error("{file}: holds a metric's values; read it with `headroom import traffic {file}`")]
    Traffic {
        /// The file.
        file: String,
    },
    /// Scaling activities, which another command reads.
    #[error(
        "{file}: holds scaling activities; compare a simulation with them: `headroom simulate CASE.yaml --activities {file}`"
    )]
    Activities {
        /// The file.
        file: String,
    },
    /// JSON of another kind, where scaling activities are expected.
    #[error(
        "{file}: found {found}, expected the output of `aws autoscaling describe-scaling-activities` or `aws application-autoscaling describe-scaling-activities`"
    )]
    NotActivities {
        /// The file.
        file: String,
        /// Its contents.
        found: String,
    },
    /// No activity of a group or a service.
    #[error(
        "{file}: holds no activity of an Auto Scaling group or an ECS service{}; AWS keeps activities for six weeks",
        only(others)
    )]
    NoActivity {
        /// The file.
        file: String,
        /// The resources that it has activities of.
        others: Vec<String>,
    },
    /// A missing field.
    #[error("{file}, {path}: no `{field}`, expected {expected}; is the file whole?")]
    Absent {
        /// The file.
        file: String,
        /// The place.
        path: String,
        /// The field.
        field: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// A field of another type or out of its bounds.
    #[error("{file}, {path}: found {found}, expected {expected}")]
    Field {
        /// The file.
        file: String,
        /// The place.
        path: String,
        /// The value found.
        found: String,
        /// The expected value.
        expected: String,
    },
    /// Two objects with the same name and different values.
    #[error(
        "{file}, {path}: `{name}` is there again, and not the same as in {first}; give one state of the account"
    )]
    Contradiction {
        /// The file.
        file: String,
        /// The place.
        path: String,
        /// The name.
        name: String,
        /// The place of the other one.
        first: String,
    },
    /// Everything was left out, or there was nothing.
    #[error(
        "no service to scale is left{}; give the output of describe-scalable-targets or describe-auto-scaling-groups",
        because(remarks)
    )]
    NoService {
        /// The remarks about what was left out.
        remarks: Vec<String>,
    },
}

fn only(others: &[String]) -> String {
    if others.is_empty() { String::new() } else { format!(", only of {}", others.join(", ")) }
}

fn because(remarks: &[String]) -> String {
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}

impl AwsError {
    pub(super) fn broken(file: &str, error: &serde_json::Error) -> AwsError {
        let message = error.to_string();
        let what = message.rfind(" at line ").map_or(message.as_str(), |end| &message[..end]);
        let problem = capture::plain(what);
        AwsError::Json { file: file.to_owned(), line: error.line(), column: error.column(), problem }
    }
}
