//! Reference values to the printed digits, and laws of all queues.

use super::laws::{
    Little, fan_out_tail, forced_flow, interactive_response_time, service_demand, utilisation,
};
use super::*;
use crate::printed::prints;
use proptest::prelude::*;
use units::Quantile;

/// Servers, load, Erlang B, Erlang C, mean waiting, mean wait, its p95 and p99, for a mean service time of 1 s. Computed
/// from the closed forms.
const MMC: &str = "\
1 .9 .4736842105 .9 8.1 9.0 28.903718 44.998097
2 1.6 .3298969072 .7111111111 2.84444444 1.7777777778 6.637014 10.660609
4 3.6 .2706850671 .7877532643 7.08977938 1.9693831607 6.892905 10.916500
8 7.2 .1903131687 .7015329901 6.31379691 .8769162377 3.301556 5.313354
10 9 .1679632263 .6687315241 6.01858372 .6687315241 2.593360 4.202798
16 14.4 .1264118939 .5913433939 5.32209054 .3695896212 1.543984 2.549882
32 28.8 .0779745840 .4581966215 4.12376959 .1431864442 .692274 1.195223
50 45 .0541044722 .3638644672 3.27478020 .0727728934 .396952 .718839
100 90 .0269573805 .2169404809 1.95246433 .0216940481 .146760 .307704
100 95 .0488042062 .5064568539 9.62268022 .1012913708 .463083 .784971";

#[test]
fn many_servers_to_the_printed_digits() {
    for row in MMC.lines() {
        let cells: Vec<&str> = row.split(' ').collect();
        let (servers, load): (u32, f64) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
        let queue = Servers::new(load, 1.0, servers).unwrap();
        prints(erlang_b(servers, load).unwrap(), cells[2]);
        prints(erlang_c(servers, load).unwrap(), cells[3]);
        prints(queue.waiting_share(), cells[3]);
        prints(queue.mean_waiting(), cells[4]);
        prints(queue.mean_wait(), cells[5]);
        prints(queue.wait_quantile(Quantile::P95), cells[6]);
        prints(queue.wait_quantile(Quantile::P99), cells[7]);
    }
}

#[test]
fn erlang_b_as_others_print_it() {
    let table = [
        (1, 5.0, ".8333333333333334"),
        (10, 20.0, ".5379631686320729"),
        (190, 200.0, ".08869684386923561"),
        (200, 5.0, "5.31667e-238"),
    ];
    for (servers, load, printed) in table {
        prints(erlang_b(servers, load).unwrap(), printed);
    }
    // Less than a double can represent, and a load far above the servers.
    assert_eq!(erlang_b(1_000, 1e-3), Ok(0.0));
    assert!((erlang_b(10, 1e300).unwrap() - 1.0).abs() < 1e-12);
    assert_eq!((erlang_b(0, 0.0), erlang_b(3, 0.0)), (Ok(1.0), Ok(0.0)));
}

#[test]
fn one_server_of_any_kind() {
    for (load, waits) in
        [(0.5, [".5", ".75", "1", "2.5"]), (0.8, ["2", "3", "4", "10"]), (0.9, ["4.5", "6.75", "9", "22.5"])]
    {
        for (squared_variation, wait) in [0.0, 0.5, 1.0, 4.0].into_iter().zip(waits) {
            let queue = General::new(load, 1.0, squared_variation).unwrap();
            assert!(
                (queue.mean_wait() - wait.parse::<f64>().unwrap()).abs() < 1e-12,
                "{load} {squared_variation}"
            );
        }
    }
}

#[test]
fn one_exponential_server_has_exponential_response_times() {
    let queue = Servers::new(0.8, 1.0, 1).unwrap();
    prints(queue.response_quantile(Quantile::P95) / queue.mean_response(), "2.9957");
    prints(queue.response_quantile(Quantile::P99) / queue.mean_response(), "4.6052");
    assert_eq!(queue.response_exceeds(1e9), 0.0);
    // Two servers, one of them spare: the rates of queue and service are the same.
    let even = Servers::new(1.0, 1.0, 2).unwrap();
    let nearly = Servers::new(1.0 + 1e-9, 1.0, 2).unwrap();
    assert!((even.response_exceeds(2.0) - nearly.response_exceeds(2.0)).abs() < 1e-8);
    assert!((queue.mean_response() - Sharing::new(0.8, 1.0, 1).unwrap().mean_response()).abs() < 1e-12);
    assert!((Sharing::new(0.8, 1.0, 1).unwrap().mean_response_of(3.0) - 3.0 / 0.2).abs() < 1e-12);
}

