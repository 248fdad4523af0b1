//! The minute model: a plant that looks up recorded minutes with the same load, thousands of times faster.
//!
//! ## How it works
//! Fleets of a fixed size are recorded once under a ladder of loads, request by request ([`Curves::record`]). A rung
//! keeps its minutes, one after the other, and not a curve of means: an alarm on the p99 of a minute reacts to the
//! noise of minutes and to a third party's incident of a quarter of an hour, and both are in the recorded minutes. A
//! simulated minute takes the minute with the same number from the two rungs next to its load, and interpolates between
//! them. All rungs draw from the same streams, so a bad minute of one is a bad minute of the other.
//!
//! Effects of one minute on the next are simulated separately, instance by instance: queues that the load alone does not
//! explain (`crowd`), and open connections where they belong to processes (`held`).
//!
//! ## What it does not model
//! - A fleet of another size than the recorded one is assumed to behave like it at the same load for each instance.
//! - Below the knee a boot, a stop or a burst within a minute is spread over the rest of it.
//!
//! So a result of a search with this model has to be confirmed request by request.

mod crowd;
mod curves;
mod held;
mod lookup;
mod plant;
mod service;
mod shape;

pub use curves::{Curves, Ladder, can_record, work};
pub use plant::Minutes;

#[cfg(test)]
mod tests;
