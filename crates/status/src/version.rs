//! The version of the program, as documents, the ledger and `/status` record it.
//!
//! Only the binary has the revision: a library that contained it would be compiled again after each commit. So the binary
//! sets the version once, when it starts.

use std::sync::OnceLock;

/// The version of this program, such as `0.1.0+f0808bd2d3-dirty`: the release, and the revision where it is known, in
/// the form of [Semantic Versioning](https://semver.org/#spec-item-10).
pub fn version() -> &'static str {
    VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// Sets what [`version`] returns. The first call counts.
pub fn set_version(version: &'static str) {
    VERSION.get_or_init(|| version);
}

static VERSION: OnceLock<&'static str> = OnceLock::new();
