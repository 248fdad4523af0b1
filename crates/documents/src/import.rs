//! What `headroom import` read.

pub mod aws;