#[test]
fn bounded_queues_to_the_printed_digits() {
    for (servers, capacity, load, printed) in [
        (1, 10, 0.9, [".0508137", "3.96944", "4.64660"]),
        (1, 10, 1.1, [".1399665", "5.93595", "6.27454"]),
        (6, 6, 5.0, [".1918473", "4.04076", "1.00000"]),
        (16, 32, 17.6, [".1044036", "25.15247", "1.59572"]),
        (16, 16, 17.6, [".2238676", "13.65993", "1.00000"]),
    ] {
        let queue = Bounded::new(load, 1.0, servers, capacity).unwrap();
        for (found, printed) in
            [queue.lost_share(), queue.mean_in_system(), queue.mean_response()].into_iter().zip(printed)
        {
            prints(found, printed);
        }
    }
    let half = Quantile::new(0.5).unwrap();
    let nobody_waits = Bounded::new(5.0, 1.0, 6, 6).unwrap();
    assert_eq!((nobody_waits.mean_wait(), nobody_waits.wait_quantile(half)), (0.0, 0.0));
    // A load that would overflow without scaling.
    let crowded = Bounded::new(1e6, 1.0, 2, 1_000).unwrap();
    let hopeless = Bounded::new(1e300, 1.0, 1, 1).unwrap();
    assert!((hopeless.throughput() - 1.0).abs() < 1e-9 && hopeless.mean_wait() == 0.0);
    assert!((crowded.mean_in_system() - 1_000.0).abs() < 1e-3 && (crowded.throughput() - 2.0).abs() < 1e-6);
}

#[test]
fn processors_that_are_shared_to_the_printed_digits() {
    let sharing = Sharing::new(10.0, 1.0 / 12.0, 3).unwrap();
    let printed = [
        ".4321329639889196",
        ".3601108033240997",
        ".1500461680517082",
        ".0416794911254745",
        ".0115776364237429",
        ".0032160101177064",
    ];
    for (count, printed) in (0..).zip(printed) {
        prints(sharing.in_system(count), printed);
    }
}

#[test]
fn users_who_think_to_the_printed_digits() {
    let network = Network::new(vec![Centre::Queue(0.010), Centre::Delay(1.0)]).unwrap();
    for (users, throughput, millis) in [
        (1, ".990099", "10"),
        (10, "9.89153", "10.966"),
        (50, "49.0695", "18.962"),
        (100, "92.42995", "81.90"),
        (200, "100.000", "1000"),
    ] {
        let point = network.with(users);
        prints(point.throughput, throughput);
        prints(point.response_time * 1e3, millis);
    }
    // The same computed from its states.
    for users in [1, 10, 50, 100, 200] {
        let (point, states) = (network.with(users), Users::new(users, 1.0, 100.0, 1).unwrap());
        assert!((states.throughput() / point.throughput - 1.0).abs() < 1e-9, "{users}");
        assert!((states.mean_response() / point.response_time - 1.0).abs() < 1e-9, "{users}");
    }
    let bounds = network.asymptotes();
    assert_eq!((bounds.throughput(1), bounds.throughput(1_000)), (1.0 / 1.01, 100.0));
    assert!((bounds.saturation() - 101.0).abs() < 1e-9 && (bounds.response_time(200) - 1.0).abs() < 1e-9);
}

#[test]
fn many_users_who_think_for_long_are_a_poisson_stream() {
    for servers in [1_u32, 4, 20] {
        let load = 0.7 * f64::from(servers);
        let many = Users::new(20_000, 20_000.0 / load, 1.0, servers).unwrap();
        let endless = Servers::new(load, 1.0, servers).unwrap();
        assert!((many.mean_response() / endless.mean_response() - 1.0).abs() < 0.01, "{servers}");
        let (one, other) = (many.wait_quantile(Quantile::P99), endless.wait_quantile(Quantile::P99));
        assert!((one / other - 1.0).abs() < 0.02, "{servers}: {one} {other}");
    }
}

