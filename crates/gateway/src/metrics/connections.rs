//! What connections cost: a client that opens one for each call pays for it with time, and so do both machines.

use super::Times;
use super::page::Page;
use std::time::Duration;

/// One worker's counts of connections that have ended or begun.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connections {
    /// Client connections by how many requests they carried.
    by_requests: [u64; RANGES.len()],
    first_byte: Times,
    connect: Times,
}

impl Connections {
    /// A client's connection ended after so many requests.
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

    /// From accepting a client's connection to the first byte of its first request.
    pub(crate) fn spoke(&mut self, after: Duration) {
        self.first_byte.record(after);
    }

    /// A connection to an instance took so long to open.
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
        self.first_byte.add(&other.first_byte);
        self.connect.add(&other.connect);
    }

    pub(super) fn write(&self, page: &mut Page) {
        let name = "headroom_client_connections_ended_total";
        page.head(name, "counter", "Client connections that ended, by how many requests they carried.");
        for (range, count) in RANGES.iter().zip(&self.by_requests) {
            page.line(name, &[("requests", range)], count);
        }
        let name = "headroom_client_first_byte_seconds";
        page.head(name, "histogram", "From accepting a client's connection to the first byte of a request.");
        page.histogram(name, &[], &self.first_byte);
        let name = "headroom_upstream_connect_seconds";
        page.head(name, "histogram", "How long connections to instances took to open.");
        page.histogram(name, &[], &self.connect);
    }
}

const RANGES: [&str; 5] = ["0", "1", "2-9", "10-99", "100+"];
