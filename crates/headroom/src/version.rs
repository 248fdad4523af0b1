//! What this binary is: release, revision and what it contains.

#[cfg(feature = "keda")]
macro_rules! keda {
    () => {
        "\n  keda     scale: the external scaler protocol of KEDA, over gRPC"
    };
}

#[cfg(not(feature = "keda"))]
macro_rules! keda {
    () => {
        ""
    };
}

/// `headroom -V`.
pub const SHORT: &str = concat!(env!("CARGO_PKG_VERSION"), " (rev ", env!("HEADROOM_REVISION"), ")");

/// `headroom --version`.
pub const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (rev ",
    env!("HEADROOM_REVISION"),
    ")\n\n\
    build: ",
    env!("HEADROOM_PROFILE"),
    ", ",
    env!("HEADROOM_TARGET"),
    "\n\
    features:\n  \
      http1    load and gateway\n  \
      http2    load: over TLS, or with prior knowledge\n  \
      tls      load: TLS 1.2 and 1.3 (rustls with aws-lc-rs, certificates of the system)\n  \
      luau     gateway: rules and response rules\n  \
      sqlite   ledger (bundled)\n  \
      tzdb     time zones (bundled)",
    keda!()
);

/// The version with the revision, as documents and the ledger record it.
pub const RECORDED: &str = if UNKNOWN {
    env!("CARGO_PKG_VERSION")
} else {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("HEADROOM_REVISION"))
};

const UNKNOWN: bool = matches!(env!("HEADROOM_REVISION").as_bytes(), b"unknown");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_is_recorded_where_it_is_known() {
        let revision = env!("HEADROOM_REVISION");
        let release = env!("CARGO_PKG_VERSION");
        assert_eq!(SHORT, format!("{release} (rev {revision})"));
        let (commit, dirty) =
            revision.split_once('-').map_or((revision, ""), |(commit, rest)| (commit, rest));
        if commit == "unknown" {
            assert_eq!(RECORDED, release);
        } else {
            assert!(commit.len() >= 10 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{revision}");
            assert!(["", "dirty"].contains(&dirty), "{revision}");
            assert_eq!(RECORDED, format!("{release}+{revision}"));
        }
    }

    #[test]
    fn the_features_are_those_of_the_manifest() {
        let manifest = include_str!("../../../Cargo.toml");
        for dependency in [
            "features = [\"aws_lc_rs\", \"std\", \"tls12\"]",
            "features = [\"luau\", \"vendored\"]",
            "features = [\"std\", \"tzdb-bundle-always\"]",
            "features = [\"bundled\"]",
        ] {
            assert!(manifest.contains(dependency), "{dependency}");
        }
    }
}
