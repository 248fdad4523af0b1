//! Header fields: their storage while a head is read, and which of them are hop-by-hop.
//!
//! ## Why the caller provides the slots
//! A head has up to a hundred fields, or more where that is allowed. Filling or moving an array for them costs more
//! than parsing a small head, so the slots are uninitialised on the caller's stack and a head borrows the part that was
//! filled.

use std::mem::MaybeUninit;

pub use httparse::Header;

/// The most header fields that any configuration allows. The slots take 16 KiB of stack that is not initialised; each
/// has a bit for whether its field is forwarded.
pub const SLOTS: usize = 512;

/// Storage for the fields of one head.
pub type Slots<'b> = [MaybeUninit<Header<'b>>; SLOTS];

/// Empty slots; costs nothing, since nothing is written.
#[inline(always)]
pub fn slots<'b>() -> Slots<'b> {
    [const { MaybeUninit::uninit() }; SLOTS]
}

/// Whether a field is hop-by-hop and must not be forwarded, by its name alone. Fields that a Connection field nominates
/// are hop-by-hop as well.
#[inline]
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    Name::of(name).is_hop_by_hop()
}

/// Whether a request field carries credentials, by its name.
pub fn is_credential(name: &[u8]) -> bool {
    [b"cookie".as_slice(), b"authorization", b"proxy-authorization"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a name consists of the same words as a known one, with any separators: `X.Forwarded__For` for
/// `x-forwarded-for`. CGI and WSGI pass `-` and `_` to a service as the same (RFC 3875, 4.1.18), PHP `.` as well, and
/// others fold or drop all characters other than letters and digits.
pub fn reads_as(name: &[u8], known: &str) -> bool {
    let mut known = words(known.as_bytes());
    words(name).all(|word| known.next().is_some_and(|other| word.eq_ignore_ascii_case(other)))
        && known.next().is_none()
}

/// The words of a name.
pub fn words(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// The fields that the codec itself interprets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Connection,
    ContentLength,
    Expect,
    Host,
    Te,
    TransferEncoding,
    Upgrade,
    /// Hop-by-hop, and not interpreted here.
    OtherHopByHop,
    /// `Content_Length`, `Transfer---Encoding` and the like, which some readers treat as the framing field.
    FramingLookalike,
    Other,
}

impl Name {
    /// By length first: for most fields no byte has to be compared.
    #[inline]
    pub(super) fn of(name: &[u8]) -> Name {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        match name.len() {
            2 if is("te") => Name::Te,
            4 if is("host") => Name::Host,
            6 if is("expect") => Name::Expect,
            7 if is("upgrade") => Name::Upgrade,
            7 if is("trailer") => Name::OtherHopByHop,
            10 if is("connection") => Name::Connection,
            10 if is("keep-alive") => Name::OtherHopByHop,
            14 if is("content-length") => Name::ContentLength,
            14 if is("http2-settings") => Name::OtherHopByHop,
            16 if is("proxy-connection") => Name::OtherHopByHop,
            17 if is("transfer-encoding") => Name::TransferEncoding,
            18 if is("proxy-authenticate") => Name::OtherHopByHop,
            19 if is("proxy-authorization") => Name::OtherHopByHop,
            14.. if is_framing_lookalike(name) => Name::FramingLookalike,
            _ => Name::Other,
        }
    }

    #[inline]
    pub(super) fn is_hop_by_hop(self) -> bool {
        matches!(
            self,
            Name::Connection | Name::Te | Name::TransferEncoding | Name::Upgrade | Name::OtherHopByHop
        )
    }
}

/// Whether a name other than the framing fields reads as one. The first byte decides for most names.
#[inline]
fn is_framing_lookalike(name: &[u8]) -> bool {
    let may_be = match name.first() {
        Some(b'c' | b'C' | b't' | b'T') => true,
        Some(first) => !first.is_ascii_alphanumeric(),
        None => false,
    };
    may_be && reads_as_framing(name)
}

#[inline(never)]
fn reads_as_framing(name: &[u8]) -> bool {
    reads_as(name, "content-length") || reads_as(name, "transfer-encoding")
}

/// A bit per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks([u64; SLOTS / 64]);

impl Marks {
    #[inline]
    pub(super) fn set(&mut self, slot: usize) {
        self.0[slot / 64 % (SLOTS / 64)] |= 1 << (slot % 64);
    }

    #[inline]
    fn has(&self, slot: usize) -> bool {
        self.0[slot / 64 % (SLOTS / 64)] >> (slot % 64) & 1 == 1
    }
}

/// The fields of a head, and which of them are forwarded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headers<'h, 'b> {
    pub(super) all: &'h [Header<'b>],
    /// The fields that are not forwarded.
    pub(super) withheld: Marks,
}

impl<'h, 'b> Headers<'h, 'b> {
    /// Every field, in the order of arrival. Values have no space around them.
    #[inline]
    pub fn all(&self) -> &'h [Header<'b>] {
        self.all
    }

    /// The fields to forward: without hop-by-hop fields, those that Connection nominated, and Content-Length and
    /// Expect, which a forwarder writes from the parsed values, in one place, once.
    #[inline]
    pub fn end_to_end(&self) -> impl Iterator<Item = &'h Header<'b>> + use<'h, 'b> {
        let withheld = self.withheld;
        self.all.iter().enumerate().filter(move |(i, _)| !withheld.has(*i)).map(|(_, header)| header)
    }

    /// The value of the first field of this name, in any case.
    pub fn find(&self, name: &str) -> Option<&'b [u8]> {
        self.all.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_by_their_words() {
        for name in [
            "Content_Length",
            "content.length",
            "Content--Length",
            "_Content-Length",
            "Content-Length-",
            "Transfer---Encoding",
            "TRANSFER_ENCODING",
            "Transfer.Encoding",
            "transfer~encoding",
            "Transfer-_.-Encoding",
        ] {
            assert_eq!(Name::of(name.as_bytes()), Name::FramingLookalike, "{name}");
        }
        for name in [
            "ContentLength",
            "Content-Lengths",
            "X-Content-Length",
            "Content-Length-Max",
            "Transfer-Encodings",
            "Content-Encoding",
            "Content-Security-Policy",
            "--------------",
        ] {
            assert_eq!(Name::of(name.as_bytes()), Name::Other, "{name}");
        }
        assert!(
            reads_as(b"X.Forwarded_For", "x-forwarded-for") && !reads_as(b"X-Forwarded", "x-forwarded-for")
        );
    }

    #[test]
    fn hop_by_hop_fields_are_known_in_any_case() {
        for name in [
            "Connection",
            "keep-alive",
            "Proxy-Connection",
            "TE",
            "Trailer",
            "TRANSFER-ENCODING",
            "upgrade",
            "Proxy-Authenticate",
            "Proxy-Authorization",
            "HTTP2-Settings",
        ] {
            assert!(is_hop_by_hop(name.as_bytes()), "{name}");
        }
        for name in ["", "Host", "Content-Length", "Expect", "Date", "Tex", "Connections", "Keep_Alive"] {
            assert!(!is_hop_by_hop(name.as_bytes()), "{name}");
        }
    }
}
