//! The alarms and cooldowns that target tracking creates, by service.
//!
//! The vendor publishes that two alarms are created, but not their numbers. These were read from alarms that AWS
//! created; each is a default that settings can override.

use core::time::Duration;

/// The alarms and cooldowns of target tracking for one kind of service.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// Its name in settings.
    pub name: &'static str,
    /// The alarm above the target.
    pub high: Periods,
    /// The alarm below it.
    pub low: Periods,
    /// The threshold of that alarm.
    pub low_threshold: LowThreshold,
    /// The default cooldown after scaling out; no effect on EC2.
    pub scale_out_cooldown: Duration,
    /// The default cooldown after scaling in; no effect on EC2.
    pub scale_in_cooldown: Duration,
    /// The source of the numbers.
    pub source: &'static str,
}

/// How long a metric has to breach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// Length of a period.
    pub period: Duration,
    /// The number of evaluation periods.
    pub evaluation_periods: u32,
    /// How many datapoints have to breach.
    pub datapoints_to_alarm: u32,
}

/// The threshold of the alarm for scaling in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LowThreshold {
    /// This share of the target.
    Share(f64),
    /// This much below the target, in the unit of the metric.
    Below(f64),
}

impl LowThreshold {
    /// The threshold for a target.
    pub fn of(self, target: f64) -> f64 {
        let exact = match self {
            LowThreshold::Share(share) => share * target,
            LowThreshold::Below(points) => target - points,
        };
        // As consoles show it: 0.7 of 70 is 49, not 48.99999999999999.
        libm::round(exact * 1e9) / 1e9
    }
}

impl Periods {
    /// This many periods, all of which have to breach.
    pub const fn all(periods: u32, seconds: u64) -> Self {
        let period = Duration::from_secs(seconds);
        Periods { period, evaluation_periods: periods, datapoints_to_alarm: periods }
    }
}

impl Preset {
    /// An ECS service.
    pub const ECS: Preset = Preset {
        name: "ecs",
        high: Periods::all(3, 60),
        low: Periods::all(15, 60),
        low_threshold: LowThreshold::Share(0.9),
        scale_out_cooldown: Duration::from_secs(300),
        scale_in_cooldown: Duration::from_secs(300),
        source: "aws/containers-roadmap issue 1208, aws/copilot-cli issue 4233",
    };

    /// An ECS service tracked by metrics of 20 s.
    pub const ECS_HIGH_RESOLUTION: Preset = Preset {
        name: "ecs-high-resolution",
        high: Periods::all(3, 20),
        low: Periods::all(45, 20),
        source: "the periods of `ecs` in metrics of 20 s; AWS publishes a trigger after 86 s instead of 363 s",
        ..Preset::ECS
    };

    /// An ECS capacity provider.
    pub const ECS_CAPACITY_PROVIDER: Preset = Preset {
        name: "ecs-capacity-provider",
        high: Periods::all(1, 60),
        source: "aws/containers-roadmap issue 638",
        ..Preset::ECS
    };

    /// Any other target of Application Auto Scaling whose cooldowns are 0 by default.
    pub const APPLICATION: Preset = Preset {
        name: "application",
        scale_out_cooldown: Duration::ZERO,
        scale_in_cooldown: Duration::ZERO,
        source: "as `ecs`; cooldowns of the API reference",
        ..Preset::ECS
    };

    /// A DynamoDB table or index.
    pub const DYNAMODB: Preset = Preset {
        name: "dynamodb",
        high: Periods::all(2, 60),
        low_threshold: LowThreshold::Below(20.0),
        source: "alarms of tables as moto records them",
        ..Preset::APPLICATION
    };

    /// A group of EC2 Auto Scaling.
    pub const EC2: Preset = Preset {
        name: "ec2-asg",
        low_threshold: LowThreshold::Share(0.7),
        source: "alarms of four groups in public repositories: 75 to 52.5, 50 to 35, 40 to 28, 30 to 21",
        ..Preset::ECS
    };

    /// A custom metric, from observed alarms.
    pub const CUSTOM: Preset = Preset {
        name: "custom",
        low: Periods::all(3, 60),
        source: "hashicorp/terraform-provider-aws issue 42553",
        ..Preset::ECS
    };

    /// The response time of a load balancer's targets, from observed alarms.
    pub const RESPONSE_TIME: Preset = Preset {
        name: "response-time",
        low: Periods { datapoints_to_alarm: 9, ..Periods::all(15, 60) },
        source: "cloudformation-coverage-roadmap issue 2353",
        ..Preset::ECS
    };
}

/// All known presets.
pub const PRESETS: [Preset; 8] = [
    Preset::ECS,
    Preset::ECS_HIGH_RESOLUTION,
    Preset::ECS_CAPACITY_PROVIDER,
    Preset::APPLICATION,
    Preset::DYNAMODB,
    Preset::EC2,
    Preset::CUSTOM,
    Preset::RESPONSE_TIME,
];
