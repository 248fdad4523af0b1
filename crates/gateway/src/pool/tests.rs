use super::squeeze::Held;
use super::*;
use crate::settings::{Balance, Ejection, Health, Instance, KeyBy, Retries};
use units::Rate;

const OK: Outcome = Outcome::Answered { first_byte: Duration::from_millis(1) };

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn address(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], number))
}

fn of(ports: impl IntoIterator<Item = u16>) -> Pool {
    Pool::new("pool", ports.into_iter().map(address).collect())
}

fn process(settings: &Pool) -> Arc<ProcessPool> {
    Arc::new(ProcessPool::new(Prepared::new(settings).unwrap()))
}

fn worker(settings: &Pool, process: &Arc<ProcessPool>) -> WorkerPool {
    let mut pool = WorkerPool::new(Arc::clone(process), settings);
    follow(&mut pool, at(0), settings, process);
    pool
}

fn follow(pool: &mut WorkerPool, now: Timestamp, settings: &Pool, process: &Arc<ProcessPool>) {
    pool.configure(now, settings, process, |address| usize::from(address.port()));
}

/// Picks an instance for a request and sends it there.
fn place(
    pool: &mut WorkerPool,
    now: Timestamp,
    key: Option<u64>,
    failed: &[InstanceId],
    rng: &mut Rng,
) -> Option<Placed> {
    let placed = pool.pick(now, key, failed, rng)?;
    pool.sent(now, placed, if failed.is_empty() { Attempt::First } else { Attempt::Again });
    Some(placed)
}

/// The port of the picked instance.
fn pick(pool: &mut WorkerPool, now: Timestamp) -> u16 {
    let mut rng = Rng::new(1, "picks");
    let placed = place(pool, now, None, &[], &mut rng).unwrap();
    pool.instances[placed.instance().0 as usize].address.port()
}

fn state(pool: &WorkerPool, port: u16) -> Option<InstanceState> {
    pool.count().instances.get(&address(port)).map(|counts| counts.state)
}

/// Sends this many requests with the same outcome to the instance with this port.
fn send(pool: &mut WorkerPool, now: Timestamp, port: u16, times: u32, outcome: Outcome) {
    let id = pool.process.id(address(port));
    for _ in 0..times {
        pool.picker.sent(now, id);
        pool.ended(now, id, outcome);
    }
}

fn ejecting(share: f64) -> Pool {
    let ejection = Ejection { max_share: Ratio::new(share).unwrap(), ..Ejection::default() };
    Pool { ejection: Some(ejection), balance: Balance::RoundRobin, ..of(1..=4) }
}

#[test]
fn what_one_worker_has_seen_the_others_follow_at_their_tick() {
    let settings = ejecting(0.5);
    let process = process(&settings);
    let (mut one, mut other) = (worker(&settings, &process), worker(&settings, &process));
    send(&mut one, at(10), 2, 5, Outcome::Failed);
    assert_eq!(state(&one, 2), Some(InstanceState::Ejected));
    assert_eq!(state(&other, 2), Some(InstanceState::Available));
    other.tick(at(20));
    assert_eq!(state(&other, 2), Some(InstanceState::Ejected));
    assert!((0..9).all(|_| pick(&mut other, at(30)) != 2));
    // It ends by itself, on both workers.
    one.tick(at(31_000));
    other.tick(at(31_000));
    assert_eq!([&one, &other].map(|pool| state(pool, 2)), [Some(InstanceState::Available); 2]);
}

#[test]
fn the_cap_on_ejections_is_that_of_the_process() {
    let settings = ejecting(0.25);
    let process = process(&settings);
    let (mut one, mut other) = (worker(&settings, &process), worker(&settings, &process));
    send(&mut one, at(10), 1, 5, Outcome::Failed);
    send(&mut other, at(10), 2, 5, Outcome::Failed);
    one.tick(at(100));
    other.tick(at(100));
    for pool in [&one, &other] {
        assert_eq!(state(pool, 1), Some(InstanceState::Ejected));
        assert_eq!(state(pool, 2), Some(InstanceState::Available));
    }
    assert_eq!((process.spared(), process.member_counts(address(1)).ejections), (1, [1, 0]));
}

#[test]
fn without_ejection_nobody_stays_ejected() {
    let settings = ejecting(0.5);
    let process = process(&settings);
    let mut pool = worker(&settings, &process);
    send(&mut pool, at(10), 2, 5, Outcome::Failed);
    let same = Pool { slow_start: Some(Duration::from_secs(1)), ..settings.clone() };
    process.configure(Prepared::new(&same).unwrap());
    follow(&mut pool, at(20), &same, &process);
    assert_eq!(state(&pool, 2), Some(InstanceState::Ejected), "a reload is no pardon");
    let without = Pool { ejection: None, ..settings };
    process.configure(Prepared::new(&without).unwrap());
    follow(&mut pool, at(30), &without, &process);
    assert_eq!(state(&pool, 2), Some(InstanceState::Available));
    send(&mut pool, at(40), 2, 5, Outcome::Failed);
    assert_eq!(state(&pool, 2), Some(InstanceState::Available));
}

