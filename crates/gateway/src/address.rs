//! Client addresses as text, for the log and for the next hop.
//!
//! The general formatter takes some 400 instructions for an IPv4 address, which every exchange writes twice: 7 % of the
//! user-space instructions of one (`bench/gateway/instructions`).

use http::codec::write::decimal;
use std::io::Write;
use std::net::IpAddr;

/// Appends an address.
pub(crate) fn write(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            for (index, part) in address.octets().into_iter().enumerate() {
                if index > 0 {
                    out.push(b'.');
                }
                decimal(out, u64::from(part));
            }
        }
        IpAddr::V6(address) => write!(out, "{address}").expect("a vector takes every byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_usual() {
        for text in ["127.0.0.1", "0.0.0.0", "255.10.9.100", "::1", "2001:db8::7"] {
            let mut out = Vec::new();
            write(&mut out, text.parse().unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
