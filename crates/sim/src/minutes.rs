//! Minute by minute: a plant that looks up what a minute was like under the same load, thousands of times faster.
//!
//! ## How
//! The truth is asked once: fleets of a fixed size under a ladder of loads, request by request ([`Curves::record`]).
//! What is kept of each rung is not a curve of means but its minutes, one after the other: an alarm that looks at the
//! p99 of a minute fires on the noise of minutes and on the third party's bad quarter of an hour, and both are in them.
//! A simulated minute takes the minute of the same number from the two rungs beside its load, and lies between them.
//! All rungs draw from the same streams, so a bad minute of one is a bad minute of the other.
//!
//! What one minute does to the next is followed apart: queues that the load alone does not explain, instance by instance
//! (`crowd`).
//!
//! ## What it cannot know
//! - A fleet of another size than the recorded one is taken to behave like it at the same load for each instance.
//! - Connections and other memory of the recorded servers are those after some minutes of a higher load, whatever the
//!   simulated ones met before.
//! - Below the knee a boot, a stop or a burst within a minute is spread over what is left of it.
//!
//! So whoever searches with it confirms what was found request by request.

mod crowd;
mod curves;
mod lookup;
mod plant;
mod service;
mod shape;

pub use curves::{Curves, Ladder, work};
pub use plant::Minutes;

#[cfg(test)]
mod tests;
