use crate::server::World;
use http::tls::{Client, ClientSettings, Version};

#[test]
fn a_refusal_names_the_file_what_was_found_and_the_way_out() {
    let world = World::new();
    let own = world.valid();
    let cert = world.file("cert.pem", &own.certificate);
    let key = world.file("key.pem", &own.key);
    let other_key = world.file("other.pem", &world.valid().key);
    let empty = world.file("empty.pem", "");
    let text = world.file("text.pem", "hello");
    let locked = world.file(
        "locked.pem",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    let broken = world.file("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let cut = world.file("cut.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n");
    let strange = world.file("strange.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    let missing = world.file("x", "").with_file_name("missing.pem");
    let directory = missing.with_file_name("").display().to_string();
    let usual = world.trusting();
    let trusting = |file: &std::path::PathBuf| ClientSettings { cacert: vec![file.clone()], ..usual.clone() };
    let showing = |cert: &std::path::PathBuf, key: &std::path::PathBuf| ClientSettings {
        cert: Some(cert.clone()),
        key: Some(key.clone()),
        ..usual.clone()
    };
    for (settings, expected) in [
        (trusting(&missing), "--cacert: cannot read `missing.pem`"),
        (
            trusting(&empty),
            "--cacert: no certificate in `empty.pem`, found an empty file; expected PEM with -----BEGIN CERTIFICATE-----",
        ),
        (trusting(&text), "--cacert: no certificate in `text.pem`, found something that is not PEM"),
        (trusting(&key), "--cacert: no certificate in `key.pem`, found a private key"),
        (trusting(&broken), "--cacert: certificate 1 in `broken.pem` cannot be used"),
        (trusting(&cut), "--cacert: certificate 1 in `cut.pem` cannot be used"),
        (showing(&key, &key), "--cert: no certificate in `key.pem`, found a private key"),
        (showing(&cert, &cert), "--key: no private key in `cert.pem`, found certificates"),
        (
            showing(&cert, &locked),
            "--key: no private key in `locked.pem`, found a private key with a passphrase",
        ),
        (showing(&cert, &strange), "--key: the private key in `strange.pem` cannot be used"),
        (
            showing(&cert, &other_key),
            "--key: the private key in `other.pem` does not belong to the first certificate in `cert.pem`",
        ),
        (
            ClientSettings { cert: Some(cert.clone()), ..usual.clone() },
            "--cert: no private key in `cert.pem`, found certificates",
        ),
        (
            ClientSettings { key: Some(key.clone()), ..usual.clone() },
            "--key: `key.pem` is given without --cert",
        ),
        (
            ClientSettings { min: Version::Tls13, max: Version::Tls12, ..usual.clone() },
            "the lowest version, TLS 1.3, is above the highest, TLS 1.2; raise --tls-max or lower --tlsv1.x",
        ),
        (
            ClientSettings { alpn: vec![Vec::new()], ..usual.clone() },
            "an application protocol has a name of 0 bytes",
        ),
        (ClientSettings { ciphers: vec!["NULL".into()], ..usual.clone() }, "cipher `NULL` is not known"),
    ] {
        let found = Client::new(&settings).unwrap_err().to_string().replace(&directory, "");
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_server_has_a_name_or_an_address() {
    let client = Client::new(&World::new().trusting()).unwrap();
    for name in ["localhost", "www.example.com", "127.0.0.1", "::1", "under_score.example"] {
        assert!(client.session(name).is_ok(), "{name}");
    }
    for name in ["", "a b", "[::1]", "-", "a..b"] {
        let error = client.session(name).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{name}` is no name that a certificate can carry")), "{error}");
    }
}
