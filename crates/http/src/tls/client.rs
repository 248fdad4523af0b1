//! A TLS client, made from settings, that opens sessions.

use super::verify::{Anyone, Named};
use super::{ClientSettings, Session, TlsError, Version, files};
use rustls::client::{Resumption, WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{
    ClientConfig, ConfigBuilder, Error, RootCertStore, SupportedCipherSuite, SupportedProtocolVersion,
    version,
};
use rustls_pki_types::{CertificateDer, ServerName};
use std::path::PathBuf;
use std::sync::Arc;

/// Opens sessions. Copies share the settings and the session cache, so one client serves all loops.
#[derive(Debug, Clone)]
pub struct Client {
    config: Arc<ClientConfig>,
}

impl Client {
    /// Reads the files that the settings name and checks that all of them are compatible.
    ///
    /// # Errors
    /// The option, the file, what was found there and the way out.
    pub fn new(settings: &ClientSettings) -> Result<Client, TlsError> {
        let versions = versions(settings.min, settings.max)?;
        if let Some(name) = settings.alpn.iter().find(|name| name.is_empty() || name.len() > 255) {
            return Err(TlsError::Protocol { found: name.len() });
        }
        let mut provider = aws_lc_rs::default_provider();
        // The first random number of a process waits for entropy, 60 to 130 ms of processor time. In the first
        // handshake, it would delay the event loop and everything that is due there.
        provider
            .secure_random
            .fill(&mut [0])
            .map_err(|_| TlsError::Refused { why: "no random numbers".to_owned() })?;
        provider.cipher_suites = ciphers(&settings.ciphers)?;
        let provider = Arc::new(provider);
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| TlsError::Refused { why: error.to_string() })?;
        let builder = if settings.insecure {
            let anyone = Anyone(provider.signature_verification_algorithms);
            builder.dangerous().with_custom_certificate_verifier(Arc::new(anyone))
        } else {
            let (roots, named) = roots(&settings.cacert)?;
            let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|error| TlsError::Refused { why: error.to_string() })?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Named { usual, named }))
        };
        let mut config = own_certificate(builder, settings, &provider)?;
        config.alpn_protocols = settings.alpn.clone();
        if !settings.resumption {
            config.resumption = Resumption::disabled();
        }
        Ok(Client { config: Arc::new(config) })
    }

    /// Begins a session with the server of this name, a host name or an IP address without brackets. Host names are
    /// sent to the server, so that it can choose its certificate (SNI).
    ///
    /// # Errors
    /// It is neither.
    pub fn session(&self, server_name: &str) -> Result<Session, TlsError> {
        let name = ServerName::try_from(server_name)
            .map_err(|_| TlsError::ServerName { found: server_name.to_owned() })?
            .to_owned();
        Session::new(Arc::clone(&self.config), name)
            .map_err(|error| TlsError::Refused { why: error.to_string() })
    }
}

fn versions(min: Version, max: Version) -> Result<Vec<&'static SupportedProtocolVersion>, TlsError> {
    if min > max {
        return Err(TlsError::Versions { min, max });
    }
    let all = [(Version::Tls13, &version::TLS13), (Version::Tls12, &version::TLS12)];
    Ok(all.into_iter().filter(|(each, _)| (min..=max).contains(each)).map(|(_, version)| version).collect())
}

fn ciphers(wanted: &[String]) -> Result<Vec<SupportedCipherSuite>, TlsError> {
    let known = aws_lc_rs::ALL_CIPHER_SUITES;
    let mut chosen: Vec<SupportedCipherSuite> = Vec::new();
    for name in wanted {
        let suite =
            known.iter().find(|suite| plain_name(iana_name(suite)) == plain_name(name)).ok_or_else(|| {
                TlsError::UnknownCipher { found: name.clone(), known: known.iter().map(iana_name).collect() }
            })?;
        if !chosen.contains(suite) {
            chosen.push(*suite);
        }
    }
    for version in [&version::TLS13, &version::TLS12] {
        if !chosen.iter().any(|suite| suite.version() == version) {
            chosen.extend(aws_lc_rs::DEFAULT_CIPHER_SUITES.iter().filter(|suite| suite.version() == version));
        }
    }
    Ok(chosen)
}

