//! The worker in a virtual network with faults of every kind, in virtual time.
//!
//! Each seed makes a configuration, clients and instances with faults of every kind, and runs them to the end. The
//! invariants: a request that was sent completely gets its own response, once, or its connection breaks; instances see
//! only complete requests, a POST at most once; counts and log lines agree; nothing is left in flight.
//!
//! `HEADROOM_SIM_SEED=n` replays one seed; `HEADROOM_SIM_SEEDS=10000` runs that many.

mod client;
mod instance;
mod limits;
mod pools;
mod shadow;

use super::{Ends, LISTENER, UpstreamState, Worker};
use crate::access_log::Log;
use crate::control_room::ControlRoom;
use crate::metrics::Answer;
use crate::settings::{
    AccessLog, Class, ConnectionLimits, KeyBy, LogForm, LogFormat, Mirror, PathMatch, Policy, Pool,
    RateClassSettings, Route, Rule, Settings, TrailerName,
};
use crate::shared::Shared;
use client::Client;
use control::mirror::Methods;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use http::reactor::virtual_net::{Reach, VirtualNet, World};
use instance::Instance;
use shadow::Shadows;
use stats::Rng;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use units::Timestamp;

/// The kind of faults in a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// No client leaves, no instance fails.
    Calm,
    /// Many uploads with PUT, sent in small parts over connections that break.
    Uploads,
    Mixed,
}

/// A request of a client's script.
struct Asked {
    id: u64,
    method: &'static str,
    /// It asks for the connection to be closed.
    closes: bool,
    /// It uses HTTP/1.0.
    old: bool,
    /// Where its head ends, if it waits there for 100 (Continue).
    waits_at: Option<usize>,
    /// Where it ends in the script.
    ends: usize,
}

