//! What upstreams and measured services send: the laws of response heads.
//! Run: `cargo +nightly fuzz run response_head fuzz/corpus/response_head fuzz/seeds/response_head -- -max_len=512`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    http::codec::laws::response_head(bytes);
});
