//! A sentence, the evidence and a change for each cause.

use super::{Examined, cores, millis, percent, rounded};
use control::diagnosis::{Cause, Finding, Seen};

/// What is said of a finding.
pub(super) struct Sentence {
    pub(super) sentence: String,
    pub(super) evidence: Vec<String>,
    pub(super) change: String,
}

/// Of a finding, from the seconds since it holds.
pub(super) fn found(finding: Finding, seen: &[Seen], examined: &Examined) -> Sentence {
    let known = &examined.known;
    let mean = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / seen.len().max(1) as f64;
    let most = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).fold(0.0, f64::max);
    let (all, used) = (known.cores, mean(&|one| one.used));
    let use_of_cores = format!("it uses {} of {}", rounded(used), cores(all));
    let in_flight = mean(&|one| one.in_flight.unwrap_or(0.0));
    let (sentence, evidence, change) = match finding.cause {
        Cause::Tester => {
            let client = known.client.as_deref().unwrap_or("the client");
            let of =
                |of: fn(&control::diagnosis::Client) -> f64| mean(&|one| one.client.as_ref().map_or(0.0, of));
            let (thread, waiting, own) =
                (of(|client| client.busiest_thread), of(|client| client.waiting), of(|client| client.used));
            let held = of(|client| client.throttled.unwrap_or(0.0));
            let why = if thread >= 0.85 {
                format!("its busiest thread uses {} of a core", percent(thread))
            } else if held >= 0.2 {
                format!("its quota stops it in {} of the periods", percent(held))
            } else {
                format!(
                    "it waits for a core {} of the time that it could run",
                    percent(waiting / (waiting + own).max(1e-9))
                )
            };
            (
                format!("The load generator {client} is at its limit, not the service: {why}."),
                vec![format!("the service has room: {use_of_cores}")],
                "run the load generator with more threads or cores, or on another machine, and measure again"
                    .to_owned(),
            )
        }
        Cause::Stolen => {
            let (stolen, idle) = (percent(finding.value), mean(&|one| one.idle.unwrap_or(0.0)));
            let used = percent((1.0 - finding.value - idle).max(0.0));
            let full = match idle < NEARLY_FULL {
                true => format!(
                    "the machine is full at {used} of its time, and a metric of the cloud that shows this misleads"
                ),
                false => format!(
                    "a core that is wanted comes late, although the machine is idle {} of the time",
                    percent(idle)
                ),
            };
            (
                format!("The hypervisor gives {stolen} of the processor time to other guests: {full}."),
                vec![
                    use_of_cores,
                    "if the instance type has burst credits (AWS: t2, t3, t3a, t4g), they may be used up"
                        .to_owned(),
                ],
                "run the service on another instance type, or with unlimited credits if it has burst credits"
                    .to_owned(),
            )
        }
        Cause::Throttled => {
            let quota = known.quota_cores.unwrap_or(all);
            let still = mean(&Seen::standing_still);
            (
                format!(
                    "The quota of {} stops the service in {} of the periods; each time it stands still until the next one.",
                    cores(quota),
                    percent(finding.value)
                ),
                vec![use_of_cores, format!("on average {} of its threads stand still", rounded(still))],
                format!(
                    "raise the quota from {} to {}",
                    cores(quota),
                    cores((quota * 1.25 * 100.0).ceil() / 100.0)
                ),
            )
        }
        Cause::Neighbour => {
            let others = mean(&|one| one.others.unwrap_or(0.0));
            let mut evidence = vec![use_of_cores];
            evidence.extend(known.others.iter().cloned());
            (
                format!(
                    "Other processes use {} of {} that the service may run on: its threads wait for a core {} of the time that \
                     they could run.",
                    rounded(others),
                    cores(all),
                    percent(finding.value)
                ),
                evidence,
                "move the other processes to other cores, or give the service more".to_owned(),
            )
        }
        Cause::ConnectionTable => (
            format!(
                "The connection table of the host is full ({}): packets of new connections are dropped.",
                percent(finding.value)
            ),
            Vec::new(),
            "raise net.netfilter.nf_conntrack_max".to_owned(),
        ),
        Cause::Descriptors => {
            let most = known.descriptors;
            (
                most.map_or("A process has no descriptors left.".to_owned(), |most| {
                    format!(
                        "Process {} has {} of at most {} descriptors open: it can neither accept nor open more connections.",
                        most.process, most.used, most.limit
                    )
                }),
                vec![format!("connections that wait to be accepted: {}", rounded(mean(&|one| one.queued.unwrap_or(0.0))))],
                most.map_or("raise the limit of open files (ulimit -n)".to_owned(), |most| {
                    format!("raise the limit of open files from {} to {} (ulimit -n)", most.limit, most.limit.saturating_mul(4))
                }),
            )
        }
        Cause::Ports => {
            let (to, ports) =
                destination(examined, &|to| most(&|one| one.to.get(to).map_or(0.0, |to| to.ports)));
            let all = known.ports.unwrap_or(0);
            (
                format!(
                    "{} of {all} local ports towards {to} are in use: new connections to it fail.",
                    (ports * f64::from(all)).round()
                ),
                vec!["a port is held for 60 s after this side has closed its connection".to_owned()],
                format!("keep connections to {to} alive (a pool), or widen net.ipv4.ip_local_port_range"),
            )
        }
        Cause::Memory => {
            let limit = known
                .memory_limit
                .map_or("the machine's memory".to_owned(), |limit| format!("the memory limit of {limit}"));
            let reclaims = mean(&|one| one.reclaims.unwrap_or(0.0));
            (
                format!("At {limit} the kernel reclaims memory in the way of requests."),
                vec![
                    format!("the limit was reached {} times a second", rounded(reclaims)),
                    format!(
                        "tasks waited for memory {} of the time",
                        percent(mean(&|one| one.memory_wait.unwrap_or(0.0)))
                    ),
                    format!("the processes use {}", known.memory),
                ],
                "raise the memory limit by a quarter, or run fewer processes".to_owned(),
            )
        }
        Cause::Disk => (
            format!("On average {} threads of the service wait for a disk.", rounded(finding.value)),
            vec![use_of_cores],
            "put its files on a faster disk, or into memory, for a trial".to_owned(),
        ),
        Cause::Retransmits => (
            format!(
                "The network loses packets: {} of the segments with data were sent again.",
                percent(finding.value)
            ),
            vec!["a lost segment costs its request at least 200 ms, a lost SYN 1 s".to_owned()],
            "run the same load over another path or network interface".to_owned(),
        ),
        Cause::Lock => {
            let blocked = mean(&|one| one.blocked().unwrap_or(0.0));
            let process = mean(&|one| one.busiest_process);
            if blocked >= 1.5 {
                (
                    format!(
                        "Requests wait for each other: of {} in the service {} wait for another thread, at a lock or for something \
                         that a pool hands out.",
                        rounded(in_flight),
                        rounded(blocked)
                    ),
                    vec![format!("{} are worked on", rounded((in_flight - blocked).max(0.0))), use_of_cores],
                    "shorten what the lock protects, or enlarge the pool; or run a second process, which has its own".to_owned(),
                )
            } else {
                (
                    format!(
                        "The threads of one process use one core together ({}) although there are {}: a lock lets one run at a time.",
                        percent(process),
                        cores(all)
                    ),
                    vec![use_of_cores],
                    "run one more process".to_owned(),
                )
            }
        }
        Cause::OneThread => (
            format!(
                "{} uses {} of a core, and the other cores are free: this part of the service runs on one core only.",
                known
                    .busiest_thread
                    .as_ref()
                    .map_or("One thread".to_owned(), |thread| format!("Thread {thread}")),
                percent(finding.value)
            ),
            vec![use_of_cores],
            "run one more process or thread of it".to_owned(),
        ),
        Cause::Upstream => {
            let (to, awaiting) =
                destination(examined, &|to| mean(&|one| one.to.get(to).map_or(0.0, |to| to.awaiting)));
            let load = mean(&Seen::load).max(1e-3);
            (
                format!(
                    "Requests wait for {to}: {} each, {} of their time in the service.",
                    millis(awaiting / load),
                    percent(finding.value)
                ),
                vec![
                    format!(
                        "on average {} of {} requests wait there",
                        rounded(awaiting),
                        rounded(in_flight.max(awaiting))
                    ),
                    use_of_cores,
                ],
                format!("make {to} answer faster, or ask it for less in each request"),
            )
        }
        Cause::Processor => (
            format!("The service uses all of its processor time: {} of {}.", rounded(used), cores(all)),
            known
                .others
                .first()
                .filter(|_| used < 0.85 * all)
                .map(|other| format!("beside it, {other}"))
                .into_iter()
                .collect(),
            format!("give it {} more, or fewer requests", cores((all * 0.25).max(1.0).round())),
        ),
        Cause::Workers => {
            let slots = known.slots.unwrap_or(0.0);
            let workers = known.workers.unwrap_or(0);
            let threads = if slots > f64::from(workers) { " (or of their threads)" } else { "" };
            let more = examined.more_workers(&finding).unwrap_or(1);
            let layout = known.layout.clone().unwrap_or_default();
            let requests = if slots == 1.0 { "request" } else { "requests" };
            // With room on average, requests wait where they come together.
            let all_the_time = in_flight + mean(&|one| one.queued.unwrap_or(0.0)) >= slots;
            let at_times = if all_the_time { "are busy" } else { "are busy at times" };
            (
                format!(
                    "All workers {at_times} ({} {requests} at a time, {layout}) and {} more wait, while {use_of_cores}.",
                    rounded(slots),
                    rounded((finding.value * slots - slots).max(0.0))
                ),
                vec![format!("processor time is used to {}", percent(used / all.max(1e-3)))],
                format!("raise the number of workers from {workers} to {more}{threads}"),
            )
        }
        Cause::AcceptQueue => {
            let limit = known.queue_limit.map_or(String::new(), |limit| format!(" of {limit}"));
            let mut evidence = vec![use_of_cores];
            if seen.iter().all(|one| one.queued.is_none()) {
                evidence.push(
                    "they are counted for the whole network namespace; the queue itself was not seen"
                        .to_owned(),
                );
            }
            (
                format!(
                    "The accept queue{limit} is full: {} connections a second are dropped before the service sees them, and their \
                     clients try again after 1 s.",
                    rounded(finding.value)
                ),
                evidence,
                "raise the backlog of the server (and net.core.somaxconn), or accept faster".to_owned(),
            )
        }
        Cause::Profiler => (
            format!("A profiler or tracer is attached: {}.", known.profilers.join("; ")),
            Vec::new(),
            "detach it".to_owned(),
        ),
        Cause::Debug => (
            format!("The service runs in a mode for development: {}.", known.debug.join("; ")),
            Vec::new(),
            "start it as in production".to_owned(),
        ),
        Cause::NoKeepAlive => {
            let own = mean(&|one| one.opened.unwrap_or(0.0));
            let (to, opened) =
                destination(examined, &|to| mean(&|one| one.to.get(to).map_or(0.0, |to| to.opened)));
            if opened > own {
                (
                    format!(
                        "The service opens a new connection to {to} for each request ({} a second).",
                        rounded(opened)
                    ),
                    vec!["each costs a round trip, with TLS two, and a port for 60 s".to_owned()],
                    format!("keep connections to {to} alive"),
                )
            } else {
                (
                    format!(
                        "Clients open a new connection for {} of the requests ({} a second).",
                        percent(finding.value),
                        rounded(own)
                    ),
                    vec![
                        "each costs a round trip, with TLS two, and processor time on both sides".to_owned(),
                    ],
                    "switch keep-alive on, in the server and in what calls it".to_owned(),
                )
            }
        }
    };
    Sentence { sentence, evidence, change }
}

