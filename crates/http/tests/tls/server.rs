//! A TLS server in memory, and test certificates.
#![allow(clippy::unwrap_used, reason = "a test without its world is over")]
#![allow(dead_code, reason = "the example needs only a part")]

use http::tls::{Client, ClientSettings, Session, TlsFailure};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::server::{NoServerSessionStorage, ServerConfig, ServerConnection, WebPkiClientVerifier};
use rustls::{RootCertStore, SupportedProtocolVersion, version};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// An issuer, and a folder for files.
pub struct World {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

/// A certificate and its key, as PEM.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// A self-signed certificate for `localhost` that is marked as an issuer's, as `openssl req -x509` makes it.
pub fn self_made(years: (i32, i32)) -> Identity {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(years.0, 1, 1);
    params.not_after = date_time_ymd(years.1, 1, 1);
    let key = KeyPair::generate().unwrap();
    Identity { certificate: params.self_signed(&key).unwrap().pem(), key: key.serialize_pem() }
}

/// How a server differs from the default.
#[derive(Default)]
pub struct Serving {
    pub versions: Option<&'static SupportedProtocolVersion>,
    pub wants_client_certificate: bool,
    pub alpn: Vec<Vec<u8>>,
}

impl World {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Two issuers with the same name would differ only by an invalid signature, which is another failure.
        static ISSUERS: AtomicU32 = AtomicU32::new(0);
        let number = ISSUERS.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(DnType::CommonName, format!("issuer {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        World { issuer, directory: TempDir::new().unwrap() }
    }

    /// A certificate for a name, valid between two years.
    pub fn identity(&self, name: &str, years: (i32, i32)) -> Identity {
        let both = [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.identity_for(name, years, &both)
    }

    /// The same for some purposes only.
    pub fn identity_for(
        &self,
        name: &str,
        years: (i32, i32),
        purposes: &[ExtendedKeyUsagePurpose],
    ) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        params.extended_key_usages = purposes.to_vec();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// A certificate for `localhost` that is valid now.
    pub fn valid(&self) -> Identity {
        self.identity("localhost", (2020, 2120))
    }

    pub fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// The file with the issuer's certificate.
    pub fn issuer_file(&self) -> PathBuf {
        self.file("issuer.pem", &self.issuer.pem())
    }

    /// Settings that trust this world's issuer.
    pub fn trusting(&self) -> ClientSettings {
        ClientSettings { cacert: vec![self.issuer_file()], ..ClientSettings::default() }
    }

    pub fn server(&self, identity: &Identity, serving: &Serving) -> Arc<ServerConfig> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions = serving.versions.map_or(vec![&version::TLS13, &version::TLS12], |one| vec![one]);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .unwrap();
        let builder = if serving.wants_client_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = serving.alpn.clone();
        config.ticketer = aws_lc_rs::Ticketer::new().unwrap();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Arc::new(config)
    }
}

/// A client's session and a server, with a wire between them.
pub struct Pair {
    pub client: Session,
    pub server: ServerConnection,
    /// What the client has received.
    pub plain: Vec<u8>,
    /// In transit to the server.
    pub to_server: Vec<u8>,
    /// How many bytes arrive at the client at a time.
    pub piece: usize,
}

impl Pair {
    pub fn new(client: &Client, server: &Arc<ServerConfig>) -> Self {
        Self::named(client, server, "localhost")
    }

    pub fn named(client: &Client, server: &Arc<ServerConfig>, name: &str) -> Self {
        Pair {
            client: client.session(name).unwrap(),
            server: ServerConnection::new(Arc::clone(server)).unwrap(),
            plain: Vec::new(),
            to_server: Vec::new(),
            piece: usize::MAX,
        }
    }

    /// Carries bytes both ways until both sides have nothing to send: returns what the server has received.
    pub fn settle(&mut self) -> Result<Vec<u8>, TlsFailure> {
        let mut received = Vec::new();
        loop {
            self.client.flush(&mut self.to_server);
            let quiet = self.to_server.is_empty() && !self.server.wants_write();
            let mut bytes = &self.to_server[..];
            while !bytes.is_empty() {
                self.server.read_tls(&mut bytes).unwrap();
                // Its alert reports the error, as it would over a socket.
                let _ = self.server.process_new_packets();
                let mut part = [0; 4096];
                while let Ok(count @ 1..) = self.server.reader().read(&mut part) {
                    received.extend_from_slice(&part[..count]);
                }
            }
            self.to_server.clear();
            let mut wire = Vec::new();
            while self.server.wants_write() {
                self.server.write_tls(&mut wire).unwrap();
            }
            for piece in wire.chunks_mut(self.piece) {
                self.client.received(piece, &mut self.plain)?;
            }
            if quiet {
                return Ok(received);
            }
        }
    }

    pub fn client_says(&mut self, plain: &[u8]) {
        self.client.send(plain, &mut self.to_server).unwrap();
    }

    pub fn server_says(&mut self, plain: &[u8]) {
        self.server.writer().write_all(plain).unwrap();
    }
}
