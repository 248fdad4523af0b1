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
    /// The endpoints, at least one.
    pub endpoints: &'a [Endpoint<'a>],
    /// The application server.
    pub server: &'a Server,
    /// Cores of an instance; `None` where they are not known.
    pub cores: Option<f64>,
    /// A shared pool of which a request holds a place while it waits.
    pub pool: Option<Pool<'a>>,
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

/// An endpoint that was measured.
#[derive(Debug, Clone)]
pub struct Endpoint<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its share of the requests, relative to the others; `None` if it is the only one.
    pub share: Option<f64>,
    /// Processor time of a request.
    pub cpu: &'a Distribution,
    /// Waiting time of a request.
    pub wait: &'a Distribution,
    /// Where its figures come from, lines without `#`.
    pub notes: &'a str,
}

/// A pool behind a service.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its places.
    pub places: u32,
    /// The share of the wait during which a request holds a place, above 0 and at most 1.
    pub held: f64,
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
    if let Some(Pool { name, places, .. }) = of.pool {
        let _ = write!(text, "\npools:\n  {}: {{ places: {places} }}\n", keys(&[name]).concat());
    }
    let _ = write!(text, "\nservices:\n  {}:\n    endpoints:\n", of.name);
    let names: Vec<&str> = of.endpoints.iter().map(|one| one.name).collect();
    for (one, key) in of.endpoints.iter().zip(keys(&names)) {
        endpoint(one, &key, of.pool, &mut text);
    }
    let memory =
        of.memory_per_process.map(|bytes| format!(", memory_per_process: {}MiB", bytes.div_ceil(1 << 20)));
    let _ = writeln!(text, "    server: {{ {}{} }}", server(of.server), memory.unwrap_or_default());
    if matches!(of.server.accept, Accept::Kept { .. }) {
        // The load generator reuses connections like this.
        text += "    balancing: { reuse: most-recent }\n";
    }
    if let Some((boot, cpu)) = of.start {
        let cpu = cpu.map_or_else(String::new, |share| format!(", boot_cpu: {:.1}%", 100.0 * share.min(1.0)));
        let _ = writeln!(text, "    start: {{ boot: {}ms{cpu} }}", boot.as_millis().max(1));
    }
    let _ = writeln!(text, "    hosts: {{ measured: {{ {} }} }}", host(of.cores, of.background));
    text
}

fn endpoint(of: &Endpoint<'_>, key: &str, pool: Option<Pool<'_>>, text: &mut String) {
    let name = (key != of.name).then(|| plain(of.name));
    for line in name.as_deref().into_iter().chain(of.notes.lines()) {
        let _ = writeln!(text, "      # {line}");
    }
    let _ = writeln!(text, "      {key}:");
    if let Some(share) = of.share {
        let _ = writeln!(text, "        share: {share:.4}");
    }
    let Some(Pool { name, held, .. }) = pool else {
        let (cpu, wait) = (times(of.cpu), times(of.wait));
        let _ = write!(text, "        cpu: {cpu}\n        wait: {wait}\n        bursts: 2\n");
        return;
    };
    let half = times(&of.cpu.scaled(0.5));
    let _ = write!(text, "        steps:\n          - cpu: {half}\n");
    if held < 1.0 {
        let _ = writeln!(text, "          - wait: {}", times(&of.wait.scaled(1.0 - held)));
    }
    let (hold, wait) = (keys(&[name]).concat(), times(&of.wait.scaled(held)));
    let _ = write!(text, "          - hold: {hold}\n            time: {wait}\n          - cpu: {half}\n");
}

/// Names that a case file accepts (letters, digits, `-` and `_`, a letter first), each once, for any names.
fn keys(names: &[&str]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for name in names {
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { ' ' }).collect();
        let words: Vec<&str> = plain.split_whitespace().collect();
        let key = words.join("-");
        // YAML reads some words as other values.
        let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
        let is_word = key.starts_with(|c: char| c.is_ascii_alphabetic());
        let key = match is_word && !reserved.contains(&key.to_ascii_lowercase().as_str()) {
            true => key,
            false if key.is_empty() => "x".to_owned(),
            false => format!("x-{key}"),
        };
        let other = (2..).map(|number| format!("{key}-{number}")).find(|other| !keys.contains(other));
        let taken = keys.contains(&key);
        keys.extend(other.filter(|_| taken).or(Some(key)));
    }
    keys
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
    match server.accept {
        Accept::PerProcess { .. } => text += ", accept: per-process",
        Accept::Kept { linger, inline, .. } => {
            text += &format!(", accept: kept, linger: {}, inline: {inline}", span(linger));
        }
        Accept::Shared { .. } => (),
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

/// Without control characters.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// In double quotes, without control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text).replace('\\', "\\\\").replace('"', "\\\""))
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

    fn written(server: &Server, pool: Option<Pool<'_>>, cores: Option<f64>) -> String {
        let points = [(10, 0.0), (10, 0.5), (20, 0.9), (80, 1.0)];
        let points = points.map(|(millis, share)| (Duration::from_millis(millis), share));
        let cpu = Distribution::LogNormal { mean: Duration::from_micros(5_250), cv: 0.31 };
        let wait = Distribution::Empirical(points.into());
        let one = |name, share, notes| Endpoint { name, share, cpu: &cpu, wait: &wait, notes };
        let endpoints = match cores {
            Some(_) => vec![one("all", None, "")],
            None => vec![
                one("GET /products/:id \"x\"", Some(0.75), "cpu 5 ms (4 to 6)\nwait 8 ms"),
                one("yes", Some(0.25), ""),
            ],
        };
        measured(&Measured {
            name: "shop",
            about: "calibrated from http://127.0.0.1:8000/ \"a: b\"",
            notes: "first\n\nlast",
            calibration: &suspect(),
            endpoints: &endpoints,
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
    fn any_name_becomes_a_key() {
        let names = ["GET /products/:id", "log in", "log-in", "yes", "/", "7", "db", "GET /a", "GET /a/"];
        let keys = keys(&names);
        assert_eq!(
            keys,
            ["GET-products-id", "log-in", "log-in-2", "x-yes", "x", "x-7", "db", "GET-a", "GET-a-2"]
        );
    }

    #[test]
    fn what_is_written_can_be_read() {
        let threads = Server { lock: Some(Duration::from_millis(100)), ..Server::new(2, 4) };
        let event_loop = Server {
            lock: Some(Duration::MAX),
            accept: Accept::PerProcess { bound: 9 },
            ..Server::new(1, 1_000)
        };
        let linger = Duration::from_millis(200);
        let kept = Server { accept: Accept::Kept { bound: 9, linger, inline: 10 }, ..threads.clone() };
        let whole = Some(Pool { name: "shared", places: 3, held: 1.0 });
        let part = Some(Pool { name: "db.main", places: 3, held: 0.25 });
        for (server, pool, cores) in [
            (&threads, None, Some(2.0)),
            (&event_loop, whole, Some(0.5)),
            (&kept, None, Some(2.0)),
            (&threads, part, None),
            (&threads, None, None),
        ] {
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
