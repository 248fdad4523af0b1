//! Request targets and the Host field: which forms are accepted, and that both name the same host.
//!
//! Source: RFC 9112 section 3.2. CONNECT is refused: a gateway in front of a service offers no tunnels.

use std::borrow::Cow;
use std::net::Ipv6Addr;

use super::Refusal;

/// A request target, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'b> {
    /// `/path?query`.
    Origin(&'b str),
    /// `http://authority/path?query`; the path is empty or begins with `/` or `?`.
    Absolute {
        /// Host and optional port; the same as the Host field, if there is one, except for a default port.
        authority: &'b str,
        /// The port if the authority has none: 80, or 443 with https.
        default_port: u16,
        /// The part after the authority.
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
        // RFC 3986 allows only ASCII, but clients send the UTF-8 of links unchanged. The target is UTF-8: it is a str.
        let is_good = |byte: u8| (byte.is_ascii_graphic() && byte != b'#') || byte >= 0x80;
        if let Some(byte) = target.bytes().find(|&byte| !is_good(byte)) {
            return Err(Refusal::TargetByte { byte });
        }
        if target.starts_with('/') {
            return Ok(Target::Origin(target));
        }
        if target == "*" && method == "OPTIONS" {
            return Ok(Target::Asterisk);
        }
        let (default_port, rest) = [("http://", 80), ("https://", 443)]
            .into_iter()
            .find_map(|(scheme, port)| {
                let (start, rest) = target.split_at_checked(scheme.len())?;
                start.eq_ignore_ascii_case(scheme).then_some((port, rest))
            })
            .ok_or(Refusal::TargetForm)?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if !is_authority(authority) {
            return Err(Refusal::TargetForm);
        }
        Ok(Target::Absolute { authority, default_port, path })
    }
}

impl<'b> Target<'b> {
    /// The target in origin form: the path, not a whole URL, or `*` if OPTIONS asks about the server itself (RFC 9112
    /// section 3.2.4). Non-ASCII bytes are percent-encoded.
    #[inline]
    pub fn origin_form(&self, method: &str) -> Cow<'b, str> {
        let path = match *self {
            Target::Origin(path) => path,
            Target::Asterisk => "*",
            Target::Absolute { path: "", .. } if method == "OPTIONS" => "*",
            Target::Absolute { path, .. } => path,
        };
        if path.starts_with(['/', '*']) && path.is_ascii() {
            Cow::Borrowed(path)
        } else {
            rewritten(path).into()
        }
    }
}

#[cold]
fn rewritten(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 32);
    if !path.starts_with('/') {
        out.push('/');
    }
    for byte in path.bytes() {
        if byte.is_ascii() {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(
                [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
            );
        }
    }
    out
}

/// Whether this is a host name or address with an optional port. Narrower than the grammar of RFC 3986: no user
/// information, no percent-encoding, no empty host and no empty port, since readers differ about them.
pub(super) fn is_authority(text: &str) -> bool {
    let (host_is_good, port) = if let Some(rest) = text.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        (address.parse::<Ipv6Addr>().is_ok(), port)
    } else {
        // The byte that ends the name must be the colon of a port, which is checked below.
        let end = text.bytes().position(|b| !IS_HOST_BYTE[usize::from(b)]).unwrap_or(text.len());
        ((1..=HOST_BYTES_MAX).contains(&end), text.get(end..).unwrap_or("?"))
    };
    host_is_good && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Whether two authorities are the same host and port, where a missing port means `default_port`.
pub(super) fn is_same_authority(one: &str, other: &str, default_port: u16) -> bool {
    let [one, other] = [one, other].map(|authority| match authority.rsplit_once(':') {
        // After a colon inside an IPv6 address, the text ends with its closing bracket.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(default_port)),
        _ => (authority, default_port),
    });
    one.0.eq_ignore_ascii_case(other.0) && one.1 == other.1
}

fn is_port(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 5
        && text.bytes().all(|b| b.is_ascii_digit())
        && text.parse::<u16>().is_ok()
}

/// Letters, digits, `-`, `.` and `_`: a look-up costs a third of the comparisons.
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

/// The longest name in the domain name system, with a trailing dot.
const HOST_BYTES_MAX: usize = 254;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_goes_without_saying_may_be_said() {
        for (one, other, same) in [
            ("a", "A", true),
            ("a:80", "a", true),
            ("a", "a:080", true),
            ("[::1]:80", "[::1]", true),
            ("a:81", "a", false),
            ("a:443", "a", false),
            ("a:80", "b", false),
            ("[::1]", "[::2]", false),
        ] {
            assert_eq!(is_same_authority(one, other, 80), same, "{one} {other}");
        }
    }

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
