//! Counts of connections: a client that opens one for each request pays for it with time, and so do both machines.

use super::Times;
use super::page::Page;
use std::time::Duration;

/// One worker's counts of opened and closed connections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections {
    /// Client connections by how many requests they carried.
    by_requests: [u64; RANGES.len()],
    /// Closed to accept another client: without a byte sent, and while they waited for a request.
    given_up: [u64; 2],
    /// Refused because their address was at its bound.
    over_client_bound: u64,
    first_byte: Times,
    connect: Times,
}

impl Connections {
    /// A client's connection ended after `requests` requests.
    pub(crate) fn ended(&mut self, requests: u32) {
        let range = match requests {
            0 => 0,
            1 => 1,
            2..=9 => 2,
            10..=99 => 3,
            100.. => 4,
        };
        self.by_requests[range] += 1;
    }

    /// A connection was closed to accept another client; `silent` means that it had sent nothing.
    pub(crate) fn given_up(&mut self, silent: bool) {
        self.given_up[usize::from(!silent)] += 1;
    }

    /// A client was refused, because its address was at its bound of connections.
    pub(crate) fn refused_for_client(&mut self) {
        self.over_client_bound += 1;
    }

    /// From accepting a client's connection to the first byte of its first request.
    pub(crate) fn spoke(&mut self, after: Duration) {
        self.first_byte.record(after);
    }

    /// How long opening a connection to an instance took.
    pub(crate) fn connected(&mut self, after: Duration) {
        self.connect.record(after);
    }

    /// Client connections that ended.
    #[cfg(test)]
    pub(crate) fn all_ended(&self) -> u64 {
        self.by_requests.iter().sum()
    }

    pub(super) fn add(&mut self, other: &Connections) {
        self.by_requests.iter_mut().zip(&other.by_requests).for_each(|(ours, theirs)| *ours += theirs);
        self.given_up.iter_mut().zip(&other.given_up).for_each(|(ours, theirs)| *ours += theirs);
        self.over_client_bound += other.over_client_bound;
        self.first_byte.add(&other.first_byte);
        self.connect.add(&other.connect);
    }

    pub(super) fn write(&self, page: &mut Page) {
        let name = "headroom_client_connections_ended_total";
        page.head(name, "counter", "Closed client connections, by number of requests.");
        for (range, count) in RANGES.iter().zip(&self.by_requests) {
            page.line(name, &[("requests", range)], count);
        }
        let name = "headroom_connections_given_up_total";
        page.head(
            name,
            "counter",
            "Client connections without a request closed to accept new ones at limits.connections.",
        );
        for (state, count) in ["nothing_sent", "waiting"].iter().zip(&self.given_up) {
            page.line(name, &[("state", state)], count);
        }
        let name = "headroom_connections_over_client_bound_total";
        page.head(
            name,
            "counter",
            "Client connections refused because limits.connections_per_client was reached.",
        );
        page.line(name, &[], &self.over_client_bound);
        let name = "headroom_client_first_byte_seconds";
        page.head(
            name,
            "histogram",
            "Time from accepting a client connection to the first byte of a request.",
        );
        page.histogram(name, &[], &self.first_byte);
        let name = "headroom_upstream_connect_seconds";
        page.head(name, "histogram", "Time to open connections to instances.");
        page.histogram(name, &[], &self.connect);
    }
}

const RANGES: [&str; 5] = ["0", "1", "2-9", "10-99", "100+"];
