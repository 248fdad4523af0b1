//! Untrusted input through the whole gateway: an instance reads exactly the requests that the bytes hold. The first
//! byte seeds the virtual network.
//! Run: `cargo +nightly fuzz run gateway_requests fuzz/corpus/gateway_requests fuzz/seeds/gateway_requests -- -max_len=512`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((&seed, bytes)) = bytes.split_first() {
        gateway::laws::requests(bytes, u64::from(seed));
    }
});
