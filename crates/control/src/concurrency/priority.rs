//! Priority classes: which requests are shed first?
//!
//! ## Why shares of one limit
//! Each class is admitted while the requests in flight, of all classes together, are below its share of the limit. So
//! an overload affects the lowest class first and leaves the rest of the limit to higher classes, and no capacity is
//! reserved that nobody uses: while only a low class sends requests it fills its share, and the highest class may use
//! all of the limit.
//!
//! ## Why this is monotone
//! The decision compares one number, and the bounds rise with the class: whenever a class is admitted, every higher
//! class would have been admitted too.
//!
//! The effect is that of the partitioned limiter in Netflix's account of prioritised load shedding, where traffic that
//! users wait for stayed above 99 % while prefetching was shed.

use crate::SettingsError;
use units::Ratio;

/// The maximum number of classes.
pub const MOST_CLASSES: usize = 8;

/// How important a request is: 0 is shed first. A number above the highest class counts as the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(pub u8);

impl Priority {
    /// Shed last.
    pub const HIGHEST: Priority = Priority(u8::MAX);
}

impl core::fmt::Display for Priority {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// The share of a concurrency limit up to which each class is admitted.
///
/// ```
/// use control::concurrency::{Priorities, Priority};
/// use units::Ratio;
///
/// let half = Ratio::new(0.5).unwrap();
/// let priorities = Priorities::new(&[half, Ratio::ONE])?;
/// assert_eq!(priorities.bound(12, Priority(0)), 6);
/// assert_eq!(priorities.bound(12, Priority(1)), 12);
/// # Ok::<(), control::SettingsError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priorities {
    /// In 65,536ths, so that the hot path multiplies and shifts. Entries after the last class are whole.
    shares: [u32; MOST_CLASSES],
}

impl Priorities {
    /// No classes: all requests are admitted up to the limit.
    pub const NONE: Priorities = Priorities { shares: [WHOLE; MOST_CLASSES] };

    /// One share for each class, from [`Priority`] 0 on.
    ///
    /// # Errors
    /// None or too many shares, a share of zero, a share below that of the class before, or a highest class that may
    /// not use all of the limit.
    pub fn new(shares: &[Ratio]) -> Result<Self, SettingsError> {
        if shares.is_empty() || shares.len() > MOST_CLASSES {
            return Err(SettingsError::PriorityCount { found: shares.len(), most: MOST_CLASSES });
        }
        let mut priorities = Priorities::NONE;
        let mut before = Ratio::ZERO;
        for (class, (&share, place)) in shares.iter().zip(&mut priorities.shares).enumerate() {
            let class = Priority(class as u8);
            if share == Ratio::ZERO {
                return Err(SettingsError::PriorityWithoutShare { class });
            }
            if share < before {
                return Err(SettingsError::PriorityBelow { class, share, before });
            }
            before = share;
            *place = libm::ceil(share.get() * f64::from(WHOLE)) as u32;
        }
        if before < Ratio::ONE {
            return Err(SettingsError::PriorityUnused { share: before });
        }
        Ok(priorities)
    }

    /// The bound on requests in flight, of all classes together, below which one more request of this class is
    /// admitted: at least one, at most the limit.
    #[inline]
    pub fn bound(&self, limit: u32, class: Priority) -> u32 {
        let share = self.shares[usize::from(class.0).min(MOST_CLASSES - 1)];
        // Rounded up, so that a small limit excludes no class permanently.
        ((u64::from(limit) * u64::from(share) + u64::from(WHOLE - 1)) >> 16) as u32
    }
}

impl Default for Priorities {
    fn default() -> Self {
        Priorities::NONE
    }
}

const WHOLE: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::string::ToString;
    use std::vec::Vec;

    fn ratio(share: f64) -> Ratio {
        Ratio::new(share).unwrap()
    }

    #[test]
    fn without_classes_all_have_the_limit() {
        for class in [Priority(0), Priority(3), Priority::HIGHEST] {
            assert_eq!(Priorities::NONE.bound(12, class), 12);
        }
    }

    #[test]
    fn a_small_limit_shuts_no_class_out() {
        let priorities = Priorities::new(&[ratio(0.01), Ratio::ONE]).unwrap();
        assert_eq!(priorities.bound(1, Priority(0)), 1);
    }

    #[test]
    fn shares_that_contradict_the_order_are_refused_with_the_way_out() {
        for (shares, part) in [
            (&[][..], "from 1 to 8"),
            (&[Ratio::ONE; 9][..], "9 priority classes"),
            (&[Ratio::ZERO, Ratio::ONE][..], "class 0"),
            (&[ratio(0.5), ratio(0.25), Ratio::ONE][..], "below the 50 %"),
            (&[ratio(0.5), ratio(0.9)][..], "90 %"),
        ] {
            let message = Priorities::new(shares).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    proptest! {
        #[test]
        fn a_higher_class_is_never_shed_where_a_lower_one_is_admitted(
            mut shares in proptest::collection::vec(0.001..1.0_f64, 0..MOST_CLASSES),
            limit in 1_u32..100_000,
            in_flight in 0_u32..100_000,
        ) {
            shares.sort_by(f64::total_cmp);
            let mut shares: Vec<Ratio> = shares.into_iter().map(ratio).collect();
            shares.push(Ratio::ONE);
            let priorities = Priorities::new(&shares).unwrap();
            let admitted = |class| in_flight < priorities.bound(limit, Priority(class));
            for class in 0..=u8::MAX - 1 {
                prop_assert!(!admitted(class) || admitted(class + 1));
            }
            for (class, share) in shares.iter().enumerate() {
                let bound = priorities.bound(limit, Priority(class as u8));
                let exact = share.get() * f64::from(limit);
                prop_assert!((1..=limit).contains(&bound));
                prop_assert!(f64::from(bound) >= exact && f64::from(bound) < exact + 3.0);
            }
            prop_assert_eq!(priorities.bound(limit, Priority::HIGHEST), limit);
        }
    }
}