#[test]
fn failures_that_workers_share_add_up_at_their_ticks() {
    let settings = ejecting(0.5);
    let process = process(&settings);
    let (mut one, mut other) = (worker(&settings, &process), worker(&settings, &process));
    send(&mut one, at(10), 3, 3, Outcome::TimedOut);
    send(&mut other, at(10), 3, 2, Outcome::ServerError { first_byte: Duration::ZERO });
    one.tick(at(100));
    assert_eq!(state(&one, 3), Some(InstanceState::Available));
    other.tick(at(100));
    assert_eq!(state(&other, 3), Some(InstanceState::Ejected));
}

#[test]
fn the_retry_budget_is_that_of_the_process() {
    let retries = Retries { budget: Ratio::new(0.1).unwrap(), least: Rate::ZERO, tries: 2 };
    let settings = Pool { retries, ..of(1..=2) };
    let process = process(&settings);
    let (mut one, mut other) = (worker(&settings, &process), worker(&settings, &process));
    for pool in [&mut one, &mut other] {
        (0..50).for_each(|_| {
            pick(pool, at(10));
        });
    }
    let asks = |pool: &mut WorkerPool| pool.may_retry(at(20), Retry::Broke, true, true, true);
    // The counts of the other worker are known once it has reported.
    assert_eq!((0..9).filter(|_| asks(&mut one)).count(), 5);
    other.tick(at(100));
    assert_eq!((0..9).filter(|_| asks(&mut one)).count(), 5);
    assert!(!asks(&mut other));
    assert!(
        other.may_retry(at(20), Retry::Unreachable, true, true, false),
        "nothing was sent, so nothing is spent"
    );
    let counts = one.count().retries;
    assert_eq!(counts[Retry::Broke.index(Retried::Repeated)], 10);
    assert_eq!(counts[Retry::Broke.index(Retried::OutOfBudget)], 8);
}

#[test]
fn what_is_known_stays_with_the_address() {
    let settings = Pool { balance: Balance::LeastOutstanding, ..of([1, 2]) };
    let process = process(&settings);
    let mut pool = worker(&settings, &process);
    let in_flight = (pick(&mut pool, at(0)), pick(&mut pool, at(0)));
    assert_eq!((in_flight, pool.in_flight()), ((1, 2), 2));
    // Another order, one instance added, one removed.
    let settings = of([3, 2]);
    process.configure(Prepared::new(&settings).unwrap());
    follow(&mut pool, at(100), &settings, &process);
    assert_eq!(state(&pool, 1), Some(InstanceState::Removed), "it still has a request");
    assert_eq!((pick(&mut pool, at(100)), pool.in_flight()), (3, 3));
    pool.ended(at(150), process.id(address(1)), OK);
    assert_eq!(state(&pool, 1), None);
    // Another balancing method, with the same requests in flight.
    let settings = Pool { balance: Balance::PeakEwma, ..of([3, 2, 1]) };
    process.configure(Prepared::new(&settings).unwrap());
    follow(&mut pool, at(200), &settings, &process);
    assert_eq!(pool.in_flight(), 2);
    assert_eq!(pick(&mut pool, at(200)), 1, "the only one without any");
    for port in [1, 2, 3] {
        pool.ended(at(300), process.id(address(port)), OK);
    }
    assert_eq!(pool.in_flight(), 0);
}

/// How many of a thousand requests, each of which ends at once, go to each of the instances 1 to 4.
fn shares(pool: &mut WorkerPool, now: Timestamp) -> [usize; 4] {
    let (mut rng, mut shares) = (Rng::new(1, "picks"), [0; 4]);
    for _ in 0..1_000 {
        let placed = place(pool, now, None, &[], &mut rng).unwrap();
        shares[usize::from(pool.address(placed.instance()).port()) - 1] += 1;
        pool.ended(now, placed.instance(), OK);
        pool.finished(placed.instance(), 200, Duration::from_millis(2));
    }
    shares
}

fn held(port: u16, share: f64, until: Timestamp) -> Held {
    let (holder, lasts) = ("a squeeze".to_owned(), Duration::from_secs(5));
    let share = Ratio::new(share).unwrap();
    Held { squeeze: Squeeze { holder, instances: vec![address(port)], share, lasts }, until }
}

