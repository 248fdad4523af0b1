//! A PostgreSQL server of its own, for the time of a test.

use super::peers::peer;
use crate::{Ledger, Location};
use ::postgres::{Client, NoTls};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A running server, which ends with this value.
pub(super) struct Server {
    program: PathBuf,
    process: Option<Child>,
    folder: TempDir,
    port: u16,
}

impl Server {
    /// None where PostgreSQL is missing.
    pub(super) fn start() -> Option<Self> {
        let (initdb, program) = (peer("initdb")?, peer("postgres")?);
        let folder = tempfile::tempdir().unwrap();
        // It refuses to run as a superuser.
        chown(folder.path(), user(folder.path()), None).unwrap();
        let made = as_user(&initdb.canonicalize().unwrap(), folder.path())
            .args(["--no-sync", "--auth=trust", "--username=headroom", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut server = Server { program: program.canonicalize().unwrap(), process: None, folder, port };
        server.begin();
        Some(server)
    }

    /// Starts it, and waits until it answers.
    pub(super) fn begin(&mut self) {
        let folder = self.folder.path();
        let process = as_user(&self.program, folder)
            .arg("-D")
            .arg(folder.join("data"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", "fsync=off", "-k"])
            .arg(folder)
            .spawn()
            .unwrap();
        self.process = Some(process);
        let begun = Instant::now();
        while let Err(error) = Client::connect(&self.url("postgres"), NoTls) {
            assert!(begun.elapsed() < Duration::from_secs(60), "{error:?}");
            sleep(Duration::from_millis(50));
        }
    }

    /// Ends it at once, as a crash would.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Its children notice that it is gone.
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// A ledger in a new database.
    pub(super) fn database(&self, name: &str) -> Location {
        let mut client = Client::connect(&self.url("postgres"), NoTls).unwrap();
        // A name has at most 63 letters.
        let name: String = name.chars().take(60).collect();
        client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let place: Location = self.url(&name).parse().unwrap();
        drop(Ledger::open(&place).unwrap());
        place
    }

    pub(super) fn url(&self, database: &str) -> String {
        format!("postgres://headroom@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(process) = &mut self.process else { return };
        // A stop that waits for no client: it ends all its processes.
        let stopped = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
        assert!(stopped.is_ok_and(|status| status.success()));
        let _ = process.wait();
    }
}

/// The user that it runs as: an unprivileged one where this process is the superuser's.
fn user(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    (std::fs::metadata(folder).unwrap().uid() == 0).then_some(NOBODY)
}

fn as_user(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("TZ", "UTC");
    use std::os::unix::fs::MetadataExt;
    if std::fs::metadata(folder).unwrap().uid() == NOBODY {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

const NOBODY: u32 = 65534;
