//! The real binary against real sockets, on loopback only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// `headroom gateway --capture` and `headroom replay` of what it wrote.
mod captures_traffic;
/// Certificates for servers of tests: good, expired, of another name, of a client.
mod certificates;
/// `headroom compare` of two runs that the binary itself recorded.
mod compares_runs;
/// `headroom conformance`: what others' autoscalers answer, and files that are wrong.
mod conforms;
/// Tests that measure, on a machine that others use too.
#[path = "../../../../tests/disturbance.rs"]
mod disturbance;
/// The limit that was found in the words of nginx and HAProxy, which take it and keep to it.
mod emits_for_other_proxies;
/// Terminals that are closed, pipes that nobody reads, signals: what ends and how it is recorded.
mod ends_with_its_terminal;
/// `headroom find`: its interval against known limits and against wrk on others' services.
mod finds_the_sustainable_rate;
/// `headroom simulate` beside servers that were measured.
mod foresees_real_servers;
/// Every help text, at 80 columns.
mod helps;
/// `headroom import`: policies of AWS and traffic, as files that headroom reads.
mod imports_what_people_have;
/// Files and flags that are wrong: refused before any load, by line and column, or used as far as they are right.
mod judges_its_input;
/// The command that a result recommends, as a shell runs it.
mod leads_on;
/// `headroom load`: its output, its account and how it ends.
mod loads_a_service;
/// Load on the servers that people run: nginx, gunicorn, Puma, Node, Go, h2o.
mod loads_real_servers;
/// Runs without a good answer: the first line, the exit code, what is recommended.
mod needs_good_answers;
/// nginx with every kind of listener that tests need.
mod nginx;
/// The programs that tests compare headroom with.
#[path = "../../../../tests/peers.rs"]
mod peers;
/// headroom and the servers that tests start.
mod programs;
/// The gateway file of a search in front of a real service.
mod protects_the_service;
/// A JSON Schema checker of the few words that our schemas use.
mod schema;
/// A tiny service of threads and blocking sockets.
mod service;
/// `headroom simulate` and `headroom lint`: rows, forms of output, exit codes.
mod simulates_a_case;
/// Requests that two readers might read differently, through the gateway to nginx, HAProxy, gunicorn and Node.
mod smuggling;
/// Bodies of a gigabyte through the gateway.
mod streams_in_bounded_memory;
/// `kill -9` of an instance behind the gateway.
mod survives_a_kill;
/// Names, ports, certificates and sockets: where a connection goes, and why it fails.
mod tells_why_connections_fail;
/// A gateway that runs: `headroom top`, `headroom explain`, reloads, its log.
mod watches_a_gateway;
/// What leaves a run beside its summary: files, thresholds' exit codes, what is watched, what is sent on.
mod writes_what_was_asked;
