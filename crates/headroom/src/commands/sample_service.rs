//! `headroom sample-service`: the built-in service with a known limit, until it is interrupted.

use crate::exit::Exit;
use crate::output;
use clap::ValueEnum;
use sample::{Boot, Config, Distribution, Error, Route, Service, Stall, WhenFull};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use units::{Bytes, parse_duration};

/// Run an HTTP service with a known limit, to try headroom
///
/// It uses real threads, CPU work, waits and a shared pool. A request uses CPU time, then waits, then holds a slot of
/// the pool; each is 0 unless set. SPAN is fixed (20ms) or random: exp(20ms), lognormal(20ms,0.5) with median and
/// sigma, lognormal(20ms,cv=0.5) with mean and coefficient of variation, uniform(10ms,30ms).
///
/// With --cores, CPU time is not used but waited for: the requests in progress share that many virtual cores, so many
/// instances on one machine behave like small containers. /metrics then reports the virtual processor time
/// (process_cpu_seconds_total), and /ready whether the service has started.
///
/// Responses contain Server-Timing with the milliseconds in queue, cpu, wait, pool (waiting for a slot) and hold.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)))]
    listen: SocketAddr,

    /// Use the settings of a known service; other options override them
    #[arg(long, value_name = "NAME")]
    preset: Option<Preset>,

    /// Seed for random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Write a CSV line for each request: arrival, departure, connection, path, status, requests in flight at arrival,
    /// and the value of X-Headroom-Arrival
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Number of workers (processes of an application server) [default: 1]
    #[arg(long, value_name = "COUNT", help_heading = "Threads and queue")]
    workers: Option<usize>,

    /// Threads in each worker [default: 8]
    #[arg(long, value_name = "COUNT", help_heading = "Threads and queue")]
    threads: Option<usize>,

    /// Run the CPU work of a worker's threads one at a time, as with a global interpreter lock
    #[arg(long, help_heading = "Threads and queue")]
    global_lock: bool,

    /// Maximum number of connections with a request that wait for a free thread [default: 1024]
    #[arg(long, value_name = "COUNT", help_heading = "Threads and queue")]
    accept_queue: Option<usize>,

    /// What to do with a request if the accept queue is full
    #[arg(long, value_name = "WHAT", default_value = "close", help_heading = "Threads and queue")]
    when_full: Full,

    /// Timeout for reading a request and for writing its response [default: 10s]
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, help_heading = "Threads and queue")]
    read_timeout: Option<Duration>,

    /// Keep-alive timeout of idle connections [default: 75s]
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, help_heading = "Threads and queue")]
    keep_alive: Option<Duration>,

    /// Stall periodically: LENGTH/EVERY, such as 1s/5s. Connections are still accepted; requests get their responses
    /// after the stall
    #[arg(long, value_name = "STALL", help_heading = "Work of a request")]
    stall: Option<Stall>,

    /// Cores of a virtual processor, such as 0.5, that the CPU time of requests takes its share of instead of the
    /// machine's
    #[arg(long, value_name = "COUNT", help_heading = "Virtual processor", conflicts_with = "global_lock")]
    cores: Option<f64>,

    /// Time until the service is ready: until then it responds with 503
    #[arg(long, value_name = "SPAN", value_parser = parse_duration, help_heading = "Virtual processor", requires = "cores")]
    boot: Option<Duration>,

    /// Share of the virtual processor that is used during --boot
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "100%", help_heading = "Virtual processor", requires = "boot")]
    boot_cpu: f64,

    /// Draw the times of a request from its number in X-Headroom-Arrival, from 0: every instance with this seed gives it
    /// the same times, and so does headroom simulate with the seed of its case
    #[arg(long, help_heading = "Work of a request")]
    numbered: bool,

    /// CPU time for each request
    #[arg(long, value_name = "SPAN", help_heading = "Work of a request")]
    cpu: Option<Distribution>,

    /// Wait for each request, without a shared resource
    #[arg(long, value_name = "SPAN", help_heading = "Work of a request")]
    wait: Option<Distribution>,

    /// Time for which each request holds a slot of the pool
    #[arg(long, value_name = "SPAN", help_heading = "Work of a request")]
    hold: Option<Distribution>,

    /// Size of the response body [default: 128]
    #[arg(long, value_name = "SIZE", help_heading = "Work of a request")]
    body: Option<Bytes>,

    /// Path with its own work, such as '/slow cpu=2ms wait=exp(20ms) hold=5ms body=2KiB'; can be repeated. The four
    /// options above apply to all other paths
    #[arg(long, value_name = "ROUTE", help_heading = "Work of a request")]
    route: Vec<Route>,

    /// Number of slots in the shared pool [default: 1]
    #[arg(long, value_name = "COUNT", help_heading = "Shared pool")]
    pool_slots: Option<usize>,

    /// If more than COUNT requests wait for or hold a slot, n of them, a hold takes n/COUNT times as long
    #[arg(long, value_name = "COUNT", help_heading = "Shared pool")]
    slow_above: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Preset {
    /// /search.cgi carries 107.5/s (2 slots of 18.6 ms) up to 12 in flight, and 12/n of that with n in flight; 40
    /// threads, 40 may queue; other paths respond at once
    SearchCgi,
    /// Every path carries 1,540/s (one slot of 0.65 ms, as a quota of 100 millicores did) and takes 7.8 ms without
    /// load; 1,024 threads
    Stresstest,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Full {
    /// Close the connection without a response
    Close,
    /// Respond with 503, then close the connection
    #[value(name = "503")]
    Unavailable,
}

/// More connections than the service takes at a time.
const STALLED_QUEUE: usize = 1 << 20;

const EXAMPLES: &str = "\
Examples:
  headroom sample-service --preset search-cgi
  headroom sample-service --threads 4 --cpu 'exp(5ms)' --wait 20ms \\
      --record arrivals.csv
  headroom sample-service --route '/search.cgi hold=18.6ms' --pool-slots 2 \\
      --slow-above 12
  headroom sample-service --cores 0.5 --cpu 'exp(10ms)' --wait 80ms \\
      --threads 64 --boot 1s";

/// Runs the service until SIGINT or SIGTERM.
pub fn run(args: &Args) -> Exit {
    // Taken before the service starts, so that no signal ends the process without the record.
    let signals = match Signals::new([SIGINT, SIGTERM]) {
        Ok(signals) => signals,
        Err(error) => {
            output::say(&format!("error: cannot listen for signals: {error}\n"));
            return Exit::Failed;
        }
    };
    match serve(plan(args), signals) {
        Ok(()) => Exit::Done,
        Err(error) => output::complain(&error, exit(&error)),
    }
}

/// What will run.
fn plan(args: &Args) -> Config {
    let mut config = match args.preset {
        Some(Preset::SearchCgi) => Config::search_cgi(),
        Some(Preset::Stresstest) => Config::stresstest(),
        None => Config::default(),
    };
    config.listen = args.listen;
    config.seed = args.seed;
    config.record.clone_from(&args.record);
    config.global_lock = args.global_lock;
    config.cores = args.cores;
    config.boot = args.boot.map(|span| Boot { span, cpu: args.boot_cpu });
    config.numbered = args.numbered;
    config.stall = args.stall;
    if args.stall.is_some() {
        // What comes during a stall waits for its end, however many they are.
        config.accept_queue = STALLED_QUEUE;
    }
    config.when_full = match args.when_full {
        Full::Close => WhenFull::Close,
        Full::Unavailable => WhenFull::Unavailable,
    };
    set(&mut config.workers, args.workers);
    set(&mut config.threads, args.threads);
    set(&mut config.accept_queue, args.accept_queue);
    set(&mut config.read_timeout, args.read_timeout);
    set(&mut config.keep_alive, args.keep_alive);
    set(&mut config.pool_slots, args.pool_slots);
    set(&mut config.otherwise.cpu, args.cpu.map(Some));
    set(&mut config.otherwise.wait, args.wait.map(Some));
    set(&mut config.otherwise.hold, args.hold.map(Some));
    set(&mut config.otherwise.body, args.body);
    set(&mut config.slow_above, args.slow_above.map(Some));
    // The first route of a path counts, so those that were typed come before the preset's.
    config.routes.splice(0..0, args.route.iter().cloned());
    config
}

/// A share such as `50%` or `0.5`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let found = number.trim().parse::<f64>().map(|number| scale * number);
    found.ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| "expected 0% to 100%".to_owned())
}

