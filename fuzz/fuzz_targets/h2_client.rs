//! What servers send in HTTP/2: the laws of the client.
//! Run: `cargo +nightly fuzz run h2_client fuzz/corpus/h2_client fuzz/seeds/h2_client -- -max_len=1024`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    http::h2::laws::client(bytes);
});
