//! AWS as a target of `headroom scale`: the desired count of a service of ECS, or the desired capacity of an Auto Scaling
//! group of EC2.
//!
//! ```text
//! scaler's loop --> AwsTarget --> ecs, groups: size and instances, read and set
//!                     |           others: policies and schedules of AWS that set the same size
//!                     |           metrics: processor use from CloudWatch, where a policy needs it
//!                     +---------> client: one call at a time, with a bound on its time --> the SDK of AWS
//! ```
//!
//! Nothing is decided here: sizes are read and written. What AWS is asked for is in [`rights`], and nothing else.
//!
//! ## Zero loss
//! AWS deregisters a task or an instance from its load balancer before it stops it, and waits for the deregistration delay.
#![warn(missing_docs)]

mod client;
mod ecs;
mod groups;
mod metrics;
pub mod rights;
mod target;

pub use target::AwsTarget;
