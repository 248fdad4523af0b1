//! The examples of RFC 7541, appendix C.2 to C.6: each block, the fields, the table after it and its size.

use crate::h2::hpack::{Decoder, HpackError, huffman};

type Pairs = &'static [(&'static str, &'static str)];

struct Example {
    block: &'static str,
    fields: Pairs,
    table: Pairs,
    table_size: u32,
}

fn check(table_size: u32, examples: &[Example]) {
    let mut decoder = Decoder::new(table_size, 1000);
    for example in examples {
        let block = bytes(example.block);
        assert_eq!(decode(&mut decoder, &block).unwrap(), owned(example.fields), "{}", example.block);
        assert_eq!(decoder.table_fields(), owned(example.table), "{}", example.block);
        assert_eq!(decoder.table_size(), example.table_size);
    }
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<(String, String)>, HpackError> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut fields = Vec::new();
    decoder.decode(block, |name, value| fields.push((text(name), text(value))))?;
    Ok(fields)
}

fn owned(pairs: Pairs) -> Vec<(String, String)> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<char> = hexadecimal.chars().filter(|digit| !digit.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

#[test]
fn c_2_single_fields() {
    // C.2.1: a literal with indexing.
    check(
        4096,
        &[Example {
            block: "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            fields: &[("custom-key", "custom-header")],
            table: &[("custom-key", "custom-header")],
            table_size: 55,
        }],
    );
    // C.2.2: a literal without indexing; C.2.3: one that is never indexed; C.2.4: an index.
    for (block, fields) in [
        ("040c 2f73 616d 706c 652f 7061 7468", &[(":path", "/sample/path")]),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", &[("password", "secret")]),
        ("82", &[(":method", "GET")]),
    ] {
        check(4096, &[Example { block, fields, table: &[], table_size: 0 }]);
    }
}

/// C.3 and C.4 have the same content, plain and Huffman coded.
fn requests(blocks: [&'static str; 3]) {
    let [first, second, third] = blocks;
    check(
        4096,
        &[
            Example {
                block: first,
                fields: &[
                    (":method", "GET"),
                    (":scheme", "http"),
                    (":path", "/"),
                    (":authority", "www.example.com"),
                ],
                table: &[(":authority", "www.example.com")],
                table_size: 57,
            },
            Example {
                block: second,
                fields: &[
                    (":method", "GET"),
                    (":scheme", "http"),
                    (":path", "/"),
                    (":authority", "www.example.com"),
                    ("cache-control", "no-cache"),
                ],
                table: &[("cache-control", "no-cache"), (":authority", "www.example.com")],
                table_size: 110,
            },
            Example {
                block: third,
                fields: &[
                    (":method", "GET"),
                    (":scheme", "https"),
                    (":path", "/index.html"),
                    (":authority", "www.example.com"),
                    ("custom-key", "custom-value"),
                ],
                table: &[
                    ("custom-key", "custom-value"),
                    ("cache-control", "no-cache"),
                    (":authority", "www.example.com"),
                ],
                table_size: 164,
            },
        ],
    );
}

#[test]
fn c_3_requests() {
    requests([
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ]);
}

#[test]
fn c_4_requests_with_huffman_coding() {
    requests([
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ]);
}

/// C.5 and C.6 have the same content, plain and Huffman coded, with a table of 256 bytes that evicts.
fn responses(blocks: [&'static str; 3]) {
    let [first, second, third] = blocks;
    check(
        256,
        &[
            Example {
                block: first,
                fields: &[
                    (":status", "302"),
                    ("cache-control", "private"),
                    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
                    ("location", "https://www.example.com"),
                ],
                table: &[
                    ("location", "https://www.example.com"),
                    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
                    ("cache-control", "private"),
                    (":status", "302"),
                ],
                table_size: 222,
            },
            Example {
                block: second,
                fields: &[
                    (":status", "307"),
                    ("cache-control", "private"),
                    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
                    ("location", "https://www.example.com"),
                ],
                table: &[
                    (":status", "307"),
                    ("location", "https://www.example.com"),
                    ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
                    ("cache-control", "private"),
                ],
                table_size: 222,
            },
            Example {
                block: third,
                fields: &[
                    (":status", "200"),
                    ("cache-control", "private"),
                    ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
                    ("location", "https://www.example.com"),
                    ("content-encoding", "gzip"),
                    ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
                ],
                table: &[
                    ("set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"),
                    ("content-encoding", "gzip"),
                    ("date", "Mon, 21 Oct 2013 20:13:22 GMT"),
                ],
                table_size: 215,
            },
        ],
    );
}

#[test]
fn c_5_responses() {
    responses([
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 \
         3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 \
         7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 \
         6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ]);
}

#[test]
fn c_6_responses_with_huffman_coding() {
    responses([
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad \
         1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 \
         e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ]);
}

#[test]
fn the_coder_of_the_tests_agrees_with_the_rfc() {
    let mut coded = Vec::new();
    huffman::encode(b"www.example.com", &mut coded);
    assert_eq!(coded, bytes("f1e3 c2e5 f23a 6ba0 ab90 f4ff"));
}

#[test]
fn broken_blocks_are_refused() {
    use HpackError::*;
    for (block, expected) in [
        // Index 0.
        ("80", Index { found: 0, bound: 61 }),
        // An index into an empty dynamic table, as a field and as a name.
        ("be", Index { found: 62, bound: 61 }),
        ("7e 01 61", Index { found: 62, bound: 61 }),
        // An integer without its end; a string that is cut; a name without a value.
        ("ff", Truncated),
        ("0003 6161", Truncated),
        ("0001 61", Truncated),
        ("ff ffff ffff ff", Integer),
        // Invalid padding of a Huffman string.
        ("0081 1e01 61", Huffman),
        // A table larger than announced; a size update after a field.
        ("3fe2 1f", TableSize { found: 4097, bound: 4096 }),
        ("8220", TableSizeLate),
    ] {
        assert_eq!(decode(&mut Decoder::new(4096, 1000), &bytes(block)), Err(expected), "{block}");
    }
    let long = [&[0, 1, b'a', 0x7f, 0xea, 0x06][..], &[b'x'; 1001]].concat();
    assert_eq!(decode(&mut Decoder::new(0, 1000), &long), Err(StringTooLong { bound: 1000 }));
}

#[test]
fn without_a_table_nothing_is_remembered() {
    let mut decoder = Decoder::new(0, 1000);
    let remembered = bytes("20 4001 6101 62");
    assert_eq!(decode(&mut decoder, &remembered), Ok(vec![("a".to_owned(), "b".to_owned())]));
    assert_eq!(decode(&mut decoder, &[0xbe]), Err(HpackError::Index { found: 62, bound: 61 }));
    assert_eq!(decode(&mut decoder, &[0x21]), Err(HpackError::TableSize { found: 1, bound: 0 }));
}

#[test]
fn a_table_larger_than_usual_begins_as_usual() {
    let mut decoder = Decoder::new(8192, 8192);
    let large = [&[0x40, 1, b'a', 0x7f, 0x89, 0x26][..], &[b'x'; 5000]].concat();
    decode(&mut decoder, &large).unwrap();
    assert_eq!(decoder.table_size(), 0, "larger than 4,096 bytes");
    // A size update to 8,192 first.
    decode(&mut decoder, &[&[0x3f, 0xe1, 0x3f][..], &large].concat()).unwrap();
    assert_eq!(decoder.table_size(), 5033);
}