#[test]
fn laws_of_measured_windows() {
    let window = Little { in_system: 10.0, throughput: 100.0, response_time: 0.1 };
    assert!(window.holds() && window.deviation().abs() < 1e-12);
    assert!(!Little { in_system: 10.6, ..window }.holds(), "more are there than left");
    assert_eq!(Little { in_system: 0.0, throughput: 0.0, response_time: 0.0 }.deviation(), 0.0);
    assert!(!Little { in_system: 1.0, throughput: 0.0, response_time: 0.0 }.holds());
    assert!((utilisation(100.0, 0.008) - 0.8).abs() < 1e-12);
    assert!((service_demand(0.8, 100.0) - 0.008).abs() < 1e-12);
    assert!((forced_flow(100.0, 3.0) - 300.0).abs() < 1e-12);
    assert!((interactive_response_time(200.0, 100.0, 1.0) - 1.0).abs() < 1e-12);
    for (parts, printed) in [(10, "9.56"), (100, "63.4"), (1_000, "99.996")] {
        prints(fan_out_tail(parts, Quantile::P99).get() * 100.0, printed);
    }
}

#[test]
fn what_makes_no_queue_is_said() {
    let said = |error: QueueError| error.to_string();
    assert!(said(Servers::new(5.0, 1.0, 5).unwrap_err()).starts_with("5 erlangs arrive at 5 servers"));
    assert_eq!(Servers::new(1.0, 1.0, 0), Err(QueueError::NoServers));
    assert!(said(Servers::new(f64::NAN, 1.0, 1).unwrap_err()).starts_with("the arrival rate is NaN"));
    assert!(
        said(Servers::new(1.0, 0.0, 1).unwrap_err())
            .contains("the service rate is 0, but it has to be above 0")
    );
    assert!(said(Bounded::new(1.0, 1.0, 4, 3).unwrap_err()).starts_with("room for 3 in all"));
    assert!(General::new(1.0, 1.0, 1.0).is_err() && General::new(0.5, 1.0, -1.0).is_err());
    assert_eq!(Network::new(vec![]), Err(QueueError::NoCentre));
    assert!(Network::new(vec![Centre::Queue(-1.0)]).is_err());
    assert!(Users::new(0, 1.0, 1.0, 1).is_err() && Users::new(1, 0.0, 1.0, 1).is_err());
    assert_eq!(Users::new(1, 1.0, 1.0, 0), Err(QueueError::NoServers));
    let nothing = Servers::new(0.0, 1.0, 3).unwrap();
    assert_eq!((nothing.mean_response(), nothing.in_system(0), nothing.in_system(2)), (1.0, 1.0, 0.0));
}

/// Integrates the tail of a time from 0 on, in steps of `step` seconds: its mean.
fn mean_of_tail(step: f64, steps: u32, exceeds: impl Fn(f64) -> f64) -> f64 {
    (0..steps).map(|at| step * exceeds((f64::from(at) + 0.5) * step)).sum()
}

