//! Header fields: where they are kept while a head is read, and which of them belong to one hop only.
//!
//! ## Why the caller brings the slots
//! A head has up to a hundred fields. Filling or moving an array for them costs more than parsing a small head,
//! so the slots live uninitialised on the caller's stack and a head borrows the part that was filled.

use std::mem::MaybeUninit;

pub use httparse::Header;

/// The most header fields that any configuration allows: one bit each in a word of 128.
pub const SLOTS: usize = 128;

/// Room for the fields of one head.
pub type Slots<'b> = [MaybeUninit<Header<'b>>; SLOTS];

/// Empty slots; costs nothing, since nothing is written.
#[inline(always)]
pub fn slots<'b>() -> Slots<'b> {
    [const { MaybeUninit::uninit() }; SLOTS]
}

/// Whether a field is meant for the next hop only and must not be forwarded, by its name alone. Fields that a
/// Connection field nominates are hop-by-hop as well.
#[inline]
pub fn is_hop_by_hop(name: &[u8]) -> bool {
    Name::of(name).is_hop_by_hop()
}

/// Whether a field of a request proves who somebody is, by its name.
pub fn is_credential(name: &[u8]) -> bool {
    [b"cookie".as_slice(), b"authorization", b"proxy-authorization"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// The fields that the codec itself understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Connection,
    ContentLength,
    Expect,
    Host,
    Te,
    TransferEncoding,
    Upgrade,
    /// Meant for one hop, and without a meaning here.
    OtherHopByHop,
    /// `Content_Length` and the like, which gateways to scripts turn into the framing field.
    FramingLookalike,
    Other,
}

impl Name {
    /// By length first: most fields are decided without comparing a byte.
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
            14 if is("content_length") => Name::FramingLookalike,
            14 if is("http2-settings") => Name::OtherHopByHop,
            16 if is("proxy-connection") => Name::OtherHopByHop,
            17 if is("transfer-encoding") => Name::TransferEncoding,
            17 if is("transfer_encoding") => Name::FramingLookalike,
            18 if is("proxy-authenticate") => Name::OtherHopByHop,
            19 if is("proxy-authorization") => Name::OtherHopByHop,
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

/// The fields of a head, and which of them are forwarded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headers<'h, 'b> {
    pub(super) all: &'h [Header<'b>],
    /// Bit i: field i stays on this hop.
    pub(super) withheld: u128,
}

impl<'h, 'b> Headers<'h, 'b> {
    /// Every field, in the order of arrival. Values have no space around them.
    #[inline]
    pub fn all(&self) -> &'h [Header<'b>] {
        self.all
    }

    /// The fields to forward: without hop-by-hop fields, those that Connection nominated, and Content-Length,
    /// which whoever forwards writes from the framing, in one place, once.
    #[inline]
    pub fn end_to_end(&self) -> impl Iterator<Item = &'h Header<'b>> + use<'h, 'b> {
        let withheld = self.withheld;
        self.all.iter().enumerate().filter(move |(i, _)| withheld >> i & 1 == 0).map(|(_, header)| header)
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
