//! Test certificates, and a TLS server with blocking sockets.

use http::tls::{Client, ClientSettings};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion, version};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// An issuer, and a folder for files.
pub struct World {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

/// How a server differs from the default.
pub struct Serving {
    pub name: &'static str,
    pub years: (i32, i32),
    pub versions: Option<&'static SupportedProtocolVersion>,
    pub wants_client_certificate: bool,
    pub alpn: &'static [&'static str],
}

impl Default for Serving {
    fn default() -> Self {
        Serving {
            name: "localhost",
            years: (2020, 2120),
            versions: None,
            wants_client_certificate: false,
            alpn: &[],
        }
    }
}

/// The stream of a TLS connection.
pub type Secure = StreamOwned<ServerConnection, TcpStream>;

impl World {
    pub fn new() -> Self {
        static ISSUERS: AtomicU32 = AtomicU32::new(0);
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let number = ISSUERS.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(DnType::CommonName, format!("issuer {number}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        World { issuer, directory: TempDir::new().unwrap() }
    }

    fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// A certificate and its key, as PEM.
    fn identity(&self, name: &str, years: (i32, i32)) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// Settings that trust this world's issuer.
    pub fn trusting(&self) -> ClientSettings {
        ClientSettings {
            cacert: vec![self.file("issuer.pem", &self.issuer.pem())],
            ..ClientSettings::default()
        }
    }

    /// Settings with a certificate of the client's own.
    pub fn known(&self) -> ClientSettings {
        let (certificate, key) = self.identity("somebody", (2020, 2120));
        ClientSettings {
            cert: Some(self.file("client.pem", &certificate)),
            key: Some(self.file("client.key", &key)),
            ..self.trusting()
        }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.trusting()).unwrap()
    }

    /// A server that speaks TLS, and runs `serve` in a thread for each connection.
    pub fn server(&self, serving: &Serving, serve: impl Fn(Secure) + Send + Sync + 'static) -> SocketAddr {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions = serving.versions.map_or(vec![&version::TLS13, &version::TLS12], |one| vec![one]);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(&versions).unwrap();
        let builder = if serving.wants_client_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let (certificate, key) = self.identity(serving.name, serving.years);
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let mut config =
            builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap();
        config.alpn_protocols = serving.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.ticketer = aws_lc_rs::Ticketer::new().unwrap();
        let config = Arc::new(config);
        crate::servers::server(move |stream| {
            stream.set_nodelay(true).unwrap();
            serve(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream));
        })
    }
}
