//! The laws of the client, on generated input. The fuzz target checks the same functions.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{framed, settings};
use crate::h2::frame::{flag::*, kind::*};
use crate::h2::hpack::{Decoder, huffman};
use crate::h2::laws;

/// Valid and invalid frames of responses, so that generated input gets past the first ones.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let stream = prop_oneof![20 => (0..7_u32).prop_map(|n| 2 * n + 1), 1 => 0..20_u32];
    let block = proptest::sample::select(vec![
        &b"\x88"[..],
        b"\x88\x0f\x0d\x013",
        b"\x88\x40\x01a\x01b",
        b"\x88\xbe",
        b"\x20\x88",
        b"\x08\x03103",
        b"\x88\x61\x86\xa8\xeb\x10\x64\x9c\xbf",
        b"\x00\x01t\x01u",
        b"\x8b",
        b"",
    ]);
    let flags = proptest::sample::select(vec![END_HEADERS, END_HEADERS | END_STREAM, 0, END_STREAM]);
    let payload = vec(any::<u8>(), 0..90);
    let setting = (1..7_u16, prop_oneof![0..200_u32, 16_384..70_000_u32, any::<u32>()]);
    prop_oneof![
        10 => (stream.clone(), block.clone(), flags.clone())
            .prop_map(|(stream, block, flags)| framed(HEADERS, flags, stream, block)),
        2 => (stream.clone(), block, flags)
            .prop_map(|(stream, block, flags)| framed(CONTINUATION, flags, stream, block)),
        10 => (stream.clone(), payload.clone(), proptest::sample::select(vec![0, END_STREAM]))
            .prop_map(|(stream, payload, flags)| framed(DATA, flags, stream, &payload)),
        3 => (stream.clone(), payload.clone(), 0..5_u8).prop_map(|(stream, payload, padding)| {
            framed(DATA, PADDED, stream, &[&[padding][..], &payload, &[0; 5]].concat())
        }),
        3 => (stream.clone(), prop_oneof![1..9_u32, any::<u32>()])
            .prop_map(|(stream, by)| framed(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())),
        2 => (stream.clone(), 0..14_u32)
            .prop_map(|(stream, code)| framed(RST_STREAM, 0, stream, &code.to_be_bytes())),
        2 => vec(setting, 0..3).prop_map(|list| settings(&list)),
        1 => Just(framed(PING, 0, 0, b"12345678")),
        1 => (0..12_u32).prop_map(|last| framed(GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat())),
        1 => (any::<u8>(), any::<u8>(), stream, payload)
            .prop_map(|(kind, flags, stream, payload)| framed(kind, flags, stream, &payload)),
        1 => vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(pieces in vec(piece(), 0..30)) {
        laws::client(&pieces.concat());
    }

    #[test]
    fn any_bytes_are_taken_without_harm(bytes in vec(any::<u8>(), 0..400)) {
        laws::client(&bytes);
        laws::client_from_the_start(&bytes);
    }

    #[test]
    fn any_block_is_decoded_without_harm(blocks in vec(vec(any::<u8>(), 0..60), 0..20)) {
        let mut decoder = Decoder::new(200, 100);
        for block in blocks {
            let longest = |name: &[u8], value: &[u8]| assert!(name.len() <= 100 && value.len() <= 100);
            let _ = decoder.decode(&block, longest);
            assert!(decoder.kept_bytes() < 4096);
        }
    }

    #[test]
    fn what_is_coded_decodes_to_itself(text in vec(any::<u8>(), 0..120)) {
        let mut coded = Vec::new();
        huffman::encode(&text, &mut coded);
        let mut block = vec![0, 1, b'a'];
        // A length of up to 450 bytes, in the form with a prefix of 7 ones.
        let over = coded.len().checked_sub(127);
        match over {
            None => block.push(0x80 | coded.len() as u8),
            Some(over) if over < 128 => block.extend([0xff, over as u8]),
            Some(over) => block.extend([0xff, over as u8 | 0x80, (over >> 7) as u8]),
        }
        block.extend_from_slice(&coded);
        let mut found = Vec::new();
        Decoder::new(0, 1000).decode(&block, |_, value| found = value.to_vec()).unwrap();
        prop_assert_eq!(found, text);
    }
}
