//! The programs that tests start: headroom, and servers, which end with the test.

use crate::schema::check;
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// headroom with these arguments, and not with the ledger of whoever runs the tests.
pub fn headroom(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headroom"));
    command.env("HEADROOM_LEDGER", concat!(env!("CARGO_TARGET_TMPDIR"), "/it.sqlite"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// `headroom load` to its end.
pub fn load(url: &str, arguments: &[&str]) -> Output {
    headroom(&[&["load", url], arguments].concat()).output().unwrap()
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The JSON of a run without thresholds, checked against the schema and its account. It ended well, or with 1 where no
/// good response came.
pub fn json(output: &Output) -> Value {
    let value = measured(output);
    let without = value["good_share"].as_f64().is_none_or(|share| share == 0.0);
    assert_eq!(output.status.code(), Some(without.into()), "{}", text(&output.stderr));
    value
}

/// The JSON of a run, whatever came of its thresholds; checked in the same way.
pub fn measured(output: &Output) -> Value {
    let value: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let schema = serde_json::from_str(documents::run::SCHEMA).unwrap();
    assert_eq!(check(&schema, &value), Vec::<String>::new());
    let account = value["accounting"].as_object().unwrap();
    let fates = account.iter().filter(|(name, _)| *name != "scheduled" && *name != "resent");
    let sum: u64 = fates.map(|(_, count)| count.as_u64().unwrap()).sum();
    assert_eq!(account["scheduled"].as_u64(), Some(sum), "every arrival is accounted for");
    value
}

/// The text of a command that ended well; of a run without thresholds and without a good response, which ends with 1.
pub fn summary(output: &Output) -> &str {
    let without = text(&output.stdout).starts_with("NO GOOD RESPONSE: ");
    assert_eq!(output.status.code(), Some(without.into()), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Asserts how a run with thresholds ended: with `code`, or with 3 where a busy machine made it invalid.
pub fn judged(output: &Output, code: i32) {
    let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
    let invalid = output.status.code() == Some(3) && said.contains("invalid");
    assert!(invalid || output.status.code() == Some(code), "{:?}: {said}", output.status);
}

/// What was said to a command that was refused before any load.
pub fn refused(output: &Output) -> &str {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    said
}

/// A process that ends with the test.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

impl Server {
    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it by SIGKILL.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Starts a server, and waits until it listens.
    pub fn start(mut command: Command, address: SocketAddr) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Server(command.spawn().unwrap());
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{command:?} does not listen");
            assert!(server.0.try_wait().unwrap().is_none(), "{command:?} ended");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }
}

/// An address of this machine without a listener.
pub fn free_address() -> SocketAddr {
    let [address] = free_addresses();
    address
}

/// Several such addresses, all of them different.
pub fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap())
}

/// Runs without any other test that measures: for tests that nothing may disturb, or that take all cores for a while.
pub fn alone() -> Slots {
    Slots::take(MEASURING)
}

/// Runs beside another one that uses the processor, and a few that mostly wait: for tests that use the processor.
pub fn beside_one() -> Slots {
    Slots::take(2)
}

/// Runs beside some others: for services that mostly wait, so that six of them and their generators leave two cores idle
/// most of the time.
pub fn beside_others() -> Slots {
    Slots::take(1)
}

/// How many tests may measure at a time.
const MEASURING: u32 = 6;

static TAKEN: Mutex<u32> = Mutex::new(0);
static RETURNED: Condvar = Condvar::new();

/// Some of the [`MEASURING`] slots, until it is dropped.
pub struct Slots(u32);

impl Slots {
    fn take(count: u32) -> Slots {
        let taken = TAKEN.lock().unwrap();
        let mut taken = RETURNED.wait_while(taken, |taken| *taken + count > MEASURING).unwrap();
        *taken += count;
        Slots(count)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap() -= self.0;
        RETURNED.notify_all();
    }
}