/// The destination of which there is most, and how much.
fn destination(examined: &Examined, of: &dyn Fn(usize) -> f64) -> (String, f64) {
    let all = examined.known.destinations.iter().enumerate().map(|(place, name)| (name.clone(), of(place)));
    all.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(("another service".to_owned(), 0.0))
}

/// What shows that a cause is none.
pub(super) fn ruled_out(finding: Finding, examined: &Examined) -> String {
    let (known, seen) = (&examined.known, &examined.seen);
    let mean = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).sum::<f64>() / seen.len().max(1) as f64;
    let most = |of: &dyn Fn(&Seen) -> f64| seen.iter().map(of).fold(0.0, f64::max);
    match finding.cause {
        Cause::Tester => {
            format!("{} has room", known.client.clone().unwrap_or("the load generator".to_owned()))
        }
        Cause::Stolen => format!("{} of the processor time", percent(finding.value)),
        Cause::Throttled if known.quota_cores.is_none() => "no quota".to_owned(),
        Cause::Throttled => format!("the quota was used up in {} of the periods", percent(finding.value)),
        Cause::Neighbour => format!(
            "others use {} of {}, and on average {} threads wait for a core",
            rounded(mean(&|one| one.others.unwrap_or(0.0))),
            cores(known.cores),
            rounded(mean(&|one| one.waiting))
        ),
        Cause::ConnectionTable => format!("{} full", percent(finding.value)),
        Cause::Descriptors => known
            .descriptors
            .map_or(percent(finding.value), |most| format!("{} of {} open", most.used, most.limit)),
        Cause::Ports => {
            format!("{} of those to one address in use", percent(most(&|one| one.ports.unwrap_or(0.0))))
        }
        Cause::Memory => "no reclaim, no waiting".to_owned(),
        Cause::Disk => format!("{} threads wait for one", rounded(finding.value)),
        Cause::Retransmits => format!("{} sent again", percent(finding.value)),
        Cause::Lock => {
            format!("{} requests wait for another thread", rounded(mean(&|one| one.blocked().unwrap_or(0.0))))
        }
        Cause::OneThread => {
            format!("the busiest uses {} of a core", percent(mean(&|one| one.busiest_thread)))
        }
        Cause::Upstream if known.destinations.is_empty() => {
            "no connection to another service was seen".to_owned()
        }
        Cause::Upstream => format!(
            "on average {} requests wait for one",
            rounded(mean(&|one| one.to.iter().map(|to| to.awaiting).fold(0.0, f64::max)))
        ),
        Cause::Processor => format!("{} of {} used", rounded(mean(&|one| one.used)), cores(known.cores)),
        Cause::Workers => format!(
            "{} requests in the service, {} slots",
            rounded(mean(&|one| one.in_flight.unwrap_or(0.0))),
            rounded(known.slots.unwrap_or(0.0))
        ),
        Cause::AcceptQueue => "no connection found it full".to_owned(),
        Cause::Profiler => "none is attached".to_owned(),
        Cause::Debug => "no mode for development was seen".to_owned(),
        Cause::NoKeepAlive => {
            format!("{} new connections a second", rounded(mean(&|one| one.opened.unwrap_or(0.0))))
        }
    }
}

/// A machine with less idle time has hardly a core to give.
const NEARLY_FULL: f64 = 0.1;
