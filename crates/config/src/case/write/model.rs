//! A measured service as a case file.

use crate::case::Calibration;
use sim::settings::{Accept, Distribution, Server};
use std::fmt::Write;
use std::time::Duration;

/// A service that was measured.
#[derive(Debug, Clone)]
pub struct Measured<'a> {
    /// The name of the case and of the service.
    pub name: &'a str,
    /// What it is, a line.
    pub about: &'a str,
    /// Notes at the top of the file, lines without `#`.
    pub notes: &'a str,
    /// Whether it can be relied on, and which figures are unknown.
    pub calibration: &'a Calibration,
    /// Processor time of a request.
    pub cpu: &'a Distribution,
    /// Waiting time of a request.
    pub wait: &'a Distribution,
    /// The application server.
    pub server: &'a Server,
    /// Cores of an instance; `None` where they are not known.
    pub cores: Option<f64>,
    /// Places of a shared pool of which a request holds one while it waits.
    pub pool: Option<u32>,
    /// Processor use without requests, in cores.
    pub background: f64,
    /// The time from the start of an instance until it serves, and the share of its cores that it uses meanwhile, where the
    /// cores are known.
    pub start: Option<(Duration, Option<f64>)>,
    /// Memory of a process in use, in bytes.
    pub memory_per_process: Option<u64>,
    /// The rate of the traffic, in requests a second: something to begin with.
    pub rate: f64,
    /// The goal.
    pub goal: &'a str,
}

/// The case file.
pub fn measured(of: &Measured<'_>) -> String {
    let mut text = String::new();
    for line in of.notes.lines() {
        let _ = writeln!(text, "{}", format!("# {line}").trim_end());
    }
    let _ = write!(
        text,
        "\ncase: {name}\nabout: {about}\n\n{calibration}\ngoal: {goal}\nwarm_up: 1m\nmeasured: 10m\n\n# Half of the best \
         throughput; put your traffic here.\ntraffic: {{ rate: {rate:.3}/s }}\n",
        name = of.name,
        about = quoted(of.about),
        calibration = calibration(of.calibration),
        goal = of.goal,
        rate = of.rate,
    );
    if let Some(places) = of.pool {
        let _ = write!(text, "\npools:\n  shared: {{ places: {places} }}\n");
    }
    let _ = write!(text, "\nservices:\n  {}:\n    endpoints:\n      all:\n", of.name);
    match of.pool {
        Some(_) => {
            let half = times(&of.cpu.scaled(0.5));
            let wait = times(of.wait);
            let _ = write!(
                text,
                "        steps:\n          - cpu: {half}\n          - hold: shared\n            time: {wait}\n          - cpu: \
                 {half}\n"
            );
        }
        None => {
            let _ = write!(
                text,
                "        cpu: {}\n        wait: {}\n        bursts: 2\n",
                times(of.cpu),
                times(of.wait)
            );
        }
    }
    let memory =
        of.memory_per_process.map(|bytes| format!(", memory_per_process: {}MiB", bytes.div_ceil(1 << 20)));
    let _ = writeln!(text, "    server: {{ {}{} }}", server(of.server), memory.unwrap_or_default());
    if let Some((boot, cpu)) = of.start {
        let cpu = cpu.map_or_else(String::new, |share| format!(", boot_cpu: {:.1}%", 100.0 * share.min(1.0)));
        let _ = writeln!(text, "    start: {{ boot: {}ms{cpu} }}", boot.as_millis().max(1));
    }
    let _ = writeln!(text, "    hosts: {{ measured: {{ {} }} }}", host(of.cores, of.background));
    text
}

fn calibration(of: &Calibration) -> String {
    let mut text = format!("calibration:\n  verdict: {}\n", of.verdict.name());
    if !of.reasons.is_empty() {
        text += "  reasons:\n";
    }
    for reason in &of.reasons {
        text += &format!("    - {}\n", quoted(reason));
    }
    if let Some(worst) = &of.worst {
        let (what, predicted, measured) = (quoted(&worst.what), worst.predicted, worst.measured);
        text += &format!(
            "  worst: {{ what: {what}, at: {}, predicted: {predicted:.4}, measured: {measured:.4} }}\n",
            worst.at
        );
    }
    if !of.unknown.is_empty() {
        let names: Vec<&str> = of.unknown.iter().map(|figure| figure.name()).collect();
        text += &format!("  unknown: [{}]\n", names.join(", "));
    }
    text
}