/// The bytes of a request's body from `at` on. They differ at each offset, so that a gap is detected.
fn pattern_from(id: u64, at: usize, size: usize) -> Vec<u8> {
    let letter = |place: usize| {
        let mixed = (id << 32 ^ place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        b'a' + ((mixed >> 32) % 26) as u8
    };
    (at..at + size).map(letter).collect()
}

fn pattern(id: u64, size: usize) -> Vec<u8> {
    pattern_from(id, 0, size)
}

const ROUTES: [&str; 6] = ["/free", "/shaped", "/limited", "/few", "/ruled", "/nowhere"];

const RULE: &str = "connection.setServiceLevelClass('level')\n\
    if slm.conforming('level') < 100 then\n\
        if rate.getBacklog('shape') > 1 then http.sendResponse(503, 'Busy', 'busy') else rate.use('shape') end\n\
    end\n\
    if http.getMethod() == 'PUT' and string.len(http.getPath()) % 5 == 0 then error('no') end";

/// Rules that make permitted changes some of the time, and fail some of the time.
const CHANGING_RULE: &str = "local length = string.len(http.getPath())\n\
    if length % 2 == 0 then pool.select('pool 0') else http.setHeader('X-Changed', string.rep('x', length)) end\n\
    if length % 3 == 0 then http.setQueryParam('a', 'b') http.removeHeader('X-Nothing') log.info('changed') end\n\
    if length % 7 == 0 then http.setPath('/') error('half-way') end";
const RESPONSE_RULE: &str = "local length = string.len(http.getPath())\n\
    http.addResponseHeader('X-Seen', tostring(http.getResponseCode()))\n\
    if length % 3 == 0 then http.setResponseCode(http.getResponseCode(), 'Changed') end\n\
    if length % 5 == 0 then error('no') end\n\
    if length % 4 == 0 then http.sendResponse(418, 'text/plain', 'something else') end";

fn rule(source: &str) -> Option<Rule> {
    Some(Rule { name: "rule".to_owned(), source: source.to_owned() })
}

fn millis(millis: usize) -> Duration {
    Duration::from_millis(millis as u64)
}

fn settings(rng: &mut Rng, log: &Path, with_rule: bool, mood: Mood) -> Settings {
    let calm = mood == Mood::Calm;
    // Without faults, whatever takes longer than a time-out is a bug in the loop.
    let patience = if calm { 20 } else { 1 };
    let mut pools = Vec::new();
    for number in 0..2 {
        let mut pool = pools::random(number, rng, calm);
        limits::places(&mut pool, rng);
        pool.connect_timeout = millis(100 * patience);
        pool.answer_timeout = millis(400 * patience);
        pool.idle_connections = rng.below(4) as u32 + u32::from(mood == Mood::Uploads);
        pool.idle_timeout = millis(300);
        pools.push(pool);
    }
    let mirrors = mirrors(rng, &mut pools);
    let class = |name: &str, per_second: usize, burst: usize, backlog: usize| {
        let limit = Limit { rate: units::Rate::per_second_of(per_second as f64), burst: burst as u32 };
        let settings = RateSettings {
            per_second: Some(limit),
            per_minute: None,
            backlog: backlog as u32,
            longest_wait: millis(300),
        };
        Class::new(name, RateClassSettings::from(settings))
    };
    let mut rate_classes =
        vec![class("shape", 20 + rng.below(100), 1 + rng.below(3), rng.below(4)), class("gate", 10, 1, 1)];
    rate_classes.iter_mut().for_each(|class| limits::refine(&mut class.settings, rng));
    let (few, shadow) = limits::concurrency(rng);
    let routes = ROUTES[..if with_rule { 5 } else { 4 }]
        .iter()
        .enumerate()
        .map(|(number, prefix)| Route {
            rate_class: (number == 1).then_some(0),
            concurrency: (number == 3 || number == 1).then_some(0),
            policy: (number == 2).then_some(0),
            server_timing: vec!["app".to_owned(); rng.below(2)],
            buffer_body: (rng.below(5) == 0).then(|| units::Bytes::new(if calm { 1 << 20 } else { 8_000 })),
            priority: limits::priority(rng),
            deadline_header: (rng.below(4) == 0).then(|| limits::PATIENCE.to_owned()),
            mirrors: (0..mirrors.len()).filter(|_| rng.below(2) == 0).collect(),
            request_trailers: TrailerName::new("x-sum").into_iter().filter(|_| rng.below(2) == 0).collect(),
            rule: match number {
                4 => rule(RULE),
                3 if with_rule => rule(CHANGING_RULE),
                _ => None,
            },
            response_rule: if with_rule && number >= 3 { rule(RESPONSE_RULE) } else { None },
            ..Route::new(&prefix[1..], PathMatch::Prefix((*prefix).to_owned()), number % 2)
        })
        .collect();
    Settings {
        access_log: AccessLog::File(log.to_owned()),
        log_form: LogForm { format: LogFormat::ALL[rng.below(3)], ..LogForm::default() },
        limits: ConnectionLimits {
            connections: if calm { 100 } else { 3 + rng.below(20) as u32 },
            head_timeout: millis(300 * patience),
            idle_timeout: millis(600 * patience),
            drain_timeout: millis(3_000),
            ..holding(rng, calm, patience)
        },
        pools,
        service_levels: vec![Class::new(
            "level",
            ServiceLevelSettings { window: millis(500), ..ServiceLevelSettings::within(millis(10)) },
        )],
        rate_classes,
        concurrency_limits: vec![Class::new("few", few)],
        priorities: limits::PRIORITIES.map(str::to_owned).to_vec(),
        policies: vec![Policy {
            rate_class: Some(1),
            concurrency: Some(0),
            shadow,
            ..Policy::new("protect", 0)
        }],
        mirrors,
        capture: (rng.below(3) == 0).then(|| crate::settings::Capture::new("capture".into())),
        routes,
        trusted_hops: vec!["10.1.0.0/28".parse().expect("a range"); rng.below(2)],
        ..Settings::new(SocketAddr::from(([127, 0, 0, 1], 0)))
    }
}

/// Bounds on clients that hold a connection or a request, tight unless there are no faults.
fn holding(rng: &mut Rng, calm: bool, patience: usize) -> ConnectionLimits {
    let mut limits = ConnectionLimits { body_grace: millis(200 * patience), ..ConnectionLimits::DEFAULT };
    if !calm {
        limits.body_min_rate = [0, 240, 20_000][rng.below(3)];
        limits.connections_per_client = (rng.below(4) == 0).then_some(1);
        limits.body_timeout = (rng.below(4) == 0).then(|| millis(500));
        limits.body_max = (rng.below(4) == 0).then(|| units::Bytes::new(5_000));
    }
    limits
}

/// Mirrors to shadow pools, with tight bounds of every kind.
fn mirrors(rng: &mut Rng, pools: &mut Vec<Pool>) -> Vec<Mirror> {
    let mut mirrors = Vec::new();
    for number in 0..rng.below(3) {
        let instances = (0..=rng.below(2)).map(|instance| address(SHADOWS + number, instance)).collect();
        let pool = Pool {
            connect_timeout: millis(100),
            idle_connections: rng.below(3) as u32,
            ..Pool::new("shadow", instances)
        };
        pools.push(pool);
        let mut mirror = Mirror::new(&format!("mirror {number}"), pools.len() - 1);
        let fraction = [0.3, 1.0][rng.below(2)];
        mirror.choice.fraction = units::Ratio::new(fraction).expect("a share");
        if rng.below(4) == 0 {
            mirror.choice.limit = Some(Limit { rate: units::Rate::per_second_of(10.0), burst: 2 });
        }
        mirror.choice.methods = [Methods::Safe, Methods::All, Methods::All][rng.below(3)];
        mirror.key = [KeyBy::Client, KeyBy::Header("content-length".to_owned())][rng.below(2)].clone();
        mirror.deadline = millis([20, 200, 1_000][rng.below(3)]);
        (mirror.queue, mirror.in_flight) = (1 + rng.below(3) as u32, 1 + rng.below(2) as u32);
        mirror.body_max = units::Bytes::new([100, 10_000, 100_000][rng.below(3)]);
        mirrors.push(mirror);
    }
    mirrors
}

/// The index of the first shadow pool.
const SHADOWS: usize = 7;

fn address(pool: usize, instance: usize) -> SocketAddr {
    SocketAddr::from(([10, 2, pool as u8, instance as u8], 80))
}

fn simulate(seed: u64) -> Result<(), String> {
    let rng = &mut Rng::new(seed, "simulation");
    let log = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let with_rule = rng.below(6) == 0;
    let mood = [Mood::Calm, Mood::Uploads, Mood::Mixed, Mood::Mixed][rng.below(4)];
    let calm = mood == Mood::Calm;
    let first = settings(rng, log.path(), with_rule, mood);
    let shared = Shared::new(first.clone(), None, Timestamp::ZERO).map_err(|error| error.to_string())?;
    let room = Arc::new(ControlRoom::new(shared, 1));
    let world = World::new(seed);
    let ends = Ends {
        log: Log::with_form(&first.access_log, first.log_form).map_err(|error| error.to_string())?,
        ..Ends::quiet(world.net(), world.listen(LISTENER), seed)
    };
    let mut worker: Worker<VirtualNet> =
        Worker::new(ends, 0, Arc::clone(&room)).map_err(|error| error.to_string())?;

    let mut instances: Vec<Instance> = (0..2)
        .flat_map(|pool| (0..3).map(move |instance| address(pool, instance)))
        .map(|address| Instance::new(address, rng, mood))
        .collect();
    for instance in &instances {
        let reach =
            [Reach::Accepts, Reach::Accepts, Reach::Accepts, Reach::Refuses, Reach::Ignores, Reach::Fails];
        // Mostly healthy.
        world.set_reach(instance.address, reach[if !calm && rng.below(3) == 0 { rng.below(6) } else { 0 }]);
    }
    let shadows: Vec<SocketAddr> =
        (0..2).flat_map(|pool| (0..2).map(move |instance| address(SHADOWS + pool, instance))).collect();
    let mut shadows = Shadows::new(&shadows, &room.mirror, seed, rng);
    shadows.saw(&room.current().1);
    let mut clients: Vec<Client> = Vec::new();
    for number in 0..1 + rng.below(12) {
        let first_id = 1 + clients.iter().map(|client| client.requests.len() as u64).sum::<u64>();
        clients.push(Client::new(number, first_id, rng, &ROUTES, mood));
    }
    let mut reload = (rng.below(3) == 0).then(|| Timestamp::from_millis(rng.below(1_500) as u64));
    let mut upheaval = pools::Upheaval::new(rng, calm);
    let drain_at =
        Timestamp::from_millis(
            if !calm && rng.below(3) == 0 { 200 + rng.below(1_500) } else { 20_000 } as u64
        );

    let mut ready = Vec::new();
    let (mut steps, mut stepped_at) = (0, Timestamp::ZERO);
    loop {
        let now = world.now();
        (steps, stepped_at) = if now == stepped_at { (steps + 1, now) } else { (0, now) };
        if steps > 20_000 {
            return Err(format!("the loop spins at {now}"));
        }
        if now > Timestamp::from_secs(60) {
            return Err("it does not end".to_owned());
        }
        if reload.is_some_and(|at| now >= at) {
            reload = None;
            // Half of the reloads change nothing, so that every class is taken over.
            let same = rng.below(2) == 0;
            let next = if same { first.clone() } else { settings(rng, log.path(), with_rule, mood) };
            let (_, before) = room.current();
            room.replace(Shared::new(next, Some(&before), now).map_err(|error| error.to_string())?);
            shadows.saw(&room.current().1);
        }
        upheaval.act(&room, now, rng)?;
        let over = clients.iter().all(|client| client.done);
        if over || now >= drain_at {
            room.drain();
        }
        for client in clients.iter_mut().filter(|client| !client.done && client.next <= now) {
            client.act(&world, rng);
        }
        for instance in instances.iter_mut().filter(|instance| instance.next <= now) {
            instance.act(&world, rng)?;
        }
        let waking = clients.iter().filter(|client| !client.done).map(|client| client.next);
        let alarm = waking.chain(instances.iter().map(|instance| instance.next)).min();
        world.wake_at(alarm.unwrap_or(Timestamp::NEVER));
        if worker.step(&mut ready).map_err(|error| error.to_string())? {
            break;
        }
        shadows.catch_up(world.now(), rng)?;
    }
    // The clients that are still connected are cut off; they may read what was already sent.
    let by_force = !worker.downstreams.is_empty();
    if by_force && world.now() < drain_at + millis(3_000) {
        return Err("the end came before its time".to_owned());
    }
    worker.end();
    for client in clients.iter_mut() {
        for _ in 0..100_000 {
            if client.done {
                break;
            }
            client.act(&world, rng);
        }
        if !client.done {
            return Err("a client's connection is still open at the end".to_owned());
        }
    }
    shadows.check(rng)?;
    check_answers(&clients, &instances)?;
    if calm {
        check_all_served(&mut worker, &clients)?;
    }
    check_books(&mut worker, log.path())?;
    check_nothing_is_left(&worker, &room)
}

fn check_answers(clients: &[Client], instances: &[Instance]) -> Result<(), String> {
    let mut methods = BTreeMap::new();
    for client in clients {
        let answers = client.answers()?;
        for (number, answer) in answers.iter().enumerate() {
            let asked = client.requests.get(number);
            match (answer.id, asked) {
                (Some(id), Some(asked)) if id == asked.id => {}
                (Some(id), _) if !(id == 0 && number == client.requests.len()) => {
                    let expected = asked.map(|asked| asked.id);
                    return Err(format!("response {number} is for request {id}, expected {expected:?}"));
                }
                _ => {}
            }
        }
        if answers.len() > client.asked() + 1 {
            return Err(format!("{} responses to {} requests", answers.len(), client.asked()));
        }
        for answer in answers.iter().skip(client.asked()) {
            // A rule may have replaced an early response by its own.
            let early = answer.id.is_some() || answer.status == 418;
            if !early && !matches!(answer.status, 400 | 404 | 408 | 413 | 502 | 503 | 504) {
                return Err(format!("status {} to a request that was not whole", answer.status));
            }
        }
        methods.extend(client.requests.iter().map(|asked| (asked.id, asked.method)));
    }
    let mut posts: BTreeMap<u64, u32> = BTreeMap::new();
    for (id, (method, times)) in instances.iter().flat_map(|instance| &instance.seen) {
        if *id != 0 && methods.get(id) != Some(&method.as_str()) {
            return Err(format!("an instance saw {method:.40} {id}, which nobody sent"));
        }
        if method == "POST" && *id != 0 {
            *posts.entry(*id).or_default() += times;
        }
    }
    match posts.iter().find(|&(_, &times)| times > 1) {
        Some((id, times)) => Err(format!("POST {id} was sent {times} times")),
        None => Ok(()),
    }
}

/// Where no client leaves and no instance fails, every request gets a response.
fn check_all_served(worker: &mut Worker<VirtualNet>, clients: &[Client]) -> Result<(), String> {
    for client in clients.iter().filter(|client| !client.left) {
        if !client.is_served()? {
            let (answers, asked) = (client.answers()?.len(), client.requests.len());
            let end = client.received.len().saturating_sub(200);
            let received = String::from_utf8_lossy(&client.received[end..]);
            return Err(format!(
                "only {answers} responses to {asked} requests in a calm world; the last bytes: {received:?}"
            ));
        }
    }
    worker.retire();
    let failed: u64 = worker.local.counts.borrow().all().map(|route| route.totals()[2]).sum();
    if failed > 0 { Err(format!("{failed} requests failed in a calm world")) } else { Ok(()) }
}

fn check_books(worker: &mut Worker<VirtualNet>, log: &Path) -> Result<(), String> {
    worker.retire();
    let under_way = worker.note_late(worker.now);
    worker.local.counts.borrow_mut().note_under_way(&under_way);
    let mut sum = [0; 4];
    for route in worker.local.counts.borrow().all() {
        sum.iter_mut().zip(route.totals()).for_each(|(sum, count)| *sum += count);
    }
    let [answered, shed, failed, bad] = sum;
    for route in worker.local.counts.borrow().all() {
        let [answered, shed, failed, _] = route.totals();
        let timed: u64 = route.answers.iter().map(Answer::count).sum();
        if timed != answered + shed + failed || route.demand() != timed {
            return Err(format!(
                "{timed} times, {answered} answered, {shed} shed, {failed} failed: {route:?}"
            ));
        }
    }
    let counts = &worker.counts;
    let expected = answered + shed + failed + counts.unrouted + counts.bad_requests - bad;
    let (accepted, refused) = (counts.connections_accepted, counts.connections_refused);
    // Connections that could not be accepted count as refused too.
    let ended = counts.connections.all_ended();
    if !(accepted.saturating_sub(refused)..=accepted).contains(&ended) {
        return Err(format!("{ended} connections ended, of {accepted} accepted and {refused} refused"));
    }
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let lines = text.lines().count() as u64;
    if lines != expected {
        return Err(format!(
            "{lines} log lines, expected {expected}: {answered} answered, {shed} shed, {failed} failed ({bad} of \
             them broken), {} unrouted, {} bad\n{text}",
            counts.unrouted, counts.bad_requests
        ));
    }
    Ok(())
}

fn check_nothing_is_left(worker: &Worker<VirtualNet>, room: &ControlRoom) -> Result<(), String> {
    let (_, shared) = room.current();
    for shared in [&shared, &worker.local.shared] {
        if let Some(limit) = shared.concurrency.iter().find(|limit| limit.in_flight() > 0) {
            return Err(format!("{} in flight at the end", limit.in_flight()));
        }
        limits::check_nothing_is_left(shared)?;
        if let Some(class) = shared.rates.iter().find(|class| class.backlog() > 0) {
            return Err(format!("{} wait at the end", class.backlog()));
        }
    }
    for (settings, pool) in worker.local.shared.settings.pools.iter().zip(&worker.local.pools) {
        if pool.borrow().in_flight() > 0 {
            return Err(format!(
                "`{}` counts {} in flight at the end",
                settings.name,
                pool.borrow().in_flight()
            ));
        }
    }
    if worker.gathered > 0 || !room.clients.is_empty() {
        return Err("bodies or clients are counted at the end".to_owned());
    }
    if worker.line.waiting > 0 {
        return Err(format!("{} wait for a place at the end", worker.line.waiting));
    }
    if worker.counts.connections_open > 0 {
        return Err(format!("{} connections counted as open", worker.counts.connections_open));
    }
    let idle: usize = worker.instances.iter().map(|instance| instance.idle.len()).sum();
    if worker.upstreams.iter().any(|(_, upstream)| upstream.state != UpstreamState::Idle) {
        return Err("an upstream connection is busy with nobody's request".to_owned());
    }
    if idle != worker.upstreams.len() {
        return Err(format!("{idle} idle connections known of {}", worker.upstreams.len()));
    }
    Ok(())
}

#[test]
fn whatever_happens_the_books_balance() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match variable("HEADROOM_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..variable("HEADROOM_SIM_SEEDS").unwrap_or(1_000),
    };
    for seed in seeds {
        // A panic in the worker has to report its seed as well.
        let outcome = std::panic::catch_unwind(|| simulate(seed));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(wrong)) => panic!("HEADROOM_SIM_SEED={seed}: {wrong}"),
            Err(panic) => {
                eprintln!("HEADROOM_SIM_SEED={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
}
