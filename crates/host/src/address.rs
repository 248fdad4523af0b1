//! Which addresses belong to third parties.
//!
//! Special-purpose ranges are free to load; the list follows IANA's registries of special-purpose addresses (RFC 6890
//! and its updates). Any other address belongs to someone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether this address may belong to a third party on the internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let ours = NOT_PUBLIC_V4.iter().any(|&([a, b, c, d], bits)| {
        let mask = u32::MAX << (32 - bits);
        address.to_bits() & mask == Ipv4Addr::new(a, b, c, d).to_bits()
    });
    !ours
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An address that contains an IPv4 address leads there: mapped, NAT64 (RFC 6052), 6to4 (RFC 3056).
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let wrapped =
        |high: u16, low: u16| is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => return wrapped(high, low),
        _ => {}
    }
    let ours = NOT_PUBLIC_V6.iter().any(|&(network, bits)| {
        let mask = u128::MAX << (128 - bits);
        address.to_bits() & mask == network << (128 - bits)
    }) || address.is_loopback()
        || address.is_unspecified();
    !ours
}

/// Network and length of its prefix.
const NOT_PUBLIC_V4: [([u8; 4], u32); 14] = [
    // This network; Linux sends 0.0.0.0 to itself.
    ([0, 0, 0, 0], 8),
    // Private (RFC 1918).
    ([10, 0, 0, 0], 8),
    ([172, 16, 0, 0], 12),
    ([192, 168, 0, 0], 16),
    // Between a provider and its customers (RFC 6598); clouds use it for pods.
    ([100, 64, 0, 0], 10),
    // Loopback.
    ([127, 0, 0, 0], 8),
    // Link-local.
    ([169, 254, 0, 0], 16),
    // Protocol assignments (RFC 6890).
    ([192, 0, 0, 0], 24),
    // Documentation (RFC 5737).
    ([192, 0, 2, 0], 24),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    // Benchmarks of network devices (RFC 2544).
    ([198, 18, 0, 0], 15),
    // Multicast and reserved; TCP does not use them.
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// The leading bits of the network, and how many they are.
const NOT_PUBLIC_V6: [(u128, u32); 6] = [
    // Unique local (RFC 4193).
    (0x7e, 7),
    // Link-local.
    (0x3fa, 10),
    // Documentation (RFC 3849, RFC 9637).
    (0x2001_0db8, 32),
    (0x0003_fff0, 20),
    // Multicast.
    (0xff, 8),
    // Discard-only (RFC 6666).
    (0x0100_0000_0000_0000, 64),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_strangers_from_our_own() {
        for (address, public) in [
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("0.0.0.0", false),
            // Private ranges, and their neighbours.
            ("10.1.2.3", false),
            ("9.255.255.255", true),
            ("11.0.0.0", true),
            ("172.15.255.255", true),
            ("172.16.0.0", false),
            ("172.31.255.255", false),
            ("172.32.0.0", true),
            ("192.168.4.5", false),
            ("192.169.0.0", true),
            // Carrier-grade NAT.
            ("100.63.255.255", true),
            ("100.64.0.0", false),
            ("100.127.255.255", false),
            ("100.128.0.0", true),
            ("169.254.169.254", false),
            // Documentation and benchmarks.
            ("192.0.2.1", false),
            ("198.51.100.7", false),
            ("203.0.113.255", false),
            ("203.0.114.0", true),
            ("198.19.255.255", false),
            ("198.20.0.0", true),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("1.1.1.1", true),
            ("8.8.8.8", true),
            // IPv6.
            ("::1", false),
            ("::", false),
            ("::2", true),
            ("fc00::1", false),
            ("fdff:ffff::1", false),
            ("fe80::1", false),
            ("febf::1", false),
            ("fec0::1", true),
            ("2001:db8::1", false),
            ("2001:db9::1", true),
            ("3fff:fff::1", false),
            ("3fff:1000::1", true),
            ("ff02::1", false),
            ("100::1", false),
            ("2606:4700::1111", true),
            // IPv4 inside IPv6 leads to the inner address.
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b::10.0.0.1", false),
            ("2002:0808:0808::1", true),
            ("2002:c0a8:0001::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
        }
    }
}