fn server(server: &Server) -> String {
    let mut text = format!("processes: {}, threads: {}", server.processes, server.threads);
    match server.lock {
        Some(Duration::MAX) => text += ", lock: held",
        Some(time) => text += &format!(", lock: {}", span(time)),
        None => (),
    }
    if matches!(server.accept, Accept::PerProcess { .. }) {
        text += ", accept: per-process";
    }
    text
}

fn host(cores: Option<f64>, background: f64) -> String {
    // What is not known does not limit.
    let Some(cores) = cores else { return format!("cores: {UNKNOWN}") };
    let whole = cores.ceil().max(1.0);
    let mut text = format!("cores: {whole}");
    if cores < whole {
        text += &format!(", limit: {cores}");
    }
    if background > 0.0 {
        text += &format!(", background: {background:.4}");
    }
    text
}

/// A distribution as case files write it.
fn times(of: &Distribution) -> String {
    match of {
        Distribution::Constant(time) => span(*time),
        Distribution::Exponential { mean } => format!("exponential {}", span(*mean)),
        Distribution::LogNormal { mean, cv } => format!("lognormal {} cv {cv:.3}", span(*mean)),
        Distribution::Erlang { shape, mean } => format!("erlang {} shape {shape}", span(*mean)),
        Distribution::HyperExponential { mean, cv } => format!("hyperexponential {} cv {cv:.3}", span(*mean)),
        Distribution::Uniform { least, most } => format!("{}..{}", span(*least), span(*most)),
        Distribution::Empirical(points) => {
            let mut bins: Vec<String> = Vec::new();
            let mut before = None;
            for (at, share) in points.iter() {
                // Times rise; of equal ones the last has the share.
                if before == Some(*at) {
                    bins.pop();
                }
                let share = (share * 1e6).round() / 1e4;
                bins.push(format!("{{ at_most: {}, share: {share}% }}", span(*at)));
                before = Some(*at);
            }
            format!("[{}]", bins.join(", "))
        }
    }
}

fn span(time: Duration) -> String {
    match time.as_nanos() {
        0 => "0s".to_owned(),
        nanos if nanos % 1_000_000 == 0 => format!("{}ms", nanos / 1_000_000),
        nanos => format!("{nanos}ns"),
    }
}

/// In double quotes, without control characters.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Cores of a service whose processor use is not known.
const UNKNOWN: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::calibration::{Unknown, Verdict, Worst};
    use units::Rate;

    fn suspect() -> Calibration {
        Calibration {
            verdict: Verdict::Suspect,
            reasons: vec!["p95_ms at 70.1 requests a second is +31 % off, \"more\" than 25 %".to_owned()],
            worst: Some(Worst {
                what: "p95_ms".to_owned(),
                at: Rate::per_second_of(70.1),
                predicted: 41.5,
                measured: 31.68,
            }),
            unknown: vec![Unknown::Cpu, Unknown::Cores],
        }
    }

    fn written(server: &Server, pool: Option<u32>, cores: Option<f64>) -> String {
        let points = [(10, 0.0), (10, 0.5), (20, 0.9), (80, 1.0)];
        let points = points.map(|(millis, share)| (Duration::from_millis(millis), share));
        measured(&Measured {
            name: "shop",
            about: "calibrated from http://127.0.0.1:8000/ \"a: b\"",
            notes: "first\n\nlast",
            calibration: &suspect(),
            cpu: &Distribution::LogNormal { mean: Duration::from_micros(5_250), cv: 0.31 },
            wait: &Distribution::Empirical(points.into()),
            server,
            cores,
            pool,
            background: 0.0123,
            start: cores.map(|_| (Duration::from_micros(2_345_678), Some(0.4321))),
            memory_per_process: pool.map(|_| 43 << 20),
            rate: 42.25,
            goal: "p(95)<100ms",
        })
    }

    #[test]
    fn what_is_written_can_be_read() {
        let threads = Server { lock: Some(Duration::from_millis(100)), ..Server::new(2, 4) };
        let event_loop = Server {
            lock: Some(Duration::MAX),
            accept: Accept::PerProcess { bound: 9 },
            ..Server::new(1, 1_000)
        };
        for (server, pool, cores) in
            [(&threads, None, Some(2.0)), (&event_loop, Some(3), Some(0.5)), (&threads, None, None)]
        {
            let text = written(server, pool, cores);
            let read = crate::case::parse(
                "shop.yaml",
                &text,
                std::path::Path::new(""),
                crate::case::Given::default(),
            );
            let read = read.unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
            assert_eq!(read.calibration(), Some(&suspect()), "{text}");
        }
    }
}
