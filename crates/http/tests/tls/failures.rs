use crate::server::{Identity, Pair, Serving, World, self_made};
use http::tls::{Client, ClientSettings, TlsFailure, Version};
use proptest::prelude::*;
use rcgen::ExtendedKeyUsagePurpose;
use rustls::version;

#[test]
fn each_problem_of_a_certificate_has_its_kind() {
    let world = World::new();
    let stranger = World::new();
    for (identity, settings, expected) in [
        (world.identity("localhost", (2000, 2001)), world.trusting(), TlsFailure::CertificateExpired),
        (world.identity("localhost", (2100, 2120)), world.trusting(), TlsFailure::CertificateNotYetValid),
        (world.identity("elsewhere", (2020, 2120)), world.trusting(), TlsFailure::NameMismatch),
        (world.valid(), stranger.trusting(), TlsFailure::UnknownIssuer),
    ] {
        let server = world.server(&identity, &Serving::default());
        let mut pair = Pair::new(&Client::new(&settings).unwrap(), &server);
        assert_eq!(pair.settle(), Err(expected));
        assert!(pair.client.detail().is_some());
        // The alert is sent to the other side, and the failure stays.
        let mut alert = Vec::new();
        pair.client.flush(&mut alert);
        pair.server.read_tls(&mut &alert[..]).unwrap();
        let error = pair.server.process_new_packets().unwrap_err();
        assert!(matches!(error, rustls::Error::AlertReceived(_)), "{error}");
        assert_eq!(pair.client.send(b"x", &mut alert), Err(expected));
        assert_eq!(pair.client.received(&mut [], &mut alert), Err(expected));
        // `insecure` accepts all of them.
        let insecure = ClientSettings { insecure: true, ..settings };
        let mut pair = Pair::new(&Client::new(&insecure).unwrap(), &server);
        pair.client_says(b"hello");
        assert_eq!(pair.settle().unwrap(), b"hello");
    }
}

#[test]
fn a_certificate_for_another_purpose_is_a_bad_one() {
    let world = World::new();
    let purposes = [ExtendedKeyUsagePurpose::ClientAuth];
    let identity = world.identity_for("localhost", (2020, 2120), &purposes);
    let server = world.server(&identity, &Serving::default());
    let mut pair = Pair::new(&Client::new(&world.trusting()).unwrap(), &server);
    assert_eq!(pair.settle(), Err(TlsFailure::BadCertificate));
}

#[test]
fn a_certificate_that_vouches_for_itself_is_trusted_where_it_is_named() {
    let world = World::new();
    let (good, old) = (self_made((2020, 2120)), self_made((2000, 2001)));
    let naming = |identity: &Identity| {
        let file = world.file("self.pem", &identity.certificate);
        Client::new(&ClientSettings { cacert: vec![file], ..ClientSettings::default() }).unwrap()
    };
    for (shown, client, name, expected) in [
        (&good, naming(&good), "localhost", Ok(Vec::new())),
        (&good, naming(&good), "elsewhere", Err(TlsFailure::NameMismatch)),
        (&old, naming(&old), "localhost", Err(TlsFailure::CertificateExpired)),
    ] {
        let server = world.server(shown, &Serving::default());
        assert_eq!(Pair::named(&client, &server, name).settle(), expected);
    }
    // A certificate that is named but not presented; and one that is presented but not named.
    for client in [naming(&self_made((2020, 2120))), Client::new(&world.trusting()).unwrap()] {
        let server = world.server(&good, &Serving::default());
        assert_eq!(Pair::new(&client, &server).settle(), Err(TlsFailure::UnknownIssuer));
    }
}

#[test]
fn a_server_that_wants_a_certificate_says_so() {
    let world = World::new();
    let serving = Serving { wants_client_certificate: true, ..Serving::default() };
    let server = world.server(&world.valid(), &serving);
    let strangers = World::new();
    let own = strangers.identity("client", (2020, 2120));
    let unknown = ClientSettings {
        cert: Some(world.file("cert.pem", &own.certificate)),
        key: Some(world.file("key.pem", &own.key)),
        ..world.trusting()
    };
    for settings in [world.trusting(), unknown] {
        for only in [Version::Tls12, Version::Tls13] {
            let settings = ClientSettings { min: only, max: only, ..settings.clone() };
            let mut pair = Pair::new(&Client::new(&settings).unwrap(), &server);
            let failure = pair.settle().unwrap_err();
            // A TLS 1.2 server may also report a failed handshake without a reason.
            assert_eq!(failure, TlsFailure::ClientCertificateRefused, "{only}: {:?}", pair.client.detail());
        }
    }
}

