//! What instances answer through the whole gateway: a client reads exactly the answer that the bytes hold, or that there
//! is none. The first byte seeds the virtual network, and says whether the request is HEAD.
//! Run: `cargo +nightly fuzz run gateway_answers fuzz/corpus/gateway_answers fuzz/seeds/gateway_answers -- -max_len=512`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((&seed, bytes)) = bytes.split_first() {
        gateway::laws::answers(bytes, seed % 4 == 0, u64::from(seed));
    }
});
