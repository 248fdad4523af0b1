//! Behaviour that Kubernetes does not publish, and the assumptions made here.

use crate::assumption::Assumption;

/// Every unpublished behaviour that decisions of this module depend on.
pub const ASSUMPTIONS: &[Assumption] = &[
    Assumption {
        name: "hpa_rule_versions",
        text: "the minor versions from which a rule holds (both windows and a failed metric blocking scale-down \
               1.21, rates of both directions 1.25, missing pods at a target above 100 % 1.26, averages exactly at \
               target 1.28) are taken from the dates of the pull requests: release notes do not name them",
    },
    Assumption {
        name: "hpa_sync_is_punctual",
        text: "an autoscaler is looked at exactly once in each sync period; the real controller works through a \
               queue and may be late where it has many",
    },
    Assumption {
        name: "hpa_metrics_at_once",
        text: "the metrics of a sync period are seen at its end; a metrics server shows them later",
    },
    Assumption { name: "hpa_scale_is_applied", text: "a new size is written at once and never refused" },
    Assumption {
        name: "hpa_gated_tolerance",
        text: "a tolerance in `behavior` counts from 1.33 on: a cluster whose feature gate is off does not keep the \
               field",
    },
];
