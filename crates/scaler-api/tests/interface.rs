//! The code of the interface is made of its file, with compilers written in Rust.

use std::path::Path;

/// Made here and kept, so that a build needs no compiler of interface files.
#[test]
fn the_code_of_the_interface_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let set = protox::compile(["externalscaler.proto"], [&folder]).unwrap();
    let out = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(out.path())
        .compile_fds(set)
        .unwrap();
    let current = std::fs::read_to_string(out.path().join("externalscaler.rs")).unwrap();
    let kept = folder.join("externalscaler.rs");
    if std::env::var_os("UPDATE_INTERFACE").is_some() {
        std::fs::write(&kept, current).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(kept == current, "run `UPDATE_INTERFACE=1 cargo test -p scaler-api` and commit the code");
}
