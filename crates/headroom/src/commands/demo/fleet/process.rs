//! A process of `headroom sample-service`: its flags, its start, its end.

use super::FleetError;
use super::meters;
use sim::settings::{Distribution, Step, System};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A process that listens.
pub(super) struct Running {
    child: Child,
    /// Kept, so that the process can say its last line.
    _stderr: BufReader<ChildStderr>,
    pub(super) address: SocketAddr,
}

/// Instances that serve before anything else begins.
pub(super) struct First(pub(super) Vec<Running>);

impl First {
    /// Starts as many as the system begins with.
    pub(super) fn start(system: &System) -> Result<Self, FleetError> {
        let arguments = arguments(system, false)?;
        let count = system.services[0].instances.get();
        let running = (0..count).map(|number| {
            let running = start(&arguments);
            let running = running.map_err(|error| FleetError::Instance {
                number: u64::from(number),
                why: error.to_string(),
            })?;
            until_ready(running.address).map_err(|error| FleetError::Instance {
                number: u64::from(number),
                why: error.to_string(),
            })?;
            Ok(running)
        });
        running.collect::<Result<Vec<_>, FleetError>>().map(First)
    }

    /// Their addresses.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|running| running.address).collect()
    }
}

impl Running {
    /// Ends it at once.
    pub(super) fn stop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a process, and waits until it listens.
pub(super) fn start(arguments: &[String]) -> std::io::Result<Running> {
    let program = std::env::current_exe()?;
    let mut child = Command::new(program)
        .arg("sample-service")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let Some(stderr) = child.stderr.take() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
    let mut stderr = BufReader::new(stderr);
    let mut line = String::new();
    stderr.read_line(&mut line)?;
    let address = line.split("http://").nth(1).and_then(|rest| rest.split(": ").next());
    let Some(address) = address.and_then(|address| address.parse().ok()) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(std::io::Error::other(line.trim().to_owned()));
    };
    Ok(Running { child, _stderr: stderr, address })
}

/// Waits until it is ready.
pub(super) fn until_ready(address: SocketAddr) -> std::io::Result<()> {
    let begin = Instant::now();
    loop {
        match meters::get(address, "/ready") {
            Ok((200, _)) => return Ok(()),
            _ if begin.elapsed() > READY_MAX => return Err(std::io::ErrorKind::TimedOut.into()),
            _ => thread::sleep(READY_POLL),
        }
    }
}

/// The cores of an instance.
pub(super) fn cores(system: &System) -> f64 {
    let host = &system.services[0].hosts[0];
    f64::from(host.cores) * host.speed
}

/// The service of the case as flags of `headroom sample-service`.
pub(super) fn arguments(system: &System, boots: bool) -> Result<Vec<String>, FleetError> {
    let unlike = |what: &'static str| FleetError::Unlike { what };
    let [service] = system.services.as_slice() else { return Err(unlike("several services")) };
    let [endpoint] = service.endpoints.as_slice() else { return Err(unlike("several endpoints")) };
    let [Step::Work { cpu, wait, bursts: 1, incidents: None }] = endpoint.steps.as_slice() else {
        return Err(unlike("requests of several steps"));
    };
    let text = |times: &Distribution| match times {
        Distribution::Constant(time) => Ok(format!("{}ns", time.as_nanos())),
        Distribution::Exponential { mean } => Ok(format!("exp({}ns)", mean.as_nanos())),
        Distribution::LogNormal { mean, cv } => Ok(format!("lognormal({}ns,cv={cv})", mean.as_nanos())),
        Distribution::Uniform { least, most } => {
            Ok(format!("uniform({}ns,{}ns)", least.as_nanos(), most.as_nanos()))
        }
        _ => Err(unlike("other times than fixed, exponential, log-normal and uniform ones")),
    };
    let threads = service.server.processes * service.server.threads;
    let mut all: Vec<String> = [
        ("--listen", "127.0.0.1:0".to_owned()),
        ("--cores", cores(system).to_string()),
        ("--threads", threads.to_string()),
        ("--seed", system.seed.to_string()),
        ("--cpu", text(cpu)?),
        ("--wait", text(wait)?),
    ]
    .into_iter()
    .flat_map(|(flag, value)| [flag.to_owned(), value])
    .collect();
    all.push("--numbered".to_owned());
    if boots {
        let start = &service.start;
        all.extend(["--boot".to_owned(), format!("{}ns", start.boot.as_nanos())]);
        all.extend(["--boot-cpu".to_owned(), start.boot_cpu.to_string()]);
    }
    Ok(all)
}

const READY_POLL: Duration = Duration::from_millis(10);
const READY_MAX: Duration = Duration::from_secs(20);
