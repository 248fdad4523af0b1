//! Header blocks to fields.
//!
//! Every string is decoded, including those of fields that no caller needs: an invalid Huffman code or index means that
//! the two sides' tables differ, and every later response would be misread. This is cheap under load because the caller
//! decodes a block only if it differs from the last one ([`Decoder::is_pure`]).
//!
//! Source: RFC 7541, sections 3 and 6.

use super::table::Table;
use super::{HpackError, integer, static_table};

/// The state of the peer's encoder: one per connection. Every block must be decoded, in order.
#[derive(Clone, Debug)]
pub struct Decoder {
    table: Table,
    /// The announced bound; the peer chooses a size up to it.
    size_bound: u32,
    /// Most bytes of one string.
    string_bound: usize,
    pure: bool,
    /// The current field; kept to reuse the memory.
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// `header_table_size` is the `SETTINGS_HEADER_TABLE_SIZE` announced to the peer before its first block;
    /// `string_bound` is the longest name or value, in bytes, that is decoded.
    pub fn new(header_table_size: u32, string_bound: usize) -> Decoder {
        Decoder {
            // If more is announced, the peer begins with the 4,096 bytes of the RFC until it changes the size.
            table: Table::new(header_table_size.min(4096)),
            size_bound: header_table_size,
            string_bound,
            pure: true,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Calls `field` with the name and value of each field of a complete block.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        self.pure = true;
        let mut at_start = true;
        while let Some(&first) = block.first() {
            if first & 0x80 != 0 {
                let (index, rest) = integer(block, 7)?;
                let (name, value) = indexed(&self.table, index)?;
                field(name, value);
                block = rest;
            } else if first & 0xe0 == 0x20 {
                if !at_start {
                    return Err(HpackError::TableSizeLate);
                }
                let (size, rest) = integer(block, 5)?;
                if size > self.size_bound {
                    return Err(HpackError::TableSize { found: size, bound: self.size_bound });
                }
                self.table.set_size_max(size);
                self.pure = false;
                block = rest;
                continue;
            } else {
                let remember = first & 0x40 != 0;
                block = self.literal(block, if remember { 6 } else { 4 })?;
                field(&self.name, &self.value);
                if remember {
                    self.table.add(&self.name, &self.value);
                    self.pure = false;
                }
            }
            at_start = false;
        }
        Ok(())
    }

    /// Whether the last block left the table unchanged: the same bytes, directly after it, are the same fields and need
    /// not be decoded.
    pub fn is_pure(&self) -> bool {
        self.pure
    }

    /// Reads name and value of a literal; returns the remaining bytes.
    fn literal<'a>(&mut self, block: &'a [u8], prefix_bits: u32) -> Result<&'a [u8], HpackError> {
        let (index, mut rest) = integer(block, prefix_bits)?;
        self.name.clear();
        self.value.clear();
        if index == 0 {
            rest = string(rest, &mut self.name, self.string_bound)?;
        } else {
            self.name.extend_from_slice(indexed(&self.table, index)?.0);
        }
        string(rest, &mut self.value, self.string_bound)
    }

    #[cfg(any(test, feature = "laws"))]
    pub(in crate::h2) fn kept_bytes(&self) -> usize {
        self.table.kept_bytes() + self.name.capacity() + self.value.capacity()
    }

    #[cfg(test)]
    pub(in crate::h2) fn table_size(&self) -> u32 {
        self.table.size()
    }

    #[cfg(test)]
    pub(in crate::h2) fn table_fields(&self) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (0..self.table.len())
            .filter_map(|index| self.table.field(index))
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }
}

#[inline]
fn indexed(table: &Table, index: u32) -> Result<(&[u8], &[u8]), HpackError> {
    let found = match index.checked_sub(static_table::LEN + 1) {
        None => static_table::field(index),
        Some(dynamic) => table.field(dynamic),
    };
    found.ok_or(HpackError::Index { found: index, bound: static_table::LEN + table.len() })
}

/// Appends a string to `out`; returns the remaining bytes.
#[inline]
fn string<'a>(input: &'a [u8], out: &mut Vec<u8>, bound: usize) -> Result<&'a [u8], HpackError> {
    let huffman = input.first().is_some_and(|first| first & 0x80 != 0);
    let (len, rest) = integer(input, 7)?;
    let (text, rest) = rest.split_at_checked(len as usize).ok_or(HpackError::Truncated)?;
    if huffman {
        super::huffman::decode(text, out, bound)?;
    } else {
        if text.len() > bound {
            return Err(HpackError::StringTooLong { bound });
        }
        out.extend_from_slice(text);
    }
    Ok(rest)
}
