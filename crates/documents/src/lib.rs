//! Every result of a command, typed and once, with its words: what `--json`, `show`, summaries, `explain`, `top`, reports and
//! the files for other proxies read. Knows neither sockets nor the command line; prints nothing.
#![warn(missing_docs)]

pub mod calibrate;
pub mod compare;
pub mod conformance;
pub mod demo;
pub mod doctor;
pub mod emit;
pub mod experiment;
pub mod explain;
pub mod fidelity;
pub mod find;
pub mod fleet;
pub mod forecast;
pub mod import;
pub mod lint;
pub mod plan;
pub mod run;
pub mod scale;
pub mod simulate;
pub mod squeeze;
pub mod stored;
pub mod top;
pub mod tune;
pub mod watched;
pub mod words;
