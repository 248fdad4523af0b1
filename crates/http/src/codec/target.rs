//! Request targets and the Host field: which forms are taken, and that both name the same host.
//!
//! Source: RFC 9112 section 3.2. CONNECT is refused: a gateway in front of a service offers no tunnels.

use std::net::Ipv6Addr;

use super::Refusal;

/// A request target, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'b> {
    /// `/path?query`.
    Origin(&'b str),
    /// `http://authority/path?query`; the path is empty or begins with `/` or `?`.
    Absolute {
        /// Host and optional port; the same as the Host field, where there is one.
        authority: &'b str,
        /// What follows the authority.
        path: &'b str,
    },
    /// `*`, only with OPTIONS.
    Asterisk,
}

impl<'b> Target<'b> {
    pub(super) fn read(method: &str, target: &'b str) -> Result<Target<'b>, Refusal> {
        if method == "CONNECT" {
            return Err(Refusal::Connect);
        }
        if let Some(byte) = target.bytes().find(|&b| !b.is_ascii_graphic() || b == b'#') {
            return Err(Refusal::TargetByte { byte });
        }
        if target.starts_with('/') {
            return Ok(Target::Origin(target));
        }
        if target == "*" && method == "OPTIONS" {
            return Ok(Target::Asterisk);
        }
        let rest = ["http://", "https://"]
            .iter()
            .find(|scheme| target.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)))
            .and_then(|scheme| target.get(scheme.len()..))
            .ok_or(Refusal::TargetForm)?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if !is_authority(authority) {
            return Err(Refusal::TargetForm);
        }
        Ok(Target::Absolute { authority, path })
    }
}

/// Whether this is a host name or address with an optional port. Narrower than the grammar of RFC 3986: no user
/// information, no percent-encoding, no empty host and no empty port, since other readers differ about them.
pub(super) fn is_authority(text: &str) -> bool {
    let (host_is_good, port) = if let Some(rest) = text.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        (address.parse::<Ipv6Addr>().is_ok(), port)
    } else {
        // What stops the name must be the colon of a port, which is looked at below.
        let end = text.bytes().position(|b| !IS_HOST_BYTE[usize::from(b)]).unwrap_or(text.len());
        ((1..=HOST_BYTES_MAX).contains(&end), text.get(end..).unwrap_or("?"))
    };
    host_is_good && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

fn is_port(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 5
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse::<u16>().is_ok()
}

/// Letters, digits, `-`, `.` and `_`: a look-up is a third of the comparisons.
const IS_HOST_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        byte += 1;
    }
    table
};

/// The longest name in the domain name system, with a dot at its end.
const HOST_BYTES_MAX: usize = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_names_or_addresses_with_a_port() {
        for good in
            ["a", "example.com", "example.com.", "10.0.0.1:80", "a_b-c:65535", "[::1]", "[2001:db8::1]:8080"]
        {
            assert!(is_authority(good), "{good}");
        }
        for bad in [
            "",
            ":80",
            "a:",
            "a:b",
            "a:65536",
            "a:+80",
            "a:000080",
            "user@a",
            "a b",
            "a/b",
            "a,b",
            "[::1",
            "::1",
            "[::1]x",
            "[fe80::1%eth0]",
            "[]",
            "a\\b",
            "a%41",
            "ä",
        ] {
            assert!(!is_authority(bad), "{bad}");
        }
    }
}
