//! Bodies in chunks: the laws of the decoder.
//! Run: `cargo +nightly fuzz run chunked fuzz/corpus/chunked fuzz/seeds/chunked -- -max_len=512`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    http::codec::laws::chunked(bytes);
});
