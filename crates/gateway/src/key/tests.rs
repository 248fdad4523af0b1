use super::*;
use crate::forward;
use crate::hops::Hops;
use crate::pool;
use crate::settings::{Balance, Pool};
use http::codec::header::slots;
use http::codec::{Limits, request};
use proptest::prelude::*;

/// The results of both readers: that of limits and balancing, and that of mirrors, which reads what the gateway sends
/// to an instance.
fn found(by: &KeyBy, fields: &str) -> [Option<Vec<u8>>; 2] {
    let text = format!("POST /a?b HTTP/1.1\r\nHost: test\r\nContent-Length: 14\r\n{fields}\r\n");
    let mut slots = slots();
    let head = request::parse(text.as_bytes(), &Limits::default(), &mut slots).unwrap().unwrap();
    let address = IpAddr::from([10, 0, 0, 1]);
    let pool = Pool { balance: Balance::Hash(by.clone()), ..Pool::new("pool", Vec::new()) };
    let hashed = match by {
        KeyBy::Client => Some(client(address, &mut [0; 8]).to_vec()),
        _ => value(by, &head).map(<[u8]>::to_vec),
    };
    assert_eq!(pool::key_of(&pool, &head, address), hashed.as_deref().map(hash), "{by}: {fields:?}");
    let hops = Hops::none(address);
    let mut sent = Vec::new();
    forward::request(&mut sent, &head, "/a?b", &hops, 0, &pool, &[]);
    sent.extend_from_slice(b"cookie: sid=1\n");
    [value(by, &head), value_written(by, &sent)].map(|value| value.map(<[u8]>::to_vec))
}

#[test]
fn a_key_is_found_by_the_same_rules_before_and_after_a_request_is_sent() {
    let header = KeyBy::Header("x-user".to_owned());
    let cookie = KeyBy::Cookie("sid".to_owned());
    for (by, fields, expected) in [
        (&KeyBy::Client, "X-User: ann\r\nCookie: sid=1\r\n", None),
        (&header, "", None),
        (&header, "X-User: ann\r\n", Some("ann")),
        (&header, "x-user:   ann \r\n", Some("ann")),
        (&header, "X-User: ann\r\nX-User: bob\r\n", Some("ann")),
        (&header, "X-User:\r\n", Some("")),
        (&header, "X-Users: ann\r\nX-Use: ann\r\n", None),
        // Hop-by-hop.
        (&header, "Connection: X-User\r\nX-User: ann\r\n", None),
        (&cookie, "Cookie: sid=1\r\n", Some("1")),
        (&cookie, "Cookie: a=2; sid=1; sid=3\r\n", Some("1")),
        (&cookie, "Cookie: a=2;sid=1\r\n", Some("1")),
        (&cookie, "Cookie: sid2=2; xsid=3\r\n", None),
        (&cookie, "Cookie: a=2\r\nCookie: b=3; sid=1\r\n", Some("1")),
        (&cookie, "Cookie: sid=\"1\"\r\n", Some("1")),
        (&cookie, "Cookie: sid=\"\r\n", Some("\"")),
        (&cookie, "Cookie: sid = 1 ; a=2\r\n", Some("1")),
        (&cookie, "Cookie: sid=a=b\r\n", Some("a=b")),
        (&cookie, "Cookie: sid=\r\n", Some("")),
        (&cookie, "Cookie: SID=1\r\n", None),
        (&cookie, "Cookie: sid\r\n", None),
        (&cookie, "Cookie: sid; sid=1\r\n", Some("1")),
        (&cookie, "Set-Cookie: sid=1\r\n", None),
    ] {
        let expected = expected.map(|value| value.as_bytes().to_vec());
        assert_eq!(found(by, fields), [expected.clone(), expected], "{by}: {fields:?}");
    }
}

proptest! {
    #[test]
    fn both_readers_find_the_same_in_whatever_is_sent(
        fields in prop::collection::vec(
            ("(x-user|X-User|Cookie|cookie|x)", "[ -~]{0,3}((sid|a)=?[ -~]{0,5};?){0,3}"),
            0..5,
        ),
    ) {
        let fields: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let cookie = |name: &str| KeyBy::Cookie(name.to_owned());
        for by in [KeyBy::Header("x-user".to_owned()), cookie("sid"), cookie("a")] {
            let [parsed, written] = found(&by, &fields);
            prop_assert_eq!(parsed, written, "{}: {:?}", by, fields);
        }
    }
}

#[test]
fn a_client_of_ipv6_has_a_whole_network() {
    let of = |text: &str| client(text.parse().unwrap(), &mut [0; 8]).to_vec();
    assert_eq!(of("10.0.0.1"), [10, 0, 0, 1]);
    assert_eq!(of("::ffff:10.0.0.1"), [10, 0, 0, 1]);
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
}
