//! Decides, never acts.
//!
//! Everything here runs in simulation and live, line for line. So time is an argument, randomness a seeded
//! generator, and a decision a value that carries its reason. The crate is `no_std`: there is no clock, socket or
//! file in reach.
#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod search;
