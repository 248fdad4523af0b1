//! One pass over the header fields of a head: framing, connection options, and hop-by-hop fields.
//!
//! Requests and responses share it, so that both directions apply the same framing rules.

use super::header::{Header, Marks, Name};
use super::{Body, Limits, Refusal};

/// The meaning of the fields, before the rules that are specific to requests or responses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields<'b> {
    pub(super) content_length: Option<u64>,
    pub(super) chunked: bool,
    pub(super) host: Option<&'b [u8]>,
    upgrade: Option<&'b [u8]>,
    /// The Expect field has `100-continue`, and another expectation.
    pub(super) expects_continue: bool,
    pub(super) expects_other: bool,
    /// The TE field has `trailers`.
    pub(super) trailers: bool,
    /// The Connection field has the option `upgrade`.
    connection_upgrade: bool,
    connection_close: bool,
    connection_keep_alive: bool,
    /// The fields that are not forwarded.
    pub(super) withheld: Marks,
    pub(super) lookalike: bool,
}

impl<'b> Fields<'b> {
    #[inline]
    pub(super) fn read(headers: &[Header<'b>], version: u8) -> Result<Fields<'b>, Refusal> {
        let mut fields = Fields::default();
        let mut options = 0;
        let mut nominated = false;
        for (i, header) in headers.iter().enumerate() {
            let name = Name::of(header.name.as_bytes());
            match name {
                Name::Other => continue,
                Name::ContentLength => {
                    if fields.content_length.is_some() {
                        return Err(Refusal::ContentLengthRepeated);
                    }
                    fields.content_length = Some(content_length(header.value)?);
                    fields.withheld.set(i);
                }
                Name::Te => {
                    fields.trailers |= list(header.value).any(|it| it.eq_ignore_ascii_case(b"trailers"));
                }
                Name::TransferEncoding => {
                    if fields.chunked {
                        return Err(Refusal::TransferEncodingInvalid);
                    }
                    transfer_encoding(header.value)?;
                    fields.chunked = true;
                }
                Name::Connection => nominated |= fields.connection(header.value, &mut options)?,
                Name::Host => {
                    if fields.host.replace(header.value).is_some() {
                        return Err(Refusal::HostRepeated);
                    }
                }
                Name::Upgrade => {
                    if fields.upgrade.replace(without_empty_ends(header.value)).is_some() {
                        return Err(Refusal::UpgradeRepeated);
                    }
                }
                Name::Expect => {
                    for expectation in list(header.value) {
                        let known = expectation.eq_ignore_ascii_case(b"100-continue");
                        fields.expects_continue |= known;
                        fields.expects_other |= !known;
                    }
                    fields.withheld.set(i);
                }
                Name::FramingLookalike => fields.lookalike = true,
                Name::OtherHopByHop => {}
            }
            if name.is_hop_by_hop() {
                fields.withheld.set(i);
            }
        }
        if fields.chunked && fields.content_length.is_some() {
            return Err(Refusal::TwoFramings);
        }
        if fields.chunked && version == 0 {
            return Err(Refusal::TransferEncodingInHttp10);
        }
        if nominated {
            fields.withhold_nominated(headers)?;
        }
        Ok(fields)
    }

    /// Whether the connection may carry another message after this one.
    #[inline]
    pub(super) fn keep_alive(&self, version: u8) -> bool {
        !self.connection_close && (version == 1 || self.connection_keep_alive)
    }

    /// The framing by the framing fields, where they decide.
    #[inline]
    pub(super) fn framing(&self) -> Option<Body> {
        if self.chunked { Some(Body::Chunked) } else { self.content_length.map(Body::Length) }
    }

    /// The protocol that this hop is asked to change to, or that it is informed of.
    #[inline]
    pub(super) fn upgrade(&self) -> Option<&'b [u8]> {
        self.upgrade.filter(|protocols| self.connection_upgrade && !protocols.is_empty())
    }

    /// Reads one Connection field; returns whether it names other fields.
    fn connection(&mut self, value: &[u8], options: &mut usize) -> Result<bool, Refusal> {
        if !value.contains(&b',') {
            return self.connection_option(value, options);
        }
        let mut nominated = false;
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            nominated |= self.connection_option(option, options)?;
        }
        Ok(nominated)
    }

    /// Reads one option; returns whether it names another field. Empty ones have no effect, but count: a recipient
    /// accepts a reasonable number of them (RFC 9110, 5.6.1.2).
    #[inline]
    fn connection_option(&mut self, option: &[u8], options: &mut usize) -> Result<bool, Refusal> {
        *options += 1;
        if *options > CONNECTION_OPTIONS_MAX {
            return Err(Refusal::ConnectionTooLong { bound: CONNECTION_OPTIONS_MAX });
        }
        if option.eq_ignore_ascii_case(b"keep-alive") {
            self.connection_keep_alive = true;
        } else if option.eq_ignore_ascii_case(b"close") {
            self.connection_close = true;
        } else if option.eq_ignore_ascii_case(b"upgrade") {
            self.connection_upgrade = true;
        } else if is_token(option) {
            return Ok(true);
        } else if !option.is_empty() {
            return Err(Refusal::ConnectionInvalid);
        }
        Ok(false)
    }

