//! Untrusted input first: the laws of request heads.
//! Run: `cargo +nightly fuzz run request_head fuzz/corpus/request_head fuzz/seeds/request_head -- -max_len=512`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    http::codec::laws::request_head(bytes);
});
