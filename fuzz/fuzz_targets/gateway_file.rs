//! Gateway files: any text is read or refused, and what is wrong with it can be drawn.
//! Run: `cargo +nightly fuzz run gateway_file fuzz/corpus/gateway_file fuzz/seeds/gateway_file -- -max_len=512`.
#![no_main]

use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match config::parse("gateway.yaml", text, Path::new("nowhere")) {
        Ok((settings, _)) => {
            let written = config::write(&settings);
            let again = config::parse("written.yaml", &written, Path::new("nowhere"));
            assert!(again.is_ok_and(|(again, _)| again == settings), "{written}");
        }
        Err(problems) => {
            problems.graphical();
        }
    }
});
