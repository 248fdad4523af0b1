//! What a sustainable rate means for a fleet.

use units::{InstanceCount, Rate, Ratio};

/// The share of the sustainable rate that is unused at the peak: 1 - peak / low. `None` where the peak is above the
/// sustainable rate (there is no headroom) or the sustainable rate is zero.
pub fn headroom(peak: Rate, low: Rate) -> Option<Ratio> {
    if low == Rate::ZERO { None } else { Ratio::new(1.0 - peak / low) }
}

/// How many instances are needed for `peak`, where `instances` of them sustain `low`: ceil(peak / (low / instances)).
/// At least one; `None` where nothing is sustained or the number overflows.
///
/// Assumes that instances share the load evenly and share no other bottleneck. A shared database, for example, has its
/// own limit.
pub fn instances_needed(peak: Rate, low: Rate, instances: InstanceCount) -> Option<InstanceCount> {
    if low == Rate::ZERO || instances.get() == 0 {
        return None;
    }
    // 300/s over 100/s must be three, even if the division has a rounding error in the last digit.
    let exact = peak / low * f64::from(instances.get());
    let needed = libm::ceil(exact - 1e-9).max(1.0);
    (needed <= f64::from(u32::MAX)).then(|| InstanceCount::new(needed as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: f64) -> Rate {
        Rate::per_second_of(per_second)
    }

    #[test]
    fn headroom_is_what_the_peak_leaves() {
        assert_eq!(headroom(rate(75.0), rate(100.0)), Ratio::new(0.25));
        assert_eq!(headroom(rate(110.0), rate(100.0)), None);
        assert_eq!(headroom(rate(0.0), rate(0.0)), None);
    }

    #[test]
    fn a_part_of_an_instance_is_a_whole_one() {
        let needed = |peak, low, instances| {
            instances_needed(rate(peak), rate(low), InstanceCount::new(instances)).map(InstanceCount::get)
        };
        assert_eq!(needed(300.0, 100.0, 1), Some(3));
        assert_eq!(needed(301.0, 100.0, 1), Some(4));
        assert_eq!(needed(300.0, 400.0, 8), Some(6));
        assert_eq!(needed(0.0, 100.0, 2), Some(1));
        assert_eq!(needed(83_333.0, 124.8, 1), Some(668));
        assert_eq!(needed(1.0, 0.0, 1), None);
    }
}
