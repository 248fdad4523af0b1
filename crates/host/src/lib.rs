//! What Linux reports about this machine, and the consequences for a run: whether it fits, whether it was disturbed,
//! whether it may load an address.
//!
//! ## Why readers and parsers are separate
//! Everything is text in `/proc` and `/sys`. Each module has pure functions from such a text to a value, tested on
//! recorded texts, and one function that reads. A fact that a kernel or a container does not show is `None`, never an
//! error: a run must not fail because a counter is hidden.
//!
//! Formats: proc(5), the kernel's `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1/`.
#![warn(missing_docs)]

mod address;
mod cgroup;
mod command_line;
mod descriptors;
mod disturbance;
mod examination;
mod facts;
mod guard;
mod identity;
mod layout;
mod limits;
mod memory;
mod modes;
mod network;
mod origin;
pub mod output_file;
mod preflight;
mod pressure;
mod processes;
mod processor;
mod service;
mod sockets;
mod stat;
mod surroundings;
mod tcp_sockets;
mod text;
mod threads;

pub use address::is_public;
pub use cgroup::{Cgroup, MemoryLimit, Quota, Throttling};
pub use command_line::CommandLine;
pub use descriptors::Descriptors;
pub use disturbance::{Disturbance, Sample};
pub use examination::{
    Bystander, Examination, MOST_DESCRIPTORS, MOST_SOCKETS, ProcessReading, Reading, holders,
};
pub use facts::{host_facts, passing_host_facts};
pub use guard::{Guard, Peak, Refused, WrongEntry};
pub use identity::{NoProcess, ProcessIdentity};
pub use layout::{ApplicationServer, Layout};
pub use limits::{LimitedGroup, Limits};
pub use memory::Memory;
pub use modes::{Mode, modes};
pub use network::{ConnectionTable, NetworkCounts};
pub use origin::{Origin, Program, Sources};
pub use preflight::{Finding, Host, Needs, Severity, preflight, preflight_on};
pub use pressure::{Pressure, Stalls};
pub use processes::{BusyProcess, Processes};
pub use processor::{Ticks, governor, own_cpu, thread_cpu, usable_cores};
pub use service::{NoService, Running, Service, Usage, cpu_of_trees, memory_of_trees};
pub use sockets::{PortRange, Sockets, TcpCounts, time_wait_towards};
pub use surroundings::{ENVIRONMENT, looks_secret, surroundings, without_secrets};
pub use tcp_sockets::{Carried, TcpSocket, TcpSockets, TcpState};
pub use threads::{Doing, Thread};
