//! What earlier hops state: the client's address, and when the request entered the system.
//!
//! ## Why no hop is trusted by default
//! `X-Forwarded-For`, `Forwarded` and the like are text that any client can write. A service that takes the first
//! address of the list for the client would take whatever a stranger put there. So only the addresses in `trusted_hops`
//! are believed and appended to; these fields are replaced in requests of all others, as Caddy and Traefik do. nginx's
//! usual `$proxy_add_x_forwarded_for` and Envoy append to what a stranger sends, which leaves it to the service to
//! count hops.
//!
//! Sources: RFC 7239 for `Forwarded`; `X-Request-Start` as New Relic and Scout read it: `t=` and a number of seconds,
//! milliseconds or microseconds, told apart by its size.

use crate::settings::Network;
use http::codec::request::RequestHead;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What is known of the hops of a request before the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hops {
    /// The direct peer.
    pub(crate) peer: IpAddr,
    /// Whether the peer's statements about earlier hops are trusted.
    pub(crate) believed: bool,
    /// The client: the nearest address that is not a trusted hop.
    pub(crate) client: IpAddr,
    /// How long ago the request entered the system, by a trusted hop.
    pub(crate) age: Option<Duration>,
}

impl Hops {
    /// A peer that is not trusted: it is the client.
    pub(crate) fn none(peer: IpAddr) -> Self {
        Hops { peer, believed: false, client: peer, age: None }
    }

    /// The statements of a peer, if it is trusted. `now_us` is the wall clock in µs since 1970.
    pub(crate) fn of(head: &RequestHead<'_, '_>, peer: IpAddr, trusted: &[Network], now_us: u64) -> Self {
        let is_trusted = |address| trusted.iter().any(|network| network.contains(address));
        if !is_trusted(peer) {
            return Hops::none(peer);
        }
        let age = head.headers.find("x-request-start").and_then(|value| age(value, now_us));
        Hops { peer, believed: true, client: client(head, peer, is_trusted), age }
    }
}

/// The nearest address that is not a trusted hop; if all are trusted or the chain cannot be read further, the farthest
/// that is known.
fn client(head: &RequestHead<'_, '_>, peer: IpAddr, is_trusted: impl Fn(IpAddr) -> bool) -> IpAddr {
    let name = ["x-forwarded-for", "forwarded"].into_iter().find(|name| head.headers.find(name).is_some());
    let Some(name) = name else { return peer };
    let mut nearest = peer;
    let fields = head.headers.all().iter().rev().filter(|field| field.name.eq_ignore_ascii_case(name));
    let elements = fields.flat_map(|field| field.value.rsplit(|&byte| byte == b','));
    for element in elements.filter(|element| !element.trim_ascii().is_empty()) {
        let element = if name == "forwarded" { forwarded_for(element) } else { Some(element) };
        let Some(address) = element.and_then(address) else { return nearest };
        nearest = address;
        if !is_trusted(address) {
            return nearest;
        }
    }
    nearest
}

/// The `for` of one element of a Forwarded field.
fn forwarded_for(element: &[u8]) -> Option<&[u8]> {
    element.split(|&byte| byte == b';').map(<[u8]>::trim_ascii).find_map(|pair| {
        let (name, value) = pair.split_at_checked(4)?;
        name.eq_ignore_ascii_case(b"for=").then_some(value)
    })
}

/// An address as hops write it: plain, with a port, in brackets or in quotes.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text.trim_ascii()).ok()?;
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let found = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    found.map(|address: IpAddr| address.to_canonical())
}

/// How long ago a request entered the system by its X-Request-Start; `None` if that cannot be read or cannot be true.
/// For a hop whose clock is a little ahead of ours, the age is zero.
fn age(value: &[u8], now_us: u64) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let number: f64 = text.strip_prefix("t=").unwrap_or(text).parse().ok()?;
    let to_us = match number {
        1e8..1e11 => 1e6,
        1e11..1e14 => 1e3,
        1e14..1e17 => 1.0,
        _ => return None,
    };
    let start_us = (number * to_us) as u64;
    let distance = Duration::from_micros(now_us.abs_diff(start_us));
    match start_us <= now_us {
        true => Some(distance).filter(|age| *age <= AGE_MAX),
        false => Some(Duration::ZERO).filter(|_| distance <= AHEAD_MAX),
    }
}

