//! An input file, possibly compressed, possibly a pipe.

use crate::lines::BYTE_ORDER_MARK;
use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Cursor, Read, Result};

/// The text, and its beginning for format detection.
pub struct Input<'a> {
    /// The first lines, including at least one that is neither blank nor a comment, if there is one within the first 64
    /// KiB.
    pub head: Vec<u8>,
    /// The whole text, including the head.
    pub text: Box<dyn BufRead + 'a>,
}

/// Opens an input; gzip is recognised by its first two bytes, regardless of the file name.
///
/// Concatenated compressed files (such as load balancer logs) are read to the end.
///
/// # Errors
/// The beginning cannot be read or decompressed.
pub fn open<'a>(mut input: impl BufRead + 'a) -> Result<Input<'a>> {
    let mut magic = Vec::new();
    input.by_ref().take(GZIP.len() as u64).read_to_end(&mut magic)?;
    let compressed = magic == GZIP;
    let whole = Cursor::new(magic).chain(input);
    let mut text: Box<dyn BufRead + 'a> =
        if compressed { Box::new(BufReader::new(MultiGzDecoder::new(whole))) } else { Box::new(whole) };
    let mut head = Vec::new();
    while head.len() < LONGEST_HEAD && !says_something(&head) {
        let chunk = text.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let taken = chunk.len().min(LONGEST_HEAD - head.len());
        head.extend_from_slice(&chunk[..taken]);
        text.consume(taken);
    }
    Ok(Input { text: Box::new(Cursor::new(head.clone()).chain(text)), head })
}

/// Whether a line that is neither blank nor a comment is complete. Not more is read, because a pipe may pause there;
/// but the opening bracket of an array alone is not enough.
fn says_something(head: &[u8]) -> bool {
    let complete = head.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |end| &head[..end]);
    telling(complete).any(|line| line != b"[")
}

/// The lines that are neither blank nor comments, trimmed.
pub(crate) fn telling(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    text.split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
}

/// RFC 1952, 2.3.1.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// After more comments than this the format is not detected.
const LONGEST_HEAD: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn whole(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        open(bytes).unwrap().text.read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn gzip_is_recognised_by_its_magic_and_joined_members_are_read() {
        let mut bytes = compressed(b"one\n");
        bytes.extend(compressed(b"two\n"));
        assert_eq!(whole(&bytes), b"one\ntwo\n");
        assert_eq!(whole(b"one\ntwo"), b"one\ntwo");
        assert_eq!(whole(b"\x1f"), b"\x1f");
        assert_eq!(whole(b""), b"");
    }

    #[test]
    fn the_head_is_read_no_further_than_a_telling_line() {
        let input = BufReader::with_capacity(8, &b"# one\n\nGET http://h/\nmore and more\n"[..]);
        let head = open(input).unwrap().head;
        assert!(telling(&head).next().unwrap().starts_with(b"GET"));
        assert!(head.len() < 30, "{}", head.len());
    }

    #[test]
    fn a_truncated_gzip_is_an_error_not_an_end() {
        let bytes = compressed(&[b'x'; 200_000]);
        let cut = &bytes[..bytes.len() - 20];
        let mut text = Vec::new();
        assert!(open(cut).and_then(|mut input| input.text.read_to_end(&mut text)).is_err());
    }
}
