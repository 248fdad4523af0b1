//! What of a request says where it belongs: a header field, a cookie, the client.
//!
//! ## The cookie of affinity
//! Its value is a hash of the pool's name and the instance's address, so that it says nothing to a client, and means
//! the same after a restart and to a second gateway with the same file. It is no secret and needs none: a client that
//! makes one up chooses among the instances that any client may be given.

use crate::settings::{Affinity, Balance, KeyBy, Pool};
use http::codec::request::RequestHead;
use std::net::{IpAddr, SocketAddr};

/// The key by which a pool finds the instance of a request: a hash of what is balanced by, or the value of the
/// cookie of affinity.
#[inline]
pub(crate) fn key_of(pool: &Pool, head: &RequestHead<'_, '_>, client: IpAddr) -> Option<u64> {
    match (&pool.balance, &pool.affinity) {
        (Balance::Hash(key), _) => match key {
            KeyBy::Client => Some(match client {
                IpAddr::V4(address) => hash(&address.octets()),
                IpAddr::V6(address) => hash(&address.octets()),
            }),
            KeyBy::Header(name) => head.headers.find(name).map(hash),
            KeyBy::Cookie(name) => cookie(head, name).map(hash),
        },
        (_, Some(Affinity { cookie: name })) => cookie(head, name).and_then(parse),
        (_, None) => None,
    }
}

/// The value of the cookie that names an instance.
pub(crate) fn value(pool: &str, instance: SocketAddr) -> u64 {
    hash(format!("{pool}\n{instance}").as_bytes())
}

/// Appends the cookie to a head that has ended.
pub(crate) fn add_cookie(head: &mut Vec<u8>, pool: &Pool, value: u64) {
    let (Some(Affinity { cookie }), true) = (&pool.affinity, head.ends_with(b"\r\n\r\n")) else { return };
    head.truncate(head.len() - 2);
    let field = format!("set-cookie: {cookie}={value:016x}; Path=/; HttpOnly; SameSite=Lax\r\n\r\n");
    head.extend_from_slice(field.as_bytes());
}

/// The value of a cookie of the request (RFC 6265, 4.2.1).
fn cookie<'b>(head: &RequestHead<'_, 'b>, name: &str) -> Option<&'b [u8]> {
    let fields = head.headers.end_to_end().filter(|field| field.name.eq_ignore_ascii_case("cookie"));
    let pairs = fields.flat_map(|field| field.value.split(|&byte| byte == b';'));
    pairs.map(<[u8]>::trim_ascii).find_map(|pair| {
        let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
    })
}

/// What the gateway has written; anything else is no cookie of ours.
fn parse(value: &[u8]) -> Option<u64> {
    let digits = value.len() == 16 && value.iter().all(u8::is_ascii_hexdigit);
    u64::from_str_radix(std::str::from_utf8(value).ok().filter(|_| digits)?, 16).ok()
}

/// FNV-1a: the same on every machine; the ring of hashes mixes it further.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Addresses differ in their last digits only, which FNV leaves in the lower bits.
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::codec::header::slots;
    use http::codec::{Limits, request};

    fn key(pool: &Pool, fields: &str) -> Option<u64> {
        let text = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let mut slots = slots();
        let head = request::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        key_of(pool, &head, IpAddr::from([10, 0, 0, 1]))
    }

    #[test]
    fn the_part_that_was_asked_for() {
        let by = |key| Pool { balance: Balance::Hash(key), ..Pool::new("a", Vec::new()) };
        let header = by(KeyBy::Header("x-user".to_owned()));
        assert_eq!(key(&header, "X-User: ann\r\n"), Some(hash(b"ann")));
        assert_eq!(key(&header, ""), None);
        let session = by(KeyBy::Cookie("s".to_owned()));
        for (fields, expected) in [
            ("Cookie: s=1\r\n", Some("1")),
            ("Cookie: ss=2; s=1; s=3\r\n", Some("1")),
            ("Cookie: a=2\r\nCookie:  b=4;s=\"1\" \r\n", Some("1")),
            ("Cookie: S=1\r\n", None),
            ("Cookie: s\r\n", None),
            ("Cookie: s=\r\n", Some("")),
        ] {
            assert_eq!(key(&session, fields), expected.map(|value| hash(value.as_bytes())), "{fields:?}");
        }
        assert_eq!(key(&by(KeyBy::Client), ""), Some(hash(&[10, 0, 0, 1])));
        assert_eq!(key(&Pool::new("a", Vec::new()), "Cookie: s=1\r\n"), None);
    }

    #[test]
    fn a_cookie_reads_back() {
        let affinity = Some(Affinity { cookie: "at".to_owned() });
        let pool = Pool { affinity, ..Pool::new("a", Vec::new()) };
        let value = value("a", SocketAddr::from(([10, 0, 0, 2], 80)));
        let mut head = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec();
        add_cookie(&mut head, &pool, value);
        let text = String::from_utf8(head).unwrap();
        let expected = format!("\r\nset-cookie: at={value:016x}; Path=/; HttpOnly; SameSite=Lax\r\n\r\n");
        assert!(text.ends_with(&expected), "{text}");
        assert_eq!(key(&pool, &format!("Cookie: at={value:016x}\r\n")), Some(value));
        for wrong in ["at=10.0.0.2:80", "at=", "at=00000000000000000000001", "at=+000000000000001"] {
            assert_eq!(key(&pool, &format!("Cookie: {wrong}\r\n")), None, "{wrong}");
        }
        assert_ne!(value, super::value("b", SocketAddr::from(([10, 0, 0, 2], 80))));
    }
}