/// A larger age means that a clock is wrong, or the unit is another.
const AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Synchronized clocks differ by less.
const AHEAD_MAX: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use http::codec::header::slots;
    use http::codec::{Limits, request};

    const NOW_US: u64 = 1_795_000_000_500_000;

    fn hops(peer: &str, fields: &str) -> Hops {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let mut slots = slots();
        let head = request::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        let trusted = ["10.0.0.0/8", "::1"].map(|text| text.parse().unwrap());
        Hops::of(&head, peer.parse().unwrap(), &trusted, NOW_US)
    }

    #[test]
    fn the_client_is_the_nearest_address_that_is_no_trusted_hop() {
        for (peer, fields, client) in [
            ("192.0.2.1", "X-Forwarded-For: 198.51.100.7\r\n", "192.0.2.1"),
            ("10.0.0.1", "", "10.0.0.1"),
            ("10.0.0.1", "X-Forwarded-For: 198.51.100.7\r\n", "198.51.100.7"),
            ("10.0.0.1", "X-Forwarded-For: 1.1.1.1, 198.51.100.7, 10.9.9.9\r\n", "198.51.100.7"),
            ("10.0.0.1", "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 198.51.100.7\r\n", "198.51.100.7"),
            ("10.0.0.1", "X-Forwarded-For: 10.2.2.2,10.3.3.3\r\n", "10.2.2.2"),
            ("10.0.0.1", "X-Forwarded-For: 198.51.100.7:4711\r\n", "198.51.100.7"),
            ("10.0.0.1", "X-Forwarded-For: [2001:db8::7]:4711\r\n", "2001:db8::7"),
            ("10.0.0.1", "X-Forwarded-For: 1.1.1.1, unknown, 10.9.9.9\r\n", "10.9.9.9"),
            ("10.0.0.1", "Forwarded: for=1.1.1.1, For=\"[2001:db8::7]:99\";proto=https\r\n", "2001:db8::7"),
            ("10.0.0.1", "X-Forwarded-For: 1.1.1.1,, \r\nX-Forwarded-For:\r\n", "1.1.1.1"),
            ("10.0.0.1", "Forwarded: for=_hidden\r\n", "10.0.0.1"),
            ("10.0.0.1", "Forwarded: for=1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n", "2.2.2.2"),
            ("::1", "X-Forwarded-For: ::ffff:198.51.100.7\r\n", "198.51.100.7"),
            ("::ffff:10.0.0.1", "X-Forwarded-For: 2.2.2.2\r\n", "2.2.2.2"),
        ] {
            assert_eq!(hops(peer, fields).client, client.parse::<IpAddr>().unwrap(), "{peer} {fields:?}");
        }
    }

    #[test]
    fn a_believed_start_is_read_in_every_unit_and_only_where_it_can_be_true() {
        let age = |peer, value| hops(peer, &format!("X-Request-Start: {value}\r\n")).age;
        let millis = |millis| Some(Duration::from_millis(millis));
        for value in ["t=1795000000.250", "1795000000250", "t=1795000000250000"] {
            assert_eq!(age("10.0.0.1", value), millis(250), "{value}");
            assert_eq!(age("192.0.2.1", value), None, "a stranger says {value}");
        }
        assert_eq!(age("10.0.0.1", "t=1795000001000000"), millis(0), "a clock that is ahead");
        for value in
            ["", "t=", "t=abc", "t=NaN", "t=inf", "t=-1", "12", "t=1794000000000000", "t=1796000000000000"]
        {
            assert_eq!(age("10.0.0.1", value), None, "{value}");
        }
    }
}