/// The name in IANA's registry, in which the ciphers of TLS 1.3 carry no version.
pub(super) fn iana_name(suite: &SupportedCipherSuite) -> &'static str {
    let name = suite.suite().as_str().unwrap_or("unknown");
    match name.strip_prefix("TLS13_") {
        Some("AES_128_GCM_SHA256") => "TLS_AES_128_GCM_SHA256",
        Some("AES_256_GCM_SHA384") => "TLS_AES_256_GCM_SHA384",
        Some("CHACHA20_POLY1305_SHA256") => "TLS_CHACHA20_POLY1305_SHA256",
        _ => name,
    }
}

/// The common form of the names of IANA, OpenSSL and rustls for one cipher.
fn plain_name(name: &str) -> String {
    let name = name.to_ascii_uppercase().replace('-', "_");
    let name = name.strip_prefix("TLS13_").or(name.strip_prefix("TLS_")).unwrap_or(&name);
    let name = name.replace("_WITH_", "_").replace('_', "");
    // OpenSSL omits the hash if there is only one.
    name.strip_suffix("POLY1305SHA256").map(|start| format!("{start}POLY1305")).unwrap_or(name)
}

/// The trust anchors, and the certificates that the user has named.
fn roots(files: &[PathBuf]) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsError> {
    let (mut roots, mut named) = (RootCertStore::empty(), Vec::new());
    for file in files {
        for (index, certificate) in files::certificates("--cacert", file)?.into_iter().enumerate() {
            named.push(certificate.clone());
            roots.add(certificate).map_err(|error| TlsError::BadCertificate {
                option: "--cacert",
                file: file.clone(),
                number: index + 1,
                why: error.to_string(),
            })?;
        }
    }
    if files.is_empty() {
        let system = rustls_native_certs::load_native_certs();
        // A system's store has old certificates that are no longer parsable; they must not prevent using the others.
        roots.add_parsable_certificates(system.certs);
        if roots.is_empty() {
            let why =
                system.errors.first().map_or_else(|| "none was found".to_owned(), |error| error.to_string());
            return Err(TlsError::NoRoots { why });
        }
    }
    Ok((roots, named))
}

fn own_certificate(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    settings: &ClientSettings,
    provider: &CryptoProvider,
) -> Result<ClientConfig, TlsError> {
    let (cert, (option, key)) = match (&settings.cert, &settings.key) {
        (Some(cert), Some(key)) => (cert, ("--key", key)),
        (Some(cert), None) => (cert, ("--cert", cert)),
        (None, Some(key)) => return Err(TlsError::KeyWithoutCertificate { key: key.clone() }),
        (None, None) => return Ok(builder.with_no_client_auth()),
    };
    let chain = files::certificates("--cert", cert)?;
    let secret = files::key(option, key)?;
    provider.key_provider.load_private_key(secret.clone_key()).map_err(|error| TlsError::BadKey {
        option,
        file: key.clone(),
        why: error.to_string(),
    })?;
    builder.with_client_auth_cert(chain, secret).map_err(|error| match error {
        Error::InconsistentKeys(_) => TlsError::KeyMismatch { key: key.clone(), cert: cert.clone() },
        other => TlsError::BadCertificate {
            option: "--cert",
            file: cert.clone(),
            number: 1,
            why: other.to_string(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cipher_goes_by_all_of_its_names() {
        for (name, expected) in [
            ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
            ("TLS13_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
            ("tls_chacha20_poly1305_sha256", "TLS_CHACHA20_POLY1305_SHA256"),
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            ("ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
            ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
        ] {
            assert_eq!(iana_name(&ciphers(&[name.to_owned()]).unwrap()[0]), expected, "{name}");
        }
    }

    #[test]
    fn a_version_without_a_named_cipher_keeps_its_defaults() {
        let chosen = ciphers(&["TLS_AES_128_GCM_SHA256".to_owned()]).unwrap();
        assert_eq!(chosen.iter().filter(|suite| suite.version() == &version::TLS13).count(), 1);
        assert!(chosen.iter().filter(|suite| suite.version() == &version::TLS12).count() > 1);
        assert_eq!(ciphers(&[]).unwrap().len(), aws_lc_rs::DEFAULT_CIPHER_SUITES.len());
    }

    #[test]
    fn an_unknown_cipher_is_answered_with_the_known_ones() {
        let error = ciphers(&["RC4-MD5".to_owned()]).unwrap_err().to_string();
        assert!(
            error.starts_with("cipher `RC4-MD5` is not known; expected some of TLS_AES_256_GCM_SHA384, "),
            "{error}"
        );
    }
}
