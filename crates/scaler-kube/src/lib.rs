//! Kubernetes as a target of `headroom scale`: the size of any resource with a scale subresource.
//!
//! ```text
//! scaler's loop --> KubernetesTarget --> Api (kube's client) --> API server
//!                     |  scale: read, write with its resource version
//!                     |  autoscalers: is there another one
//!                     |  pods: their processor use, and a hint which end first
//!                     +--Election: the Lease, so that one scaler leads
//! ```
//!
//! Nothing is decided here: sizes are read and written. What is asked of the API server is in [`rights`], and nothing else.
#![warn(missing_docs)]

mod api;
mod lease;
mod pods;
pub mod rights;
mod target;

pub use target::KubernetesTarget;