fn set<T>(field: &mut T, typed: Option<T>) {
    if let Some(value) = typed {
        *field = value;
    }
}

fn serve(config: Config, mut signals: Signals) -> Result<(), Error> {
    let limits = limits(&config);
    let running = Service::start(config)?;
    output::say(&format!("sample service on http://{}: {limits}; Ctrl-C stops it\n", running.addr()));
    signals.forever().next();
    let totals = running.stop()?;
    output::say(&format!(
        "sample service stopped: {} served, {} refused, {} found the queue full\n",
        totals.served, totals.refused, totals.turned_away
    ));
    Ok(())
}

/// The known limit of each path that has one.
fn limits(config: &Config) -> String {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut paths: Vec<&str> = config.routes.iter().map(|route| route.path.as_str()).collect();
    // No route can be the empty path, so it stands for every other path.
    paths.push("");
    let known = paths.into_iter().filter_map(|path| {
        let limit = config.known_limit(path, cores)?;
        let name = if path.is_empty() { "other paths" } else { path };
        Some(format!("{name} up to {} ({})", limit.rate, limit.by))
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() {
        "answers at once, no limit but the machine's".to_string()
    } else {
        known.join(", ")
    }
}

fn exit(error: &Error) -> Exit {
    match error {
        Error::Zero { .. }
        | Error::Cores { .. }
        | Error::NeedsCores { .. }
        | Error::LockedCores
        | Error::TooManyThreads { .. }
        | Error::BodyTooLarge { .. }
        | Error::Distribution { .. }
        | Error::Route { .. }
        | Error::Stall { .. } => Exit::Usage,
        Error::AddressInUse { .. }
        | Error::Listen { .. }
        | Error::Thread { .. }
        | Error::Record { .. }
        | Error::Poller { .. } => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args as _, Command, FromArgMatches};

    fn command() -> Command {
        Args::augment_args(Command::new("sample-service").term_width(100))
    }

    fn planned(typed: &str) -> Config {
        let typed = typed.split(' ').filter(|part| !part.is_empty());
        let matches = command().try_get_matches_from(["sample-service"].into_iter().chain(typed)).unwrap();
        plan(&Args::from_arg_matches(&matches).unwrap())
    }

    #[test]
    fn help_is_readable() {
        insta::assert_snapshot!(command().render_long_help().to_string());
    }

    #[test]
    fn flags_change_the_preset() {
        let config = planned("--preset search-cgi --threads 3 --when-full 503 --cpu exp(5ms)");
        assert_eq!((config.threads, config.pool_slots, config.slow_above), (3, 2, Some(12)));
        assert_eq!(config.when_full, WhenFull::Unavailable);
        assert!(config.work("/search.cgi").hold.is_some());
        assert_eq!(config.work("/").cpu, "exp(5ms)".parse().ok());
    }

    #[test]
    fn a_virtual_processor_is_set_as_typed() {
        let config = planned("--cores 0.5 --boot 1s --boot-cpu 50% --numbered --cpu lognormal(10ms,cv=0.6)");
        let boot = Boot { span: Duration::from_secs(1), cpu: 0.5 };
        assert_eq!((config.cores, config.boot, config.numbered), (Some(0.5), Some(boot), true));
        assert_eq!(limits(&config), "other paths up to 50/s (the virtual processor)");
        assert_eq!(share("150%"), Err("expected 0% to 100%".to_owned()));
        assert_eq!(share("0.25"), Ok(0.25));
    }

    #[test]
    fn a_numbered_request_has_the_times_that_the_simulator_draws() {
        let case = "\
case: numbered
seed: 42
rows: 1s
measured: 60s
traffic: { rate: 200/s }
services:
  web:
    endpoints: { page: { cpu: lognormal 20ms cv 0.6, wait: exponential 80ms } }
    server: {}
    hosts: { small: { cores: 1 } }
";
        let given = config::case::Given::default();
        let case = config::case::parse("numbered.yaml", case, std::path::Path::new(""), given)
            .unwrap_or_else(|problems| panic!("{problems}"));
        let arrivals = sim::Requests::schedule(&case.stages[0].system);
        assert!(arrivals.len() > 10_000, "{}", arrivals.len());
        let config = planned("--seed 42 --numbered --cpu lognormal(20ms,cv=0.6) --wait exp(80ms)");
        let service = sample::Numbered::new(&config);
        for (number, arrival) in (0..).zip(&arrivals).take(10_000) {
            let times = service.times("/", number);
            assert_eq!((times.cpu, times.wait), (arrival.cpu, arrival.wait), "request {number}");
        }
    }

    #[test]
    fn help_tells_the_true_defaults() {
        let (config, help) = (planned(""), command().render_long_help().to_string());
        for (flag, value) in [
            ("--workers", config.workers.to_string()),
            ("--threads", config.threads.to_string()),
            ("--accept-queue", config.accept_queue.to_string()),
            ("--read-timeout", format!("{}s", config.read_timeout.as_secs())),
            ("--keep-alive", format!("{}s", config.keep_alive.as_secs())),
            ("--body", config.otherwise.body.get().to_string()),
            ("--pool-slots", config.pool_slots.to_string()),
        ] {
            let words: Vec<&str> = help.split_whitespace().skip_while(|word| *word != flag).collect();
            let default = words.iter().skip_while(|word| **word != "[default:").nth(1);
            assert_eq!(default, Some(&format!("{value}]").as_str()), "{flag}");
        }
    }

    #[test]
    fn says_the_known_limit_of_each_path() {
        assert_eq!(limits(&planned("--preset search-cgi")), "/search.cgi up to 107.5/s (the pool)");
        assert_eq!(limits(&planned("--preset stresstest")), "other paths up to 1539.6/s (the pool)");
        assert_eq!(limits(&planned("--wait 20ms")), "other paths up to 400/s (the threads)");
        assert!(limits(&planned("")).contains("no limit"));
    }
}
