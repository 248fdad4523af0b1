//! The Huffman code of header strings.
//!
//! ## Why only the lengths are stored
//! The code is canonical: codes of one length are consecutive and in the order of their symbols. So the 257 lengths
//! determine the code, and the decoding tables are computed from them at compile time.
//!
//! Decoding looks up a byte of input at once, which covers the codes of 5 to 8 bits that most header strings consist
//! of; longer codes are searched by length.
//!
//! Source: RFC 7541, section 5.2 and appendix B.

use super::HpackError;

/// Appends the symbols of `input` to `out`; `bound` is the largest length of `out` after that.
pub(super) fn decode(input: &[u8], out: &mut Vec<u8>, bound: usize) -> Result<(), HpackError> {
    let mut input = input.iter();
    // The bits not yet used, from the top.
    let (mut bits, mut bits_len) = (0_u64, 0_u32);
    loop {
        while bits_len <= 56
            && let Some(&byte) = input.next()
        {
            bits |= u64::from(byte) << (56 - bits_len);
            bits_len += 8;
        }
        if bits_len == 0 {
            return Ok(());
        }
        // Past the end the input is continued with ones, like its padding.
        let window = (bits >> 32) as u32 | u32::MAX.checked_shr(bits_len).unwrap_or(0);
        let (symbol, len) = symbol(window);
        if len > bits_len {
            // Less than a symbol is left, and it must be padding: fewer than 8 ones.
            return if bits_len < 8 && window == u32::MAX { Ok(()) } else { Err(HpackError::Huffman) };
        }
        // The end-of-string symbol is not a byte and must not occur.
        let byte = u8::try_from(symbol).map_err(|_| HpackError::Huffman)?;
        if out.len() == bound {
            return Err(HpackError::StringTooLong { bound });
        }
        out.push(byte);
        bits <<= len;
        bits_len -= len;
    }
}

/// The symbol that the bits at the top of `window` begin with, and the length of its code.
#[inline]
fn symbol(window: u32) -> (u16, u32) {
    let (symbol, len) = SHORT[(window >> 24) as usize];
    if len > 0 {
        return (symbol, u32::from(len));
    }
    let len = (9..LEN_MAX).find(|&len| window < CODE.end[len]).unwrap_or(LEN_MAX);
    let at = (window - CODE.first[len]) >> (32 - len);
    (CODE.symbols[CODE.offset[len] + at as usize], len as u32)
}

/// The canonical code, by length of code in bits.
struct Code {
    /// The symbols, in the order of their codes.
    symbols: [u16; SYMBOLS],
    /// The index in `symbols` of the first symbol of each length.
    offset: [usize; LEN_MAX + 1],
    /// The first code of each length, in the top bits of a word.
    first: [u32; LEN_MAX + 1],
    /// The value after the last code of each length, in the top bits of a word.
    end: [u32; LEN_MAX + 1],
}

const fn code() -> Code {
    let mut code = Code {
        symbols: [0; SYMBOLS],
        offset: [0; LEN_MAX + 1],
        first: [0; LEN_MAX + 1],
        end: [0; LEN_MAX + 1],
    };
    let (mut next, mut count, mut len) = (0_u64, 0, 1);
    while len <= LEN_MAX {
        code.offset[len] = count;
        code.first[len] = next as u32;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == len {
                code.symbols[count] = symbol as u16;
                count += 1;
                next += 1 << (32 - len);
            }
            symbol += 1;
        }
        // The last code of the longest length is all ones, after which the word overflows to 0: it is never used.
        code.end[len] = next as u32;
        len += 1;
    }
    code
}

/// For the first byte of input: the symbol and the length of its code, or a length of 0 if the code is longer.
const fn short(code: &Code) -> [(u16, u8); 256] {
    let mut table = [(0, 0); 256];
    let mut len = 8;
    while len >= 5 {
        let mut byte = 0;
        while byte < 256 {
            let window = (byte as u32) << 24;
            if window >= code.first[len] && window < code.end[len] {
                let at = (window - code.first[len]) >> (32 - len);
                table[byte] = (code.symbols[code.offset[len] + at as usize], len as u8);
            }
            byte += 1;
        }
        len -= 1;
    }
    table
}

static CODE: Code = code();
static SHORT: [(u16, u8); 256] = short(&code());

/// 256 bytes and the end of a string.
const SYMBOLS: usize = 257;
/// The longest code, in bits.
const LEN_MAX: usize = 30;

/// The length of each symbol's code in bits (RFC 7541, appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// Appends the code of `input` to `out`, for tests: the client sends its heads without Huffman coding.
#[cfg(test)]
pub(in crate::h2) fn encode(input: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut bits_len) = (0_u64, 0);
    for &byte in input {
        let len = usize::from(LENGTHS[usize::from(byte)]);
        let rank = CODE.symbols[CODE.offset[len]..].iter().position(|&s| s == u16::from(byte));
        let code = (CODE.first[len] >> (32 - len)) as usize + rank.expect("each symbol has a code");
        bits = bits << len | code as u64;
        bits_len += len;
        while bits_len >= 8 {
            bits_len -= 8;
            out.push((bits >> bits_len) as u8);
            bits &= (1 << bits_len) - 1;
        }
    }
    if bits_len > 0 {
        out.push((bits << (8 - bits_len)) as u8 | 0xff >> bits_len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for from in 0..all.len() {
            let (mut coded, mut decoded) = (Vec::new(), Vec::new());
            encode(&all[from..], &mut coded);
            assert_eq!(decode(&coded, &mut decoded, all.len()), Ok(()));
            assert_eq!(decoded, &all[from..]);
        }
    }

    #[test]
    fn padding_is_ones_and_shorter_than_a_byte() {
        // The letter a is 00011.
        for (coded, expected) in [
            (&[0b0001_1111][..], Ok(())),
            (&[0b0001_1110][..], Err(HpackError::Huffman)),
            // A whole byte of padding.
            (&[0b0001_1111, 0xff][..], Err(HpackError::Huffman)),
            (&[0xff][..], Err(HpackError::Huffman)),
            // The end-of-string symbol.
            (&[0xff, 0xff, 0xff, 0xff][..], Err(HpackError::Huffman)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff][..], Err(HpackError::Huffman)),
        ] {
            assert_eq!(decode(coded, &mut Vec::new(), 100), expected, "{coded:x?}");
        }
    }

    #[test]
    fn stops_at_its_bound() {
        let mut coded = Vec::new();
        encode(b"aaaa", &mut coded);
        assert_eq!(decode(&coded, &mut Vec::new(), 4), Ok(()));
        assert_eq!(decode(&coded, &mut Vec::new(), 3), Err(HpackError::StringTooLong { bound: 3 }));
    }
}
