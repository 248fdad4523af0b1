//! What `headroom import` read: its summaries, and what it read of AWS as JSON.

pub mod aws;
pub mod traffic;