proptest! {
    #[test]
    fn waits_have_their_means_and_quantiles(servers in 1_u32..40, busy in 0.05..0.95_f64, rate in 0.01..100.0_f64) {
        let queue = Servers::new(busy * rate * f64::from(servers), rate, servers).unwrap();
        let scale = queue.mean_response();
        let mean = mean_of_tail(scale / 50.0, 3_000, |seconds| queue.response_exceeds(seconds));
        prop_assert!((mean / scale - 1.0).abs() < 2e-3, "{mean} {scale}");
        for quantile in [Quantile::P50, Quantile::P95, Quantile::P99] {
            let at = queue.response_quantile(quantile);
            prop_assert!((queue.response_exceeds(at) - (1.0 - quantile.get())).abs() < 1e-9);
            prop_assert!(queue.wait_quantile(quantile) <= at);
        }
        // Little's law, and state probabilities that add up to it.
        let states: f64 = (0..4_000).map(|count| f64::from(count) * queue.in_system(count)).sum();
        prop_assert!((states / queue.mean_in_system() - 1.0).abs() < 1e-6, "{states}");
        let all: f64 = (0..4_000).map(|count| queue.in_system(count)).sum();
        prop_assert!((all - 1.0).abs() < 1e-9, "{all}");
    }

    #[test]
    fn more_load_waits_longer_and_more_servers_shorter(servers in 1_u32..100, busy in 0.01..0.9_f64) {
        let load = busy * f64::from(servers);
        let wait = |load, servers| Servers::new(load, 1.0, servers).unwrap().mean_wait();
        prop_assert!(wait(load, servers) < wait(load * 1.05, servers));
        prop_assert!(wait(load, servers) > wait(load, servers + 1));
        // One fast server is better than many slow ones for the response time, not for the queue.
        let one = Servers::new(load, f64::from(servers), 1).unwrap();
        prop_assert!(one.mean_response() <= Servers::new(load, 1.0, servers).unwrap().mean_response() * (1.0 + 1e-12));
        prop_assert!(erlang_b(servers, load).unwrap() <= erlang_c(servers, load).unwrap());
    }

    #[test]
    fn much_room_is_no_bound_and_no_room_is_erlangs_loss(servers in 1_u32..30, busy in 0.05..0.9_f64) {
        let load = busy * f64::from(servers);
        let roomy = Bounded::new(load, 1.0, servers, servers + 500).unwrap();
        let endless = Servers::new(load, 1.0, servers).unwrap();
        prop_assert!((roomy.mean_response() / endless.mean_response() - 1.0).abs() < 1e-9);
        for quantile in [Quantile::P50, Quantile::P95, Quantile::P99] {
            let (one, other) = (roomy.wait_quantile(quantile), endless.wait_quantile(quantile));
            prop_assert!((one - other).abs() <= 1e-9 * (1.0 + other), "{one} {other}");
        }
        let tight = Bounded::new(load, 1.0, servers, servers).unwrap();
        prop_assert!((tight.lost_share() - erlang_b(servers, load).unwrap()).abs() < 1e-12);
    }

    #[test]
    fn a_bounded_queue_keeps_littles_law(
        servers in 1_u32..20, room in 0_u32..50, load in 0.01..60.0_f64, rate in 0.01..100.0_f64,
    ) {
        let queue = Bounded::new(load * rate, rate, servers, servers + room).unwrap();
        let little = Little {
            in_system: queue.mean_in_system(),
            throughput: queue.throughput(),
            response_time: queue.mean_response(),
        };
        prop_assert!(little.deviation().abs() < 1e-9, "{little:?}");
        prop_assert!(queue.utilisation() <= 1.0 + 1e-12);
        let more = Bounded::new(load * rate, rate, servers, servers + room + 1).unwrap();
        prop_assert!(more.lost_share() <= queue.lost_share() * (1.0 + 1e-12));
        if room > 0 {
            let turn = 1.0 / rate / f64::from(servers);
            let mean = mean_of_tail(turn / 10.0, 30 * room + 400, |seconds| queue.wait_exceeds(seconds));
            prop_assert!((mean - queue.mean_wait()).abs() < 1e-3 * (queue.mean_wait() + 1.0 / rate), "{mean}");
        }
    }

    #[test]
    fn users_keep_littles_law(
        users in 1_u32..40, think in 0.01..100.0_f64, rate in 0.01..100.0_f64, servers in 1_u32..40,
    ) {
        let queue = Users::new(users, think, rate, servers).unwrap();
        let (throughput, response) = (queue.throughput(), queue.mean_response());
        let there = Little { in_system: queue.mean_in_system(), throughput, response_time: response };
        prop_assert!(there.deviation().abs() < 1e-9, "{there:?}");
        let all = Little { in_system: f64::from(users), throughput, response_time: response + think };
        prop_assert!(all.deviation().abs() < 1e-9, "{all:?}");
        prop_assert!(users > servers || queue.mean_wait() == 0.0, "a server for each");
        let turn = 1.0 / rate / f64::from(servers);
        let mean = mean_of_tail(turn / 10.0, 30 * users + 400, |seconds| queue.wait_exceeds(seconds));
        prop_assert!((mean - queue.mean_wait()).abs() < 1e-3 * response, "{mean} {}", queue.mean_wait());
    }

    #[test]
    fn one_server_lies_between_constant_and_wild_times(busy in 0.01..0.99_f64, squared_variation in 0.0..20.0_f64) {
        let wait = General::new(busy, 1.0, squared_variation).unwrap().mean_wait();
        let exponential = Servers::new(busy, 1.0, 1).unwrap().mean_wait();
        prop_assert!((General::new(busy, 1.0, 1.0).unwrap().mean_wait() / exponential - 1.0).abs() < 1e-9);
        prop_assert_eq!(wait < exponential, squared_variation < 1.0);
        prop_assert!(wait >= exponential / 2.0 * (1.0 - 1e-12), "constant times wait half as long");
    }

    #[test]
    fn a_closed_network_keeps_its_bounds(
        demands in proptest::collection::vec(0.0001..1.0_f64, 1..6), think in 0.0..10.0_f64, users in 1_u32..300,
    ) {
        let mut centres: Vec<Centre> = demands.into_iter().map(Centre::Queue).collect();
        centres.push(Centre::Delay(think));
        let network = Network::new(centres).unwrap();
        let (point, bounds) = (network.with(users), network.asymptotes());
        prop_assert!(point.throughput <= bounds.throughput(users) * (1.0 + 1e-9));
        prop_assert!(point.response_time >= bounds.response_time(users) * (1.0 - 1e-9));
        prop_assert!(network.with(users + 1).throughput >= point.throughput * (1.0 - 1e-12));
        let there: f64 = point.at_centres.iter().sum();
        prop_assert!((there / f64::from(users) - 1.0).abs() < 1e-9, "nobody is lost: {there}");
        let interactive = interactive_response_time(f64::from(users), point.throughput, think);
        prop_assert!((interactive - point.response_time).abs() < 1e-9 * (1.0 + think));
    }
}

