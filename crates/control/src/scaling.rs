//! Scaling: how many instances there should be, as others' autoscalers decide it.
//!
//! Time, metrics and facts are arguments; a decision is a value with its reason in the vendor's own words.

pub mod hpa;
pub mod knative;
