//! Behaviour that KEDA does not publish, and the assumptions made here.

use crate::assumption::Assumption;

/// Every unpublished behaviour that decisions of this module depend on.
pub const ASSUMPTIONS: &[Assumption] = &[
    Assumption {
        name: "keda_failures_are_counted_together",
        text: "a failed reading counts at once, in polls and in syncs of the autoscaler; concurrent updates of the \
               real status can lose one",
    },
    Assumption {
        name: "keda_is_punctual",
        text: "triggers are polled exactly once in each polling interval, and answer at once",
    },
];
