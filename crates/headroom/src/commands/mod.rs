//! One file for each command: `Args` (what was typed), `run` (what happens).

pub mod agent;
pub mod bisect;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod config;
pub mod conformance;
mod counters;
pub mod demo;
pub mod doctor;
pub mod experiment;
pub mod explain;
pub mod fidelity;
pub mod find;
pub mod forecast;
pub mod gateway;
pub mod import;
pub mod ledger;
pub mod lint;
pub mod load;
pub mod log;
pub mod man;
pub mod note;
pub mod plan;
pub mod replay;
pub mod runs;
pub mod sample_service;
pub mod scale;
/// The checker of our JSON schemas, which the integration tests have too.
#[cfg(test)]
#[path = "../../tests/it/schema.rs"]
mod schema;
pub mod show;
pub mod simulate;
pub mod squeeze;
pub mod top;
pub mod tune;
