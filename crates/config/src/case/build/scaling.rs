//! Who changes the number of instances.

use super::Builder;
use crate::case::file::ScalingTable;
use crate::check::between;
use crate::scenario::word;
use crate::table::At;
use sim::settings::{Ends, Scaling};
use std::time::Duration;
use units::InstanceCount;

impl Builder<'_> {
    /// The scaling of a service; nothing changes where the file says nothing.
    pub(super) fn scaling(&mut self, found: Option<&At<ScalingTable>>) -> Scaling {
        let usual = Scaling { goal: self.goal, ..Scaling::default() };
        let Some(At { value: table, .. }) = found else { return usual };
        let least = between(&table.min, 0, INSTANCES_MAX, "as many as always run", self.report);
        let most = between(&table.max, 0, INSTANCES_MAX, "as many as may be paid for", self.report);
        if least > most {
            let message = format!("`min` is {least}, above `max`, which is {most}");
            self.report.wrong(&table.min.place, message, "above the maximum", "raise `max`".to_owned());
        }
        let delay = self.span(table.publication_delay.as_ref(), DELAY);
        let ends = [("oldest", Ends::Oldest), ("newest", Ends::Newest)];
        Scaling {
            min: InstanceCount::new(least),
            max: InstanceCount::new(most),
            ends: word(table.ends.as_ref(), &ends, self.report),
            publication_delay: delay,
            capacity: table.capacity.as_ref().map(|at| at.value.0.per_second()),
            ..usual
        }
    }
}

/// CloudWatch's metrics of a minute are there about a minute after its end.
const DELAY: Duration = Duration::from_secs(60);
const INSTANCES_MAX: u32 = 100_000;
