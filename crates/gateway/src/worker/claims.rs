//! The limit-related values in a request's head: its keys, its priority, its deadline.

use crate::key;
use crate::local::Local;
use crate::settings::{KeyBy, RoutePriority};
use crate::shared::RouteLimits;
use control::admission::patience;
use control::concurrency::Priority;
use control::rate::RateClass;
use http::codec::request::RequestHead;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use units::Timestamp;

/// The limit-related values in a request's head. Plain limits need none of them.
#[derive(Debug)]
pub(super) struct Claims {
    priority: Priority,
    deadline: Timestamp,
    /// The rate classes of its keys.
    keyed: [Option<Arc<RateClass<AtomicU64>>>; 2],
}

impl Default for Claims {
    fn default() -> Self {
        Claims { priority: Priority::HIGHEST, deadline: Timestamp::NEVER, keyed: [None, None] }
    }
}

impl Claims {
    #[inline]
    pub(super) fn priority(&self) -> Priority {
        self.priority
    }

    /// When the client will have given up.
    #[inline]
    pub(super) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// The rate class of one of the keys; each is taken once.
    pub(super) fn take_class(&mut self, number: usize) -> Option<Arc<RateClass<AtomicU64>>> {
        self.keyed[number].take()
    }
}

/// Reads what the limits of the route need.
pub(super) fn read(
    local: &Local,
    limits: &RouteLimits,
    head: &RequestHead<'_, '_>,
    client: IpAddr,
    now: Timestamp,
    key: &mut Vec<u8>,
) -> Claims {
    let mut claims = Claims::default();
    match &limits.priority {
        None => {}
        Some(RoutePriority::Class(class)) => claims.priority = Priority(*class),
        Some(RoutePriority::Header { name, otherwise }) => {
            let said = head.headers.find(name).and_then(|said| {
                let names = local.shared.settings.priorities.iter();
                names.map(String::as_bytes).position(|name| name.eq_ignore_ascii_case(said))
            });
            claims.priority = Priority(said.map_or(*otherwise, |class| class as u8));
        }
    }
    if let Some(name) = &limits.deadline_header
        && let Some(patience) = head.headers.find(name).and_then(|value| patience(name, value))
    {
        claims.deadline = now + patience;
    }
    for (class, claim) in limits.keyed.iter().zip(&mut claims.keyed) {
        if let Some(class) = class {
            write_key(&class.by, head, client, key);
            let kept = &mut local.keys.borrow_mut()[class.kept];
            *claim = Some(class.classes.class_kept(kept, now, key));
        }
    }
    claims
}

/// Writes the key of a request, which is the client address where it has no other. Keys of different kinds never
/// collide.
fn write_key(by: &KeyBy, head: &RequestHead<'_, '_>, client: IpAddr, key: &mut Vec<u8>) {
    key.clear();
    match key::value(by, head) {
        Some(value) => write_value(value, key),
        None => key.extend_from_slice(key::client(client, &mut [0; 8])),
    }
}

/// Writes the value of a key, unchanged if it is short. This bounds the memory for keys: a client that finds two long
/// values with the same hash only shares a rate with itself.
pub(super) fn write_value(value: &[u8], key: &mut Vec<u8>) {
    key.push(b'=');
    key.extend_from_slice(&value[..value.len().min(LONGEST_KEY)]);
    if value.len() > LONGEST_KEY {
        key.extend_from_slice(&key::hash(value).to_ne_bytes());
    }
}

/// Longer values are replaced by their first bytes and a hash.
const LONGEST_KEY: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use http::codec::Limits;
    use http::codec::header::slots;
    use http::codec::request;

    fn key(by: &KeyBy, fields: &str, client: &str) -> Vec<u8> {
        let text = format!("GET / HTTP/1.1\r\nHost: test\r\n{fields}\r\n");
        let mut slots = slots();
        let head = request::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
        let mut key = Vec::new();
        write_key(by, &head, client.parse().unwrap(), &mut key);
        key
    }

    #[test]
    fn a_key_is_a_value_or_else_an_address() {
        let by = KeyBy::Header("x-api-key".to_owned());
        assert_eq!(key(&by, "X-Api-Key: k\r\n", "10.0.0.1"), b"=k");
        assert_eq!(key(&by, "", "10.0.0.1"), [10, 0, 0, 1]);
        assert_eq!(key(&KeyBy::Client, "X-Api-Key: k\r\n", "10.0.0.1"), [10, 0, 0, 1]);
        let long = |end: &str| key(&by, &format!("X-Api-Key: {}{end}\r\n", "k".repeat(500)), "10.0.0.1");
        assert_eq!(long("a").len(), 137);
        assert_ne!(long("a"), long("b"));
    }
}
