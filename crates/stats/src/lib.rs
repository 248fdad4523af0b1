//! The mathematics that decisions need.
//!
//! `no_std`, and every transcendental function comes from `libm`, so that the same inputs give the same digits on
//! every machine.
#![no_std]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

mod rng;

pub use rng::Rng;