#[test]
fn sides_with_nothing_in_common_say_so() {
    let world = World::new();
    let old = Serving { versions: Some(&version::TLS12), ..Serving::default() };
    let server = world.server(&world.valid(), &old);
    let modern = ClientSettings { min: Version::Tls13, ..world.trusting() };
    let mut pair = Pair::new(&Client::new(&modern).unwrap(), &server);
    assert_eq!(pair.settle(), Err(TlsFailure::NothingInCommon));

    let h2 = Serving { alpn: vec![b"h2".to_vec()], ..Serving::default() };
    let server = world.server(&world.valid(), &h2);
    let h1 = ClientSettings { alpn: vec![b"http/1.1".to_vec()], ..world.trusting() };
    let mut pair = Pair::new(&Client::new(&h1).unwrap(), &server);
    assert_eq!(pair.settle(), Err(TlsFailure::NothingInCommon));
}

#[test]
fn an_alert_without_a_better_reason_is_an_alert() {
    let world = World::new();
    let mut session = Client::new(&world.trusting()).unwrap().session("localhost").unwrap();
    // Fatal, internal error.
    let mut alert = [21, 3, 3, 0, 2, 2, 80];
    assert_eq!(session.received(&mut alert, &mut Vec::new()), Err(TlsFailure::Alert));
    assert!(session.detail().unwrap().contains("InternalError"), "{:?}", session.detail());
}

#[test]
fn what_is_not_tls_breaks_the_protocol() {
    let world = World::new();
    let client = Client::new(&world.trusting()).unwrap();
    for text in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.2\r\n", &[0; 64]] {
        for piece in [1, text.len()] {
            let mut session = client.session("localhost").unwrap();
            let mut bytes = text.to_vec();
            let result = bytes.chunks_mut(piece).try_for_each(|part| session.received(part, &mut Vec::new()));
            assert_eq!(result, Err(TlsFailure::Protocol), "{text:?}");
        }
    }
}

#[test]
fn a_byte_changed_on_the_way_is_noticed() {
    let world = World::new();
    let server = world.server(&world.valid(), &Serving::default());
    let mut pair = Pair::new(&Client::new(&world.trusting()).unwrap(), &server);
    pair.settle().unwrap();
    pair.server_says(b"answer");
    let mut wire = Vec::new();
    pair.server.write_tls(&mut wire).unwrap();
    *wire.last_mut().unwrap() ^= 1;
    assert_eq!(pair.client.received(&mut wire, &mut pair.plain), Err(TlsFailure::Protocol));
    assert!(pair.plain.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any input in any pieces is accepted or refused; and a refusal stays.
    #[test]
    fn garbage_never_panics(
        established in any::<bool>(),
        kind in prop_oneof![Just(20_u8), Just(21), Just(22), Just(23), any::<u8>()],
        version in prop_oneof![Just(1_u8), Just(3), any::<u8>()],
        body in prop::collection::vec(any::<u8>(), 0..300),
        said in prop::option::of(0_u16..600),
        piece in 1_usize..400,
    ) {
        let world = World::new();
        let server = world.server(&world.valid(), &Serving::default());
        let mut pair = Pair::new(&Client::new(&world.trusting()).unwrap(), &server);
        if established {
            pair.settle().unwrap();
        }
        let length = said.unwrap_or(body.len() as u16).to_be_bytes();
        let mut bytes = vec![kind, 3, version, length[0], length[1]];
        bytes.extend_from_slice(&body);
        let mut out = Vec::new();
        let mut refused = None;
        for part in bytes.chunks_mut(piece) {
            let result = pair.client.received(part, &mut pair.plain);
            pair.client.flush(&mut out);
            let sent = pair.client.send(b"x", &mut out);
            if let Some(failure) = refused {
                prop_assert_eq!(result, Err(failure));
                prop_assert_eq!(sent, Err(failure));
            }
            refused = refused.or(result.err());
        }
        prop_assert!(pair.plain.is_empty());
    }
}
