//! Sockets, ports and TCP's counters: the resources for new connections, and the losses of the network.

use crate::text::{column, read, read_number};
use std::net::{IpAddr, Ipv6Addr};

/// How many sockets this network namespace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sockets {
    /// TCP sockets in use, IPv6 included.
    pub in_use: u64,
    /// TCP connections in TIME_WAIT, IPv6 included: closed first by this side, their ports held for 60 s.
    pub time_wait: u64,
}

impl Sockets {
    /// The values in `/proc/net/sockstat` and `sockstat6` now.
    pub fn now() -> Option<Self> {
        Sockets::parse(&read("/proc/net/sockstat")?, &read("/proc/net/sockstat6").unwrap_or_default())
    }

    /// From the texts of both files; the connections in TIME_WAIT of both are counted in the first.
    pub fn parse(sockstat: &str, sockstat6: &str) -> Option<Self> {
        let number = |text: &str, line: &str, name: &str| {
            let words = text.lines().find_map(|found| found.strip_prefix(line))?;
            words.split_whitespace().skip_while(|&word| word != name).nth(1)?.parse::<u64>().ok()
        };
        let (v4, v6) = (number(sockstat, "TCP:", "inuse")?, number(sockstat6, "TCP6:", "inuse").unwrap_or(0));
        Some(Sockets { in_use: v4.saturating_add(v6), time_wait: number(sockstat, "TCP:", "tw")? })
    }
}

/// The ports from which the kernel takes one for a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
    /// Those between them that are reserved (`net.ipv4.ip_local_reserved_ports`).
    pub reserved: u32,
}

impl PortRange {
    /// The values in `/proc/sys/net/ipv4` now; they apply to IPv6 too.
    pub fn now() -> Option<Self> {
        let reserved = read("/proc/sys/net/ipv4/ip_local_reserved_ports").unwrap_or_default();
        PortRange::parse(&read("/proc/sys/net/ipv4/ip_local_port_range")?, &reserved)
    }

    /// From the texts of both settings: `32768 60999` and `8080,9000-9010`.
    pub fn parse(range: &str, reserved: &str) -> Option<Self> {
        let mut ends = range.split_whitespace().map(str::parse::<u16>);
        let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
        let inside = |range: &str| -> Option<u32> {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            let (from, to): (u16, u16) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
            let (from, to) = (from.max(first), to.min(last));
            (from <= to).then(|| u32::from(to - from) + 1)
        };
        (first <= last).then(|| PortRange {
            first,
            last,
            reserved: reserved.split(',').filter_map(inside).sum(),
        })
    }

    /// How many connections one local address can have to one remote address and port.
    pub fn count(self) -> u32 {
        (u32::from(self.last - self.first) + 1).saturating_sub(self.reserved)
    }
}

/// When the kernel reuses the port of a connection in TIME_WAIT: `net.ipv4.tcp_tw_reuse`, 0 never, 1 after a second, 2
/// after a second on loopback only.
pub(crate) fn tw_reuse() -> Option<u64> {
    read_number("/proc/sys/net/ipv4/tcp_tw_reuse")
}

/// The most connections that a listening socket of this machine queues.
pub(crate) fn somaxconn() -> Option<u64> {
    read_number("/proc/sys/net/core/somaxconn")
}

/// TCP's counters in this network namespace since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpCounts {
    /// Segments sent, without retransmissions.
    pub sent: u64,
    /// Retransmitted segments.
    pub sent_again: u64,
}

impl TcpCounts {
    /// The values in `/proc/net/snmp` now.
    pub fn now() -> Option<Self> {
        TcpCounts::parse(&read("/proc/net/snmp")?)
    }

    /// From the text of `/proc/net/snmp`: a line of names, then a line of numbers.
    pub fn parse(snmp: &str) -> Option<Self> {
        let number = |name| column(snmp, "Tcp: ", name);
        Some(TcpCounts { sent: number("OutSegs")?, sent_again: number("RetransSegs")? })
    }
}

