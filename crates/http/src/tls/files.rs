//! Certificates and keys from PEM files, with messages that name what was found instead.

use super::TlsError;
use rustls_pki_types::pem::{Error as PemError, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;

/// The certificates of a file, at least one.
pub(super) fn certificates(
    option: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(option, file)?;
    let mut found = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let number = found.len() + 1;
        found.push(certificate.map_err(|error| TlsError::BadCertificate {
            option,
            file: file.to_owned(),
            number,
            why: error.to_string(),
        })?);
    }
    if found.is_empty() {
        return Err(TlsError::NoCertificate { option, file: file.to_owned(), found: kind_of(&text) });
    }
    Ok(found)
}

/// The first private key of a file.
pub(super) fn key(option: &'static str, file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(option, file)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        PemError::NoItemsFound => TlsError::NoKey { option, file: file.to_owned(), found: kind_of(&text) },
        other => TlsError::BadKey { option, file: file.to_owned(), why: other.to_string() },
    })
}

fn read(option: &'static str, file: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(file).map_err(|source| TlsError::Unreadable { option, file: file.to_owned(), source })
}

/// The apparent type of a file, for the message that it is not the expected one.
fn kind_of(text: &[u8]) -> &'static str {
    let has = |what: &[u8]| text.windows(what.len()).any(|window| window == what);
    if text.is_empty() {
        "an empty file"
    } else if has(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || has(b"Proc-Type: 4,ENCRYPTED") {
        "a private key with a passphrase"
    } else if has(b"-----BEGIN CERTIFICATE REQUEST-----") {
        "a request for a certificate"
    } else if has(b"PRIVATE KEY-----") {
        "a private key"
    } else if has(b"-----BEGIN CERTIFICATE-----") {
        "certificates"
    } else if has(b"-----BEGIN ") {
        "PEM of another kind"
    } else if text.starts_with(&[0x30]) {
        "DER or PKCS #12"
    } else {
        "something that is not PEM"
    }
}
