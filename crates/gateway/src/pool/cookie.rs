//! The part of a request that decides on its instance: the key that is hashed, or the affinity cookie.
//!
//! ## The affinity cookie
//! Its value is a hash of the pool's name and the instance's address, so that it reveals nothing to a client, and means
//! the same after a restart and to a second gateway with the same file. It does not need to be secret: a client that
//! makes one up chooses among the instances that any client may be assigned.

use crate::key;
use crate::settings::{Affinity, Balance, KeyBy, Pool};
use http::codec::request::RequestHead;
use std::net::{IpAddr, SocketAddr};

/// The key by which a pool finds the instance of a request: a hash of the balancing key, or the value of the affinity
/// cookie.
#[inline]
pub(crate) fn key_of(pool: &Pool, head: &RequestHead<'_, '_>, client: IpAddr) -> Option<u64> {
    match (&pool.balance, &pool.affinity) {
        (Balance::Hash(KeyBy::Client), _) => Some(key::hash(key::client(client, &mut [0; 8]))),
        (Balance::Hash(by), _) => key::value(by, head).map(key::hash),
        (_, Some(Affinity { cookie })) => key::cookie(head, cookie).and_then(parse),
        (_, None) => None,
    }
}

/// The value of the cookie that names an instance.
pub(crate) fn value(pool: &str, instance: SocketAddr) -> u64 {
    key::hash(format!("{pool}\n{instance}").as_bytes())
}

/// Appends the cookie to a complete head.
pub(crate) fn add_cookie(head: &mut Vec<u8>, pool: &Pool, value: u64) {
    let (Some(Affinity { cookie }), true) = (&pool.affinity, head.ends_with(b"\r\n\r\n")) else { return };
    head.truncate(head.len() - 2);
    let field = format!("set-cookie: {cookie}={value:016x}; Path=/; HttpOnly; SameSite=Lax\r\n\r\n");
    head.extend_from_slice(field.as_bytes());
}

/// Parses a value that the gateway has written; any other value is ignored.
fn parse(value: &[u8]) -> Option<u64> {
    let digits = value.len() == 16 && value.iter().all(u8::is_ascii_hexdigit);
    u64::from_str_radix(std::str::from_utf8(value).ok().filter(|_| digits)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::hash;
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