/// Connections in TIME_WAIT to these addresses. The kernel writes a line for each connection of the machine while
/// others wait, so this reads only if there are at most 20,000 of them; `None` otherwise.
pub fn time_wait_towards(addresses: &[IpAddr]) -> Option<u64> {
    let sockets = Sockets::now()?;
    if sockets.in_use.saturating_add(sockets.time_wait) > CHEAP {
        return None;
    }
    let v4 = read("/proc/net/tcp")?;
    let v6 = read("/proc/net/tcp6").unwrap_or_default();
    Some(time_wait_in(&v4, addresses).saturating_add(time_wait_in(&v6, addresses)))
}

/// From the text of `/proc/net/tcp` or `tcp6`: `0: 0100007F:07E8 0100007F:1F90 06 ...`.
fn time_wait_in(table: &str, addresses: &[IpAddr]) -> u64 {
    let towards = table.lines().filter(|line| {
        let mut fields = line.split_whitespace().skip(2);
        let (Some(remote), Some(TIME_WAIT)) = (fields.next(), fields.next()) else { return false };
        let address = remote.split_once(':').and_then(|(address, _)| address_of(address));
        address.is_some_and(|address| addresses.iter().any(|wanted| wanted.to_canonical() == address))
    });
    towards.count() as u64
}

/// Addresses are written as words of four bytes, in the byte order of the machine.
fn address_of(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(hex.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes);
    match hex.len() {
        8 => Some(IpAddr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (at, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(at)?);
            }
            Some(IpAddr::from(Ipv6Addr::from(bytes)).to_canonical())
        }
        _ => None,
    }
}

const TIME_WAIT: &str = "06";

/// With more sockets than this the table is megabytes of text.
const CHEAP: u64 = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sockets_of_both_families() {
        let v4 = "sockets: used 16\nTCP: inuse 5 orphan 0 tw 31 alloc 1 mem 186\nUDP: inuse 9 mem 218\n";
        assert_eq!(Sockets::parse(v4, "TCP6: inuse 2\n"), Some(Sockets { in_use: 7, time_wait: 31 }));
        assert_eq!(Sockets::parse(v4, ""), Some(Sockets { in_use: 5, time_wait: 31 }));
        assert_eq!(Sockets::parse("TCP: inuse\n", ""), None);
    }

    #[test]
    fn reserved_ports_count_only_inside_the_range() {
        for (range, reserved, count) in [
            ("32768\t60999\n", "\n", Some(28_232)),
            ("32768 60999", "8080,40000,50000-50009", Some(28_221)),
            // Half of the reserved range is below.
            ("1000 1999", "990-1009", Some(990)),
            ("1000 1000", "", Some(1)),
            // Invalid texts.
            ("2000 1000", "", None),
            ("1000", "", None),
            ("0 70000", "", None),
        ] {
            assert_eq!(
                PortRange::parse(range, reserved).map(PortRange::count),
                count,
                "{range:?} {reserved:?}"
            );
        }
    }

    #[test]
    fn reads_what_tcp_sent_again() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm ActiveOpens InSegs OutSegs RetransSegs InErrs\n\
                    Tcp: 1 275333 96919951 96905932 1042 0\n";
        assert_eq!(TcpCounts::parse(snmp), Some(TcpCounts { sent: 96_905_932, sent_again: 1_042 }));
        assert_eq!(TcpCounts::parse("Tcp: OutSegs\n"), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn counts_time_wait_towards_an_address() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                     0: 00000000:07E8 00000000:0000 0A 00000000:00000000\n\
                     1: 0100007F:8126 050200C0:0050 06 00000000:00000000\n\
                     2: 0100007F:8127 050200C0:0050 01 00000000:00000000\n\
                     3: 0100007F:8128 060200C0:0050 06 00000000:00000000\n";
        let target: IpAddr = "192.0.2.5".parse().unwrap();
        assert_eq!(time_wait_in(table, &[target]), 1);
        let table6 = "0: 0000000000000000FFFF00000100007F:8126 0000000000000000FFFF0000050200C0:0050 06\n\
                      1: 00000000000000000000000001000000:8126 B80D0120000000000000000001000000:0050 06\n";
        assert_eq!(time_wait_in(table6, &[target]), 1);
        assert_eq!(time_wait_in(table6, &["2001:db8::1".parse().unwrap()]), 1);
    }

    #[test]
    fn this_machine_answers() {
        assert!(PortRange::now().is_some_and(|range| range.count() > 0));
        assert!(Sockets::now().is_some());
    }
}
