//! The real binary against real sockets, on loopback only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// `headroom calibrate` of the built-in service, whose limits are known.
mod calibrates_a_service;
/// `headroom calibrate` of several endpoints, and of what the fields of responses show.
mod calibrates_endpoints;
/// `headroom calibrate` of runs of the ledger.
mod calibrates_from_runs;
/// `headroom gateway --capture` and `headroom replay` of the file that it wrote.
mod captures_traffic;
/// Certificates for test servers: valid, expired, for another name, for a client.
mod certificates;
/// `headroom config check` says what the command that takes the file says.
mod checks_files;
/// `headroom experiment`: a slower candidate, an equal one, and what is refused.
mod compares_candidates;
/// `headroom compare` of two runs that the binary itself recorded.
mod compares_runs;
/// `headroom conformance`: published decisions of other autoscalers, and invalid files.
mod conforms;
/// `headroom experiment` with `mirroring`: a gateway with its copies and without them, under live load.
mod costs_of_mirroring;
/// Repeats tests that measure, if other programs disturbed them.
#[path = "../../../../tests/disturbance.rs"]
mod disturbance;
/// The limit of a search as configuration of nginx and HAProxy, which accept it and keep to it.
mod emits_for_other_proxies;
/// Closed terminals, closed pipes, signals: what ends, and how it is recorded.
mod ends_with_its_terminal;
/// `headroom doctor`: faults that the tests make, and a healthy service.
mod examines_a_service;
/// `headroom find`: its interval compared with known limits and with wrk.
mod finds_the_sustainable_rate;
/// `headroom forecast`: files with and without times, a case file, and histories that are refused.
mod forecasts_traffic;
/// `headroom simulate` against measured servers.
mod foresees_real_servers;
/// Every help text, at 80 columns.
mod helps;
/// `headroom import`: policies of AWS and traffic.
mod imports_what_people_have;
/// Invalid files and flags: refused before any load, with line and column, or used as far as they are valid.
mod judges_its_input;
/// `headroom note`, `log`, `ledger` and the selection of `runs`.
mod keeps_a_ledger;
/// The command that a result recommends, as a shell runs it.
mod leads_on;
/// `headroom load`: its output, its accounting and how it ends.
mod loads_a_service;
/// Load on widely used servers: nginx, gunicorn, Puma, Node, Go, h2o.
mod loads_real_servers;
/// Runs without a good response: the first line, the exit code, the next command.
mod needs_good_answers;
/// nginx with each kind of listener that tests need.
mod nginx;
/// The programs that tests compare headroom with.
#[path = "../../../../tests/peers.rs"]
mod peers;
/// `headroom plan`: from a case, from runs, and from tables.
mod plans_capacity;
/// Starts headroom and the servers of tests.
mod programs;
/// The gateway file of a search, used in front of a real service.
mod protects_the_service;
/// `headroom scale`: processes behind a gateway, out and in, kills, standbys, replays.
mod scales_processes;
/// A JSON Schema validator for the keywords that our schemas use.
mod schema;
/// `headroom simulate --activities`: a score beside what scaling really did.
mod scores_copies;
mod scores_real_scaling;
/// `headroom scale` whose wanted size others read: gauges, status, switches, and KEDA's protocol from Python.
mod serves_the_wanted_size;
/// A small service with threads and blocking sockets.
mod service;
/// `headroom simulate` and `headroom lint`: rows, output formats, exit codes.
mod simulates_a_case;
/// Requests that two parsers may read differently, through the gateway to nginx, HAProxy, gunicorn and Node.
mod smuggling;
/// `headroom squeeze`: `kill -9` in its middle, and a second one beside it.
mod squeezes;
/// Bodies of a gigabyte through the gateway.
mod streams_in_bounded_memory;
/// `kill -9` of an instance behind the gateway.
mod survives_a_kill;
/// Names, ports, certificates and sockets: where connections go, and why they fail.
mod tells_why_connections_fail;
/// `headroom tune`: a small case, as JSON, as text and as a case file; and cases that are refused.
mod tunes_a_case;
/// A running gateway: `headroom top`, `headroom explain`, reloads, its log.
mod watches_a_gateway;
/// What leaves a run beside its summary: files, thresholds' exit codes, what is watched, what is sent on.
mod writes_what_was_asked;
