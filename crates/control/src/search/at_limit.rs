//! Which parts of a search show what limits the service.
//!
//! ## Why not all of them
//! Most of a search sends less than the service carries, and then nothing limits it. It is at its limit in trials that miss the goal, and
//! in the steps of the closed loop from the best throughput on, where more connections bring nothing: those last longer than bad trials,
//! which end as soon as they are judged.

/// A part of a search that put load on the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loaded {
    /// A step of the closed loop.
    Step {
        /// Its connections.
        connections: u32,
    },
    /// A trial at a fixed rate.
    Trial {
        /// Whether it missed the goal.
        missed: bool,
    },
}

impl Loaded {
    /// Whether the service was at its limit in this part. `best_at` is the number of connections with the best throughput; `None` if the
    /// closed loop has not found it.
    pub fn is_at_limit(self, best_at: Option<u32>) -> bool {
        match self {
            Loaded::Step { connections } => best_at.is_some_and(|best| connections >= best),
            Loaded::Trial { missed } => missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calm_parts_show_no_limit() {
        for (part, best_at, expected) in [
            (Loaded::Step { connections: 5 }, Some(10), false),
            (Loaded::Step { connections: 10 }, Some(10), true),
            (Loaded::Step { connections: 20 }, Some(10), true),
            // Interrupted before the best was known.
            (Loaded::Step { connections: 20 }, None, false),
            (Loaded::Trial { missed: true }, Some(10), true),
            (Loaded::Trial { missed: false }, Some(10), false),
        ] {
            assert_eq!(part.is_at_limit(best_at), expected, "{part:?}");
        }
    }
}
