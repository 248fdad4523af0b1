//! Certificates for test servers, made by openssl with a certificate authority of their own.

use crate::peers::peer;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder of PEM files: `ca.pem` is the authority; `good`, `expired` (both for 127.0.0.1 and localhost) and `other`
/// (for other.example) have a `.pem` and a `.key` each.
pub struct Certificates(tempfile::TempDir);

impl Certificates {
    /// Makes them; `None`, said out loud, where openssl is missing.
    pub fn make() -> Option<Self> {
        let made = Certificates(tempfile::tempdir().unwrap());
        let openssl = peer("openssl")?;
        let run = |arguments: &str| {
            let mut command = Command::new(&openssl);
            command.current_dir(made.0.path()).args(arguments.split(' ')).stdin(Stdio::null());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        };
        std::fs::write(made.file("ca.conf"), CONFIGURATION).unwrap();
        std::fs::write(made.file("index"), "").unwrap();
        run(&format!(
            "req -x509 {KEY} -config ca.conf -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"
        ));
        for (name, extensions, dates) in [
            ("good", "here", ""),
            ("expired", "here", " -startdate 20200101000000Z -enddate 20200201000000Z"),
            ("other", "elsewhere", ""),
        ] {
            run(&format!("req {KEY} -config ca.conf -keyout {name}.key -out {name}.csr -subj /CN={name}"));
            run(&format!(
                "ca -batch -notext -config ca.conf -extensions {extensions} -in {name}.csr -out {name}.pem{dates}"
            ));
        }
        Some(made)
    }

    /// One of the files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The authority, for `--cacert`.
    pub fn authority(&self) -> String {
        self.file("ca.pem").display().to_string()
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

const CONFIGURATION: &str = "\
[req]
distinguished_name = name
x509_extensions = authority
[name]
[ca]
default_ca = tests
[tests]
database = index
new_certs_dir = .
certificate = ca.pem
private_key = ca.key
rand_serial = yes
unique_subject = no
default_md = sha256
default_days = 2
policy = any
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
[here]
subjectAltName = IP:127.0.0.1, DNS:localhost
[elsewhere]
subjectAltName = DNS:other.example
";