/// Serves Poisson arrivals on shared processors and returns the mean number in the system: a loop independent of the
/// formulas.
fn simulated_in_system(busy: f64, processors: u32, mut service: impl FnMut() -> f64, seed: u64) -> f64 {
    let mut rng = stats::Rng::new(seed, "arrivals");
    let rate = busy * f64::from(processors);
    let gap = |rng: &mut stats::Rng| rng.exponential() / rate;
    let (mut left, mut until_arrival): (Vec<f64>, f64) = (Vec::new(), gap(&mut rng));
    let (mut area, mut time) = (0.0, 0.0);
    while time < 400_000.0 {
        let speed = (f64::from(processors) / left.len() as f64).min(1.0);
        let least = left.iter().copied().fold(f64::INFINITY, f64::min) / speed;
        let step = least.min(until_arrival);
        area += step * left.len() as f64;
        time += step;
        until_arrival -= step;
        left.iter_mut().for_each(|left| *left -= step * speed);
        left.retain(|left| *left > 1e-12);
        if until_arrival <= 0.0 {
            left.push(service());
            until_arrival = gap(&mut rng);
        }
    }
    area / time
}

#[test]
fn sharing_does_not_care_for_the_distribution() {
    for (processors, busy) in [(1, 0.7), (3, 0.8)] {
        let expected = Sharing::new(busy * f64::from(processors), 1.0, processors).unwrap().mean_in_system();
        let mut rng = stats::Rng::new(7, "service");
        let constant = simulated_in_system(busy, processors, || 1.0, 1);
        let exponential = simulated_in_system(busy, processors, || rng.exponential(), 2);
        let mut rng = stats::Rng::new(8, "service");
        // Mean 1, squared coefficient of variation 3.
        let wild = || if rng.uniform() < 0.2 { 3.0 } else { 0.5 } * rng.exponential();
        let wild = simulated_in_system(busy, processors, wild, 3);
        for (name, found) in [("constant", constant), ("exponential", exponential), ("wild", wild)] {
            assert!((found / expected - 1.0).abs() < 0.05, "{processors} {name}: {found} {expected}");
        }
    }
}
