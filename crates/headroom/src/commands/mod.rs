//! One file for each command: `Args` (what was typed), `run` (what happens).

pub mod config;
