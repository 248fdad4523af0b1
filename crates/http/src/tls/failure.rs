//! Why a connection failed because of TLS: a few kinds, so that a run can count them.

use rustls::{AlertDescription, CertificateError, Error};
use std::fmt;

/// Why TLS failed on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsFailure {
    /// The other side's certificate is past its end, by this machine's clock.
    CertificateExpired,
    /// The other side's certificate is before its beginning, by this machine's clock.
    CertificateNotYetValid,
    /// The other side's certificate has no trusted issuer.
    UnknownIssuer,
    /// The other side's certificate is for other names.
    NameMismatch,
    /// Something else is wrong with the other side's certificate.
    BadCertificate,
    /// The other side requires a client certificate, or another one.
    ClientCertificateRefused,
    /// The two sides have no version, cipher or key exchange in common.
    NothingInCommon,
    /// The other side ended the connection with another alert.
    Alert,
    /// The input is not TLS, or violates its rules.
    Protocol,
}

impl TlsFailure {
    /// Every kind, in the order of reports.
    pub const ALL: [TlsFailure; 9] = [
        TlsFailure::CertificateExpired,
        TlsFailure::CertificateNotYetValid,
        TlsFailure::UnknownIssuer,
        TlsFailure::NameMismatch,
        TlsFailure::BadCertificate,
        TlsFailure::ClientCertificateRefused,
        TlsFailure::NothingInCommon,
        TlsFailure::Alert,
        TlsFailure::Protocol,
    ];

    /// The name in results, in snake case.
    pub const fn name(self) -> &'static str {
        match self {
            TlsFailure::CertificateExpired => "tls_certificate_expired",
            TlsFailure::CertificateNotYetValid => "tls_certificate_not_yet_valid",
            TlsFailure::UnknownIssuer => "tls_unknown_issuer",
            TlsFailure::NameMismatch => "tls_name_mismatch",
            TlsFailure::BadCertificate => "tls_bad_certificate",
            TlsFailure::ClientCertificateRefused => "tls_client_certificate_refused",
            TlsFailure::NothingInCommon => "tls_nothing_in_common",
            TlsFailure::Alert => "tls_alert",
            TlsFailure::Protocol => "tls_protocol",
        }
    }

    pub(super) fn of(error: &Error) -> TlsFailure {
        match error {
            Error::InvalidCertificate(problem) => match problem {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    TlsFailure::CertificateExpired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    TlsFailure::CertificateNotYetValid
                }
                CertificateError::UnknownIssuer => TlsFailure::UnknownIssuer,
                // It is self-signed, and the user has not named it.
                problem if vouches_for_itself(problem) => TlsFailure::UnknownIssuer,
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    TlsFailure::NameMismatch
                }
                _ => TlsFailure::BadCertificate,
            },
            Error::NoCertificatesPresented | Error::UnsupportedNameType => TlsFailure::BadCertificate,
            Error::AlertReceived(alert) => match alert {
                // All of these are about the client certificate that was sent, or not sent.
                AlertDescription::NoCertificate
                | AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied
                | AlertDescription::CertificateRequired => TlsFailure::ClientCertificateRefused,
                // A server of TLS 1.2 sends "handshake failure" if no cipher is shared, and in many other cases.
                AlertDescription::ProtocolVersion
                | AlertDescription::InsufficientSecurity
                | AlertDescription::NoApplicationProtocol => TlsFailure::NothingInCommon,
                _ => TlsFailure::Alert,
            },
            Error::PeerIncompatible(_) => TlsFailure::NothingInCommon,
            _ => TlsFailure::Protocol,
        }
    }
}

/// Whether a certificate is refused because it is a self-signed issuer certificate. rustls gives the reason only by
/// name.
pub(super) fn vouches_for_itself(problem: &CertificateError) -> bool {
    matches!(problem, CertificateError::Other(reason) if reason.to_string() == "CaUsedAsEndEntity")
}

impl fmt::Display for TlsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TlsFailure::CertificateExpired => {
                "the certificate has expired; renew it, check this machine's clock, or trust anyone with -k"
            }
            TlsFailure::CertificateNotYetValid => {
                "the certificate is not valid yet; check this machine's clock, or trust anyone with -k"
            }
            TlsFailure::UnknownIssuer => {
                "nobody who is trusted here has issued the certificate; name its issuer's file with --cacert FILE, \
                 let the server send the certificates between, or trust anyone with -k"
            }
            TlsFailure::NameMismatch => {
                "the certificate is for other names; use one of them in the URL (with --resolve to choose the \
                 address), or trust anyone with -k"
            }
            TlsFailure::BadCertificate => "the certificate cannot be used; replace it, or trust anyone with -k",
            TlsFailure::ClientCertificateRefused => {
                "the server wants a client certificate that it trusts; give one with --cert FILE --key FILE"
            }
            TlsFailure::NothingInCommon => {
                "no TLS version, cipher or application protocol (ALPN) in common; see --tlsv1.2, --tls-max, --ciphers, \
                 and --http2, which offers HTTP/1.1 too"
            }
            TlsFailure::Alert => "the server ended the connection with an alert; its log says why",
            TlsFailure::Protocol => "what arrived is not TLS; is this the port of https?",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_name_and_a_way_out_of_its_own() {
        for (index, failure) in TlsFailure::ALL.into_iter().enumerate() {
            assert!(failure.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
            assert!(failure.to_string().contains(['-', ';']), "{failure}");
            for other in &TlsFailure::ALL[index + 1..] {
                assert_ne!(failure.name(), other.name());
            }
        }
    }
}
