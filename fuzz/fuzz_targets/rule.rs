//! Rules in Luau: any text and any request, in bounds of time and memory, and what comes out can be written.
//! Run: `cargo +nightly fuzz run rule fuzz/corpus/rule fuzz/seeds/rule -- -max_len=512`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rule::laws::rule(bytes);
});