    /// Marks the fields that the Connection fields name. A second pass, which ordinary messages never need.
    #[cold]
    fn withhold_nominated(&mut self, headers: &[Header<'b>]) -> Result<(), Refusal> {
        for connection in headers.iter().filter(|h| Name::of(h.name.as_bytes()) == Name::Connection) {
            for option in list(connection.value) {
                if let Name::Host | Name::ContentLength | Name::TransferEncoding = Name::of(option) {
                    return Err(Refusal::ConnectionNamesFraming);
                }
                for (i, header) in headers.iter().enumerate() {
                    if header.name.as_bytes().eq_ignore_ascii_case(option) {
                        self.withheld.set(i);
                    }
                }
            }
        }
        Ok(())
    }
}

/// `httparse` accepts a bare LF as a line end. Each field begins after a line end and the head ends with two, so
/// checking there finds every bare LF without another pass over the bytes; the start line ends where the first field or
/// the last line end begins. `httparse` ensures that a CR is always part of CRLF.
#[inline]
pub(super) fn check_line_ends(buf: &[u8], head_len: usize, headers: &[Header<'_>]) -> Result<(), Refusal> {
    for header in headers {
        let at = offset(buf, header.name.as_bytes());
        if !buf.get(..at).is_some_and(|before| before.ends_with(b"\r\n")) {
            return Err(Refusal::BareLf { at: at.saturating_sub(1) });
        }
    }
    if !buf.get(..head_len).is_some_and(|head| head.ends_with(b"\r\n\r\n")) {
        return Err(Refusal::BareLf { at: head_len.saturating_sub(1) });
    }
    Ok(())
}

/// The offset of a slice in the buffer.
#[inline]
pub(super) fn offset(buf: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).wrapping_sub(buf.as_ptr() as usize)
}

/// The bound on the head, for a complete one and for one that is not yet complete.
#[inline]
pub(super) fn check_head_len(found: usize, complete: bool, limits: &Limits) -> Result<(), Refusal> {
    let bound = limits.head_bytes_max;
    if found > bound || (found == bound && !complete) {
        return Err(Refusal::HeadTooLong { found, bound });
    }
    Ok(())
}

/// Whether these bytes are a token: a method, a field name, a connection option.
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().copied().all(is_token_byte)
}

#[inline]
pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The elements of a list. Empty ones are skipped, as RFC 9110, 5.6.1.2, requires of recipients: some senders produce
/// `keep-alive,` when they merge another field into a list.
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// A list without leading and trailing empty elements.
pub fn without_empty_ends(mut value: &[u8]) -> &[u8] {
    while let [b',' | b' ' | b'\t', rest @ ..] | [rest @ .., b',' | b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Digits only, no sign, no space, no list; below 2^63, so that no later reader can overflow a signed word.
#[inline]
fn content_length(value: &[u8]) -> Result<u64, Refusal> {
    if value.is_empty() || value.len() > CONTENT_LENGTH_DIGITS_MAX {
        return Err(Refusal::ContentLengthInvalid);
    }
    let mut length = 0_u64;
    for &byte in value {
        if !byte.is_ascii_digit() {
            return Err(if byte == b',' {
                Refusal::ContentLengthRepeated
            } else {
                Refusal::ContentLengthInvalid
            });
        }
        length = length
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(u64::from(byte - b'0')))
            .filter(|&length| length <= i64::MAX as u64)
            .ok_or(Refusal::ContentLengthInvalid)?;
    }
    Ok(length)
}

/// `chunked` and nothing else, except empty elements: a forwarder writes the field anew, so that the next reader sees
/// one clear value.
fn transfer_encoding(value: &[u8]) -> Result<(), Refusal> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let (mut codings, mut chunked, mut last_is_chunked) = (0, 0, false);
    for coding in list(value) {
        if !is_token(coding) {
            return Err(Refusal::TransferEncodingInvalid);
        }
        codings += 1;
        last_is_chunked = coding.eq_ignore_ascii_case(b"chunked");
        chunked += usize::from(last_is_chunked);
    }
    let elements = value.iter().filter(|&&byte| byte == b',').count() + 1;
    // `chunked, chunked` and `chunked, gzip` are malformed, and an empty list frames nothing; `gzip, chunked` is well
    // formed and not supported.
    if codings == 0 || chunked > 1 || (chunked == 1 && !last_is_chunked) || elements > CONNECTION_OPTIONS_MAX
    {
        return Err(Refusal::TransferEncodingInvalid);
    }
    if codings == 1 && chunked == 1 { Ok(()) } else { Err(Refusal::TransferCodingUnsupported) }
}

/// Real messages have one to three; the bound limits the cost of the pass over nominated fields. Empty elements count
/// too.
const CONNECTION_OPTIONS_MAX: usize = 16;

/// Leading zeros are allowed up to the length of the longest number; more indicate an attack.
const CONTENT_LENGTH_DIGITS_MAX: usize = 19;