#[test]
fn a_squeeze_holds_on_all_workers_until_its_end_and_survives_reloads() {
    let settings = of(1..=4);
    let process = process(&settings);
    let mut workers = [worker(&settings, &process), worker(&settings, &process)];
    process.hold(Some(held(3, 0.8, at(5_000))));
    for pool in &mut workers {
        assert_eq!(shares(pool, at(50)), [250; 4], "before its tick");
        pool.tick(at(100));
        let [_, _, third, _] = shares(pool, at(4_999));
        assert!((760..840).contains(&third), "{third}");
    }
    let counts = process.squeezed.read();
    assert_eq!((counts.sent, counts.failed), (counts.answered, 0));
    let times: u32 = process.squeezed.times.read().buckets.iter().map(|(_, count)| count).sum();
    assert_eq!(u64::from(times), counts.sent);
    assert!((1_520..1_680).contains(&times), "{times}");
    // Another method makes new balancers.
    let settings = Pool { balance: Balance::RoundRobin, ..settings };
    process.configure(Prepared::new(&settings).unwrap());
    let [pool, _] = &mut workers;
    follow(pool, at(4_000), &settings, &process);
    assert!(shares(pool, at(4_500))[2] > 760);
    // Nothing has to happen for it to end.
    assert_eq!(shares(pool, at(5_000)), [250; 4]);
    pool.tick(at(5_100));
    assert_eq!(shares(pool, at(5_200)), [250; 4]);
}

#[test]
fn an_instance_that_fails_under_a_squeeze_loses_its_requests_to_the_others() {
    let settings = Pool { retries: Retries::default(), ..ejecting(0.5) };
    let process = process(&settings);
    let mut pool = worker(&settings, &process);
    process.hold(Some(held(2, 1.0, at(5_000))));
    pool.tick(at(100));
    assert_eq!(shares(&mut pool, at(200)), [0, 1_000, 0, 0]);
    // A request that it has failed goes elsewhere.
    let (id, mut rng) = (process.id(address(2)), Rng::new(1, "picks"));
    let again = place(&mut pool, at(200), None, &[id], &mut rng).unwrap();
    assert_ne!(again.instance(), id);
    pool.ended(at(200), again.instance(), OK);
    send(&mut pool, at(300), 2, 5, Outcome::Failed);
    let [first, second, ..] = shares(&mut pool, at(400));
    assert!(second == 0 && first > 300, "{first} {second}");
    assert_eq!(process.squeezed.read().failed, 5);
}

#[test]
fn checks_are_believed_after_a_few_and_newcomers_prove_themselves() {
    let health = Some(Health::new("/healthz"));
    let settings = Pool { health, balance: Balance::RoundRobin, ..of(1..=3) };
    let process = process(&settings);
    let mut pool = worker(&settings, &process);
    let check = |pool: &mut WorkerPool, port, passed| {
        process.checked(address(port), passed);
        pool.tick(at(100));
        state(pool, port).unwrap()
    };
    assert_eq!(check(&mut pool, 1, false), InstanceState::Available);
    assert_eq!(check(&mut pool, 1, false), InstanceState::Available);
    assert_eq!(check(&mut pool, 1, false), InstanceState::Unhealthy);
    assert_eq!(check(&mut pool, 1, true), InstanceState::Unhealthy);
    assert_eq!(check(&mut pool, 1, true), InstanceState::Available);
    let more = Pool { instances: (1..=4).map(|port| Instance::new(address(port))).collect(), ..settings };
    process.configure(Prepared::new(&more).unwrap());
    follow(&mut pool, at(200), &more, &process);
    assert_eq!(state(&pool, 4), Some(InstanceState::Unhealthy));
    assert_eq!(check(&mut pool, 4, true), InstanceState::Unhealthy);
    assert_eq!(check(&mut pool, 4, true), InstanceState::Available);
    // An instance that was removed is not checked, and has to pass checks again when it returns.
    assert_eq!(process.member_counts(address(4)).checks, [0, 2]);
    let fewer = Pool { instances: more.instances[..3].to_vec(), ..more.clone() };
    process.configure(Prepared::new(&fewer).unwrap());
    process.checked(address(4), true);
    assert_eq!(process.member_counts(address(4)).checks, [0, 2]);
    process.configure(Prepared::new(&more).unwrap());
    follow(&mut pool, at(300), &more, &process);
    assert_eq!(state(&pool, 4), Some(InstanceState::Unhealthy));
    // Without checks every instance is healthy.
    let trusting = Pool { health: None, ..more };
    process.configure(Prepared::new(&trusting).unwrap());
    follow(&mut pool, at(400), &trusting, &process);
    assert_eq!(state(&pool, 4), Some(InstanceState::Available));
}

#[test]
fn an_instance_that_failed_a_request_does_not_get_it_again() {
    let balances =
        [Balance::LeastOutstanding, Balance::RoundRobin, Balance::PeakEwma, Balance::Hash(KeyBy::Client)];
    for balance in balances {
        let settings = Pool { balance: balance.clone(), ..of(1..=3) };
        let process = process(&settings);
        let (mut pool, mut rng) = (worker(&settings, &process), Rng::new(1, "picks"));
        for key in 0..100 {
            let mut failed = Vec::new();
            while let Some(placed) = place(&mut pool, at(key), Some(key), &failed, &mut rng) {
                assert!(!failed.contains(&placed.instance()), "{balance:?}: {placed:?} behind {failed:?}");
                failed.push(placed.instance());
                pool.ended(at(key), placed.instance(), OK);
            }
            assert_eq!(failed.len(), 3, "{balance:?}: each of them had its chance");
        }
        assert_eq!(pool.in_flight(), 0);
    }
}
