//! The key that groups requests, read from a request: for limits by key, balancing by hash, and the sessions of
//! mirrors.
//!
//! ## Common rules
//! Only fields that are forwarded count, and of several the first. Cookies are those of all Cookie fields in order,
//! with names as they are spelt, and a value means the same with and without quotes (RFC 6265, 4.2.1). A pair without
//! `=` is not a cookie. A client is an IPv4 address, or a /64 of IPv6: that is what one client has, and within it the
//! address changes every day (RFC 8981).
//!
//! ## Why there are two readers
//! Limits and balancing read the key while the parsed head is available. A mirror reads it after the request has been
//! sent, from the sent bytes; so it sees the changes of a rule, and the forwarding fields as the gateway writes them.

use crate::settings::KeyBy;
use http::codec::request::RequestHead;
use memchr::memchr_iter;
use std::net::IpAddr;

/// The value that groups a request with others; `None` if that is the client, or if the request has no such header or
/// cookie.
#[inline]
pub(crate) fn value<'b>(by: &KeyBy, head: &RequestHead<'_, 'b>) -> Option<&'b [u8]> {
    match by {
        KeyBy::Client => None,
        KeyBy::Header(name) => fields(head, name).next(),
        KeyBy::Cookie(name) => cookie(head, name),
    }
}

/// The value of the first cookie of this name.
#[inline]
pub(crate) fn cookie<'b>(head: &RequestHead<'_, 'b>, name: &str) -> Option<&'b [u8]> {
    fields(head, "cookie").find_map(|field| in_field(field, name))
}

/// Like [`value`], for a request whose head the gateway has written. What follows the head is ignored.
pub(crate) fn value_written<'a>(by: &KeyBy, request: &'a [u8]) -> Option<&'a [u8]> {
    match by {
        KeyBy::Client => None,
        KeyBy::Header(name) => fields_written(request, name).next(),
        KeyBy::Cookie(name) => fields_written(request, "cookie").find_map(|field| in_field(field, name)),
    }
}

/// The value that identifies a client.
#[inline]
pub(crate) fn client(address: IpAddr, room: &mut [u8; 8]) -> &[u8] {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            room[..4].copy_from_slice(&address.octets());
            &room[..4]
        }
        IpAddr::V6(address) => {
            room.copy_from_slice(&address.octets()[..8]);
            room
        }
    }
}

/// FNV-1a: the same on every machine, and after a restart.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Addresses differ only in their last digits, which FNV leaves in the lower bits.
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}

/// Names and values of a Cookie field, including those without a name.
pub(crate) fn cookies(field: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    field.split(|&byte| byte == b';').map(|pair| match pair.iter().position(|&byte| byte == b'=') {
        Some(at) => (pair[..at].trim_ascii(), Some(unquoted(pair[at + 1..].trim_ascii()))),
        None => (pair.trim_ascii(), None),
    })
}

#[inline]
fn in_field<'a>(field: &'a [u8], name: &str) -> Option<&'a [u8]> {
    cookies(field).find_map(|(found, value)| value.filter(|_| found == name.as_bytes()))
}

#[inline]
fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

#[inline]
fn fields<'b>(head: &RequestHead<'_, 'b>, name: &str) -> impl Iterator<Item = &'b [u8]> {
    head.headers.end_to_end().filter(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

/// Called for nearly every request on a route with a mirror: a line costs a search for its end and a look at one byte.
#[inline]
fn fields_written<'a>(request: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    let mut begin = 0;
    let lines = memchr_iter(b'\n', request).map(move |at| {
        let line = &request[begin..at];
        begin = at + 1;
        line
    });
    lines.take_while(|line| line.len() > 1).filter_map(|line| {
        let (found, value) = (line.get(..name.len())?, line.get(name.len()..)?.strip_prefix(b":")?);
        found.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
    })
}

#[cfg(test)]
mod tests;
