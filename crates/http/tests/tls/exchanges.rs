use crate::server::{Pair, Serving, World};
use http::tls::{Client, ClientSettings, Version};
use rustls::version;

#[test]
fn both_versions_carry_bytes_both_ways() {
    let world = World::new();
    let server = world.server(&world.valid(), &Serving::default());
    for (only, cipher) in [
        (Version::Tls12, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        (Version::Tls13, "TLS_AES_256_GCM_SHA384"),
    ] {
        let settings = ClientSettings { min: only, max: only, ..world.trusting() };
        let mut pair = Pair::new(&Client::new(&settings).unwrap(), &server);
        assert!(pair.client.is_handshaking());
        assert_eq!(pair.client.version(), None);
        pair.settle().unwrap();
        assert!(!pair.client.is_handshaking());
        assert_eq!(pair.client.version(), Some(only));
        assert_eq!(pair.client.cipher(), Some(cipher));
        assert!(!pair.client.resumed());
        for round in 0..5 {
            let text = format!("request {round}");
            pair.client_says(text.as_bytes());
            assert_eq!(pair.settle().unwrap(), text.as_bytes());
            pair.server_says(b"answer");
            pair.settle().unwrap();
            assert_eq!(pair.plain, b"answer");
            pair.plain.clear();
        }
    }
}

#[test]
fn what_is_sent_during_the_handshake_goes_out_after_it() {
    let world = World::new();
    for only in [Version::Tls12, Version::Tls13] {
        let settings = ClientSettings { min: only, max: only, ..world.trusting() };
        let server = world.server(&world.valid(), &Serving::default());
        let mut pair = Pair::new(&Client::new(&settings).unwrap(), &server);
        pair.client_says(b"GET ");
        pair.client_says(b"/");
        assert_eq!(pair.settle().unwrap(), b"GET /", "{only}");
        assert_eq!(pair.settle().unwrap(), b"");
    }
}

#[test]
fn bytes_may_arrive_one_at_a_time() {
    let world = World::new();
    let server = world.server(&world.valid(), &Serving::default());
    for only in [Version::Tls12, Version::Tls13] {
        let settings = ClientSettings { min: only, max: only, ..world.trusting() };
        let mut pair = Pair::new(&Client::new(&settings).unwrap(), &server);
        pair.piece = 1;
        pair.client_says(b"hello");
        assert_eq!(pair.settle().unwrap(), b"hello");
        pair.server_says(&[7; 20_000]);
        pair.settle().unwrap();
        assert_eq!(pair.plain, [7; 20_000]);
    }
}

#[test]
fn large_messages_pass_in_pieces_of_any_size() {
    let world = World::new();
    let server = world.server(&world.valid(), &Serving::default());
    let client = Client::new(&world.trusting()).unwrap();
    let large: Vec<u8> = (0..1_000_000_u32).map(|index| (index % 251) as u8).collect();
    for piece in [100, 16_000, 16_384 + 22, 70_000, usize::MAX] {
        let mut pair = Pair::new(&client, &server);
        pair.piece = piece;
        pair.server.set_buffer_limit(None);
        pair.settle().unwrap();
        pair.client_says(&large);
        assert!(pair.settle().unwrap() == large);
        pair.server_says(&large);
        pair.settle().unwrap();
        assert!(pair.plain == large, "in pieces of {piece}");
    }
}

#[test]
fn the_protocol_is_the_one_that_both_speak() {
    let world = World::new();
    let serving = Serving { alpn: vec![b"http/1.1".to_vec()], ..Serving::default() };
    let server = world.server(&world.valid(), &serving);
    let offered = ClientSettings { alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()], ..world.trusting() };
    let mut pair = Pair::new(&Client::new(&offered).unwrap(), &server);
    pair.settle().unwrap();
    assert_eq!(pair.client.alpn(), Some(&b"http/1.1"[..]));
    let mut pair = Pair::new(&Client::new(&world.trusting()).unwrap(), &server);
    pair.settle().unwrap();
    assert_eq!(pair.client.alpn(), None);
}

#[test]
fn a_later_connection_resumes_unless_told_not_to() {
    let world = World::new();
    for version in [&version::TLS12, &version::TLS13] {
        let serving = Serving { versions: Some(version), ..Serving::default() };
        let server = world.server(&world.valid(), &serving);
        for resumption in [true, false] {
            let client = Client::new(&ClientSettings { resumption, ..world.trusting() }).unwrap();
            for round in 0..3 {
                let mut pair = Pair::new(&client.clone(), &server);
                pair.settle().unwrap();
                assert_eq!(pair.client.resumed(), resumption && round > 0, "{version:?}, round {round}");
            }
        }
    }
}

#[test]
fn the_client_shows_its_certificate_where_one_is_wanted() {
    let world = World::new();
    let serving = Serving { wants_client_certificate: true, ..Serving::default() };
    let server = world.server(&world.valid(), &serving);
    let own = world.identity("client", (2020, 2120));
    let both = world.file("both.pem", &format!("{}{}", own.key, own.certificate));
    let cert = world.file("cert.pem", &own.certificate);
    let key = world.file("key.pem", &own.key);
    for (cert, key) in [(cert, Some(key)), (both, None)] {
        let settings = ClientSettings { cert: Some(cert), key, ..world.trusting() };
        let mut pair = Pair::new(&Client::new(&settings).unwrap(), &server);
        pair.client_says(b"it is me");
        assert_eq!(pair.settle().unwrap(), b"it is me");
        assert_eq!(pair.server.peer_certificates().map(<[_]>::len), Some(1));
    }
}

#[test]
fn addresses_are_names_too() {
    let world = World::new();
    for (address, other) in [("127.0.0.1", "127.0.0.2"), ("::1", "::2")] {
        let server = world.server(&world.identity(address, (2020, 2120)), &Serving::default());
        let client = Client::new(&world.trusting()).unwrap();
        assert!(Pair::named(&client, &server, address).settle().is_ok());
        assert!(Pair::named(&client, &server, other).settle().is_err());
    }
}

#[test]
fn a_goodbye_is_told_from_a_cut() {
    let world = World::new();
    let server = world.server(&world.valid(), &Serving::default());
    let client = Client::new(&world.trusting()).unwrap();
    let mut pair = Pair::new(&client, &server);
    pair.settle().unwrap();
    pair.server_says(b"last");
    pair.settle().unwrap();
    assert!(!pair.client.peer_closed());
    pair.server.send_close_notify();
    pair.settle().unwrap();
    assert!(pair.client.peer_closed());
    assert_eq!(pair.plain, b"last");
    pair.client.close_notify(&mut pair.to_server).unwrap();
    let mut bytes = &pair.to_server[..];
    pair.server.read_tls(&mut bytes).unwrap();
    assert!(pair.server.process_new_packets().unwrap().peer_has_closed());
    // During the handshake there is nothing to send.
    let mut early = client.session("localhost").unwrap();
    let (mut hello, mut goodbye) = (Vec::new(), Vec::new());
    early.flush(&mut hello);
    early.close_notify(&mut goodbye).unwrap();
    assert!(!hello.is_empty() && goodbye.is_empty());
}
