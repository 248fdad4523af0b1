//! A range of addresses, as operators write it: `10.0.0.0/8`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use thiserror::Error;

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// The first address of the range.
    address: IpAddr,
    /// How many of its bits all addresses of the range share.
    bits: u8,
}

/// Text that is not a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// No address before the slash.
    #[error("expected an IP address or a range such as `10.0.0.0/8`")]
    Address,
    /// A prefix length that this kind of address does not have.
    #[error("the number behind the slash is outside 0 to {most}")]
    Bits {
        /// The bits of such an address.
        most: u8,
    },
    /// The address has bits set after the prefix, so the range is ambiguous.
    #[error("the address has bits behind the first {bits}; the range is `{range}`")]
    Between {
        /// The prefix length.
        bits: u8,
        /// The range that holds the address.
        range: Network,
    },
}

impl Network {
    /// Whether the address is in the range. An IPv4 address equals its IPv6-mapped form.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                (ours.to_bits() ^ theirs.to_bits()).checked_shr(32 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                (ours.to_bits() ^ theirs.to_bits()).checked_shr(128 - u32::from(self.bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Whether it contains every address of its kind.
    pub fn holds_all(&self) -> bool {
        self.bits == 0
    }

    /// The range of this size that holds the address.
    fn around(address: IpAddr, bits: u8) -> Self {
        let address = match address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                IpAddr::V4((v4.to_bits() & mask).into())
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                IpAddr::V6((v6.to_bits() & mask).into())
            }
        };
        Network { address, bits }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Address)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) => bits
                .parse()
                .ok()
                .filter(|&found: &u8| found <= most && bits.bytes().all(|byte| byte.is_ascii_digit()))
                .ok_or(NetworkError::Bits { most })?,
        };
        let range = Network::around(address, bits);
        if range.address == address { Ok(range) } else { Err(NetworkError::Between { bits, range }) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = if self.address.is_ipv4() { 32 } else { 128 };
        if self.bits == most { self.address.fmt(f) } else { write!(f, "{}/{}", self.address, self.bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_what_shares_its_first_bits() {
        for (range, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("10.1.2.3", "10.1.2.3", "10.1.2.4"),
            ("172.16.0.0/12", "172.31.255.255", "172.32.0.0"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::1", "::1", "::2"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("127.0.0.0/8", "::ffff:127.0.0.1", "::1"),
        ] {
            let network: Network = range.parse().unwrap();
            assert_eq!(network.to_string(), range);
            assert!(network.contains(inside.parse().unwrap()), "{inside} in {range}");
            assert!(!network.contains(outside.parse().unwrap()), "{outside} in {range}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, said) in [
            ("", "expected an IP address"),
            ("example.com", "expected an IP address"),
            ("10.0.0.0/33", "outside 0 to 32"),
            ("10.0.0.0/+8", "outside 0 to 32"),
            ("::/129", "outside 0 to 128"),
            ("10.0.0.0/", "outside 0 to 32"),
            ("10.1.0.0/8", "the range is `10.0.0.0/8`"),
        ] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
