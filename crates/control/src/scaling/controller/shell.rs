//! The shell around a controller: which spans end now, what they add up to, and when a decision is due.
//!
//! ## Why one piece
//! A policy that was simulated is the policy that runs only if both see the same spans: the simulator and the live
//! scaler read windows of the same length, fold them here, and ask here for the decision. What they differ in is where
//! a window and the list of instances come from ([`Part`], [`Instances`]).
//!
//! ## The order at an instant
//! [`Shell::add`] and [`Shell::read_fine`] at each step; [`Shell::read_minute`] where [`Shell::ends_minute`]; then
//! [`Shell::decide`].

use super::{Controller, Fleet, MINUTE, Observation, Requests, Rhythm, Verdict, common_step};
use core::time::Duration;
use units::Timestamp;

/// The requests of a window of time, which add up to those of longer windows.
pub trait Part: Default {
    /// Adds the counts of a part of this window, with its share of the window.
    fn add(&mut self, part: &Self, share: f64);

    /// Resets all counts, and keeps the memory.
    fn clear(&mut self);

    /// The counts as a controller reads them.
    fn requests(&self) -> Requests<'_>;
}

/// A span that a controller reads, by its place in the [`Rhythm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// [`Rhythm::reads`], where that is less than a minute.
    Fine,
    /// A minute.
    Minute,
    /// [`Rhythm::coarse`].
    Coarse,
}

/// The instances of a service, each with one meter for each span.
pub trait Instances {
    /// All instances, with their use since this span's meters were reset.
    fn fleet(&mut self, span: Span) -> Fleet<'_>;

    /// Resets the meters of a span.
    fn reset(&mut self, span: Span);
}

/// A controller with the windows that are not over yet.
#[derive(Debug)]
pub struct Shell<W> {
    controller: Controller,
    rhythm: Rhythm,
    fine: W,
    minute: W,
}

impl<W: Part> Shell<W> {
    /// A shell at time zero.
    pub fn new(controller: Controller) -> Self {
        Shell { rhythm: controller.rhythm(), controller, fine: W::default(), minute: W::default() }
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// See [`Controller::was_limited`].
    pub fn was_limited(&mut self, from: u32, to: u32) {
        self.controller.was_limited(from, to);
    }

    /// The longest interval at which windows may be read.
    pub fn step(&self) -> Duration {
        common_step(self.rhythm.reads, self.rhythm.decides)
    }

    /// Whether a minute ends.
    pub fn ends_minute(now: Timestamp) -> bool {
        is_due(now, MINUTE)
    }

    /// Adds the window of the last step, which may be swapped for another one.
    pub fn add(&mut self, window: &mut W, passed: Duration) {
        let share = |of: Duration| passed.as_secs_f64() / of.as_secs_f64();
        if self.rhythm.reads < MINUTE {
            self.fine.add(window, share(self.rhythm.reads));
        }
        if passed == MINUTE {
            core::mem::swap(&mut self.minute, window);
        } else {
            self.minute.add(window, share(MINUTE));
        }
    }

    /// Passes the shortest span to the controller, if it is shorter than a minute and over.
    pub fn read_fine(&mut self, now: Timestamp, instances: &mut impl Instances) {
        if self.rhythm.reads >= MINUTE || !is_due(now, self.rhythm.reads) {
            return;
        }
        self.controller.read(&Observation {
            now,
            span: self.rhythm.reads,
            fleet: instances.fleet(Span::Fine),
            requests: Some(self.fine.requests()),
        });
        self.fine.clear();
        instances.reset(Span::Fine);
    }

    /// The minute so far.
    pub fn minute(&self) -> &W {
        &self.minute
    }

    /// Passes the minute that is over, and a longer span that ends with it.
    pub fn read_minute(&mut self, now: Timestamp, instances: &mut impl Instances) {
        self.controller.read(&Observation {
            now,
            span: MINUTE,
            fleet: instances.fleet(Span::Minute),
            requests: Some(self.minute.requests()),
        });
        let coarse = is_due(now, self.rhythm.coarse);
        if coarse && self.rhythm.coarse > MINUTE {
            self.controller.read(&Observation {
                now,
                span: self.rhythm.coarse,
                fleet: instances.fleet(Span::Coarse),
                requests: None,
            });
        }
        instances.reset(Span::Minute);
        if coarse {
            instances.reset(Span::Coarse);
        }
        self.minute.clear();
    }

    /// The desired number as it is, and the decision, if one is due.
    pub fn decide(&mut self, now: Timestamp, instances: &mut impl Instances) -> Option<(u32, Verdict)> {
        if !is_due(now, self.rhythm.decides) {
            return None;
        }
        let fleet = instances.fleet(Span::Fine);
        Some((fleet.desired, self.controller.decide(now, &fleet)))
    }
}

/// Whether a multiple of a span ends now.
pub fn is_due(now: Timestamp, each: Duration) -> bool {
    now.as_nanos().is_multiple_of(each.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::controller::Policy;
    use stats::Sketch;
    use units::InstanceCount;

    #[derive(Debug, Default)]
    struct Counted {
        arrived: u64,
        in_flight: f64,
        times: Sketch,
    }

    impl Part for Counted {
        fn add(&mut self, part: &Self, share: f64) {
            self.arrived += part.arrived;
            self.in_flight += part.in_flight * share;
            self.times.add(&part.times);
        }
        fn clear(&mut self) {
            *self = Counted::default();
        }
        fn requests(&self) -> Requests<'_> {
            let Counted { arrived, in_flight, ref times } = *self;
            Requests { arrived, ended: arrived, in_flight, worked: 0.0, times }
        }
    }

    /// Notes which meters were reset.
    #[derive(Debug, Default)]
    struct Meters(std::vec::Vec<Span>);

    impl Instances for Meters {
        fn fleet(&mut self, _: Span) -> Fleet<'_> {
            Fleet { desired: 1, deploying: false, instances: &[] }
        }
        fn reset(&mut self, span: Span) {
            self.0.push(span);
        }
    }

    #[test]
    fn steps_add_up_to_a_minute() {
        let mut shell: Shell<Counted> = Shell::new(Controller::new(&Policy::None, InstanceCount::new(1)));
        shell.rhythm.reads = Duration::from_secs(20);
        let mut meters = Meters::default();
        for second in (10..=60).step_by(10) {
            let now = Timestamp::from_millis(second * 1_000);
            let mut window = Counted { arrived: 2, in_flight: 3.0, times: Sketch::new() };
            window.times.record(0.1);
            shell.add(&mut window, Duration::from_secs(10));
            assert_eq!(shell.fine.arrived, if second % 20 == 0 { 4 } else { 2 });
            shell.read_fine(now, &mut meters);
            assert_eq!(shell.decide(now, &mut meters).is_some(), second == 60);
        }
        assert_eq!((shell.minute().arrived, shell.minute().times.count()), (12, 6));
        assert!((shell.minute().in_flight - 3.0).abs() < 1e-9, "a mean, not a sum");
        shell.read_minute(Timestamp::from_millis(60_000), &mut meters);
        assert_eq!(meters.0, [Span::Fine, Span::Fine, Span::Fine, Span::Minute, Span::Coarse]);
        assert_eq!(shell.minute().arrived, 0);
    }
}
