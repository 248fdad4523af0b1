//! The peak that a service has to carry, and what is left at it.

use control::search::{headroom, instances_needed};
use units::{InstanceCount, Rate, Ratio};

/// The peak, and what the sustainable rate means for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Requests a second.
    pub rate: Rate,
    /// How many instances the measured service has.
    pub instances: Option<InstanceCount>,
}

impl Peak {
    /// The unused share at the peak; `None` where the peak is more than `low`.
    pub fn headroom(&self, low: Rate) -> Option<Ratio> {
        headroom(self.rate, low)
    }

    /// How many instances the peak needs.
    pub fn needed(&self, low: Rate) -> Option<InstanceCount> {
        instances_needed(self.rate, low, self.instances?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headroom_is_what_the_peak_leaves() {
        let rate = Rate::per_second_of;
        let peak = Peak { rate: rate(72.0), instances: Some(InstanceCount::new(5)) };
        assert_eq!(peak.headroom(rate(100.0)).map(|share| share.to_string()), Some("28 %".to_owned()));
        assert_eq!(peak.headroom(rate(70.0)), None);
        assert_eq!(peak.needed(rate(100.0)), Some(InstanceCount::new(4)));
        assert_eq!(peak.needed(rate(70.0)), Some(InstanceCount::new(6)));
        assert_eq!(Peak { instances: None, ..peak }.needed(rate(100.0)), None);
    }
}
