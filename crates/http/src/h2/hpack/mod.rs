//! HPACK: header fields to bytes and back.
//!
//! ## Why requests use no dynamic table
//! The head of a request is rendered once and sent a million times, on any connection. Only the static table and
//! literals without indexing always have the same meaning on every connection, so a rendered head is copied and never
//! encoded again. Its literals are not Huffman coded: that would make them a fifth shorter and cost every server more
//! to read.
//!
//! Source: RFC 7541.

mod decoder;
mod head;
pub(super) mod huffman;
mod static_table;
mod table;

pub use decoder::Decoder;
pub use head::{HeadError, RequestHead};

pub(super) use head::{CONNECTION_SPECIFIC, is_token};

use thiserror::Error;

/// An invalid header block. Both sides' tables differ from here on, so the connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is and what its fields are")]
pub enum HpackError {
    #[error("the block ends within a field")]
    Truncated,
    #[error("an integer has more than 32 bits")]
    Integer,
    #[error("index {found} names no field, the tables have {bound}")]
    Index { found: u32, bound: u32 },
    #[error("a Huffman coded string has the end-of-string symbol or padding other than up to 7 ones")]
    Huffman,
    #[error("a string has more than {bound} bytes")]
    StringTooLong { bound: usize },
    #[error("the table is set to {found} bytes, at most {bound} were offered")]
    TableSize { found: u32, bound: u32 },
    #[error("the size of the table is set after a field, expected at the start of the block only")]
    TableSizeLate,
}

/// Reads an integer with `prefix_bits` bits in its first byte. Returns it and the remaining bytes.
#[inline]
fn integer(input: &[u8], prefix_bits: u32) -> Result<(u32, &[u8]), HpackError> {
    let (&first, mut rest) = input.split_first().ok_or(HpackError::Truncated)?;
    let prefix_max = (1_u32 << prefix_bits) - 1;
    let mut value = u64::from(u32::from(first) & prefix_max);
    if value < u64::from(prefix_max) {
        return Ok((value as u32, rest));
    }
    // 5 bytes of 7 bits cover 32 bits; leading zeros beyond are legal but useless, and are refused.
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, after) = rest.split_first().ok_or(HpackError::Truncated)?;
        rest = after;
        value += u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok((u32::try_from(value).map_err(|_| HpackError::Integer)?, rest));
        }
    }
    Err(HpackError::Integer)
}

/// Appends an integer; `flags` are the bits of its first byte above the prefix.
fn write_integer(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, value: usize) {
    let prefix_max = (1 << prefix_bits) - 1;
    if value < prefix_max {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | prefix_max as u8);
    let mut rest = value - prefix_max;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_rfc() {
        // RFC 7541, C.1.1 to C.1.3.
        for (bytes, prefix_bits, value) in
            [(&[10_u8][..], 5, 10), (&[31, 154, 10][..], 5, 1337), (&[42][..], 8, 42)]
        {
            assert_eq!(integer(bytes, prefix_bits), Ok((value, &[][..])));
            let mut out = Vec::new();
            write_integer(&mut out, 0, prefix_bits, value as usize);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn integers_are_bounded() {
        assert_eq!(integer(&[], 5), Err(HpackError::Truncated));
        assert_eq!(integer(&[31], 5), Err(HpackError::Truncated));
        assert_eq!(integer(&[31, 0x80], 5), Err(HpackError::Truncated));
        assert_eq!(integer(&[31, 0x80, 0x80, 0x80, 0x80, 0x00], 5), Ok((31, &[][..])));
        assert_eq!(integer(&[31, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 5), Err(HpackError::Integer));
        assert_eq!(integer(&[31, 0xff, 0xff, 0xff, 0xff, 0x0f], 5), Err(HpackError::Integer));
        assert_eq!(integer(&[31, 0xe0, 0xff, 0xff, 0xff, 0x0f], 5), Ok((u32::MAX, &[][..])));
    }
}
