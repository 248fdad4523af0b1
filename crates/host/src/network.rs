//! Counters of TCP and of the connection table of a network namespace.

use crate::text::{column, read, read_number};

/// What happened in a network namespace since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkCounts {
    /// Connections that found an accept queue full (`ListenOverflows`), or were dropped because too many were half open
    /// (`TCPReqQFullDrop`, without SYN cookies): the backlog bounds both (`inet_csk_reqsk_queue_is_full`).
    pub queue_full: u64,
    /// Segments with data that were sent, without those sent again (`TCPOrigDataSent`).
    pub data_sent: u64,
    /// Segments that were sent again, without those that open a connection.
    pub sent_again: u64,
    /// Connections that were opened to here (`PassiveOpens`).
    pub accepted: u64,
    /// Packets that the connection table had no room for.
    pub untracked: u64,
}

/// The connection table of the netfilter of a network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionTable {
    /// Connections in it.
    pub used: u64,
    /// How many it has room for.
    pub limit: u64,
}

impl NetworkCounts {
    /// Those of the namespace of a process.
    pub fn of_process(id: u32) -> Option<Self> {
        let file = |name: &str| read(format!("/proc/{id}/net/{name}"));
        let mut found = NetworkCounts::parse(&file("netstat")?, &file("snmp")?)?;
        found.untracked = file("stat/nf_conntrack").map_or(0, |text| dropped(&text));
        Some(found)
    }

    /// From the texts of `/proc/net/netstat` and `snmp`: lines of names, each followed by a line of numbers.
    fn parse(netstat: &str, snmp: &str) -> Option<Self> {
        let extended = |name| column(netstat, "TcpExt: ", name);
        let tcp = |name| column(snmp, "Tcp: ", name);
        let opened_again = extended("TCPSynRetrans").unwrap_or(0);
        Some(NetworkCounts {
            queue_full: extended("ListenOverflows")? + extended("TCPReqQFullDrop").unwrap_or(0),
            data_sent: extended("TCPOrigDataSent").or_else(|| tcp("OutSegs"))?,
            sent_again: tcp("RetransSegs")?.saturating_sub(opened_again),
            accepted: tcp("PassiveOpens")?,
            untracked: 0,
        })
    }

    /// What happened since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        NetworkCounts {
            queue_full: self.queue_full.saturating_sub(earlier.queue_full),
            data_sent: self.data_sent.saturating_sub(earlier.data_sent),
            sent_again: self.sent_again.saturating_sub(earlier.sent_again),
            accepted: self.accepted.saturating_sub(earlier.accepted),
            untracked: self.untracked.saturating_sub(earlier.untracked),
        }
    }
}

impl ConnectionTable {
    /// The one of this process's network namespace; `None` where nothing tracks connections.
    pub fn now() -> Option<Self> {
        let number = |name: &str| read_number(format!("/proc/sys/net/netfilter/nf_conntrack_{name}"));
        Some(ConnectionTable { used: number("count")?, limit: number("max")? })
    }
}

/// Packets dropped because the table had no room, of all cores, from `/proc/net/stat/nf_conntrack`: a line of names, then a line
/// of hexadecimal numbers a core.
fn dropped(text: &str) -> u64 {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let wanted = |name: &str| ["drop", "early_drop"].contains(&name);
    let of = |line: &str| -> u64 {
        let columns = names.iter().zip(line.split_whitespace()).filter(|&(&name, _)| wanted(name));
        columns.filter_map(|(_, number)| u64::from_str_radix(number, 16).ok()).sum()
    };
    lines.map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_counts() {
        let netstat = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPReqQFullDrop TCPOrigDataSent TCPSynRetrans\n\
                       TcpExt: 0 5 9 2 1000 3\nIpExt: InNoRoutes\nIpExt: 5\n";
        let snmp =
            "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens PassiveOpens OutSegs RetransSegs\nTcp: 5 6 2000 13\n";
        let found = NetworkCounts::parse(netstat, snmp).unwrap();
        let expected =
            NetworkCounts { queue_full: 7, data_sent: 1_000, sent_again: 10, accepted: 6, untracked: 0 };
        assert_eq!(found, expected);
        assert_eq!(found.since(found), NetworkCounts::default());
        assert_eq!(NetworkCounts::parse("", snmp), None);
        assert!(NetworkCounts::of_process(std::process::id()).is_some());
    }

    #[test]
    fn adds_the_packets_that_found_no_room() {
        let text = "entries  found new invalid ignore delete drop early_drop\n\
                    00000010 0 0 0 0 0 0000000a 00000001\n00000010 0 0 0 0 0 00000001 00000000\n";
        assert_eq!(dropped(text), 12);
        assert_eq!(dropped(""), 0);
    }
}
