//! A written file reads back to the same settings.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use control::Statuses;
use control::balance::Weight;
use control::concurrency::Prior;
use control::mirror::{BreakerSettings, Methods, MirrorSettings};
use control::policy::PolicySettings;
use control::rate::{Limit, RateSettings};
use control::service_level::ServiceLevelSettings;
use gateway::settings::{
    AccessLog, Adaptive, Admin, AdminAddress, Affinity, Balance, Class, ConcurrencySettings,
    ConnectionLimits, Ejection, Health, Instance, KeyBy, Keyed, LogForm, LogFormat, Mirror, PathMatch,
    Policy, Pool, Provenance, Queue, RateClassSettings, Retries, Route, RoutePriority, Rule, Settings,
    ShedAnswer, TrailerName,
};
use http::codec::Limits;
use proptest::prelude::*;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Bytes, Rate, Ratio};

/// Usual and unusual names.
fn name() -> impl Strategy<Value = String> {
    let odd = [
        "true",
        "null",
        "5",
        "a: b",
        "- x",
        "#",
        "Größe",
        "a'b",
        "a\"b\\",
        "~",
        "0x1F",
        "<<",
        "😀",
        "\u{feff}x",
        "1e3",
    ];
    prop_oneof![
        "[A-Za-z][A-Za-z0-9 ._/-]{0,20}[a-z]",
        prop::sample::select(odd.to_vec()).prop_map(str::to_owned)
    ]
}

/// Any text, including control characters, line ends and characters that YAML does not print.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,40}", prop::collection::vec(any::<char>(), 0..30).prop_map(String::from_iter)]
}

fn provenance() -> impl Strategy<Value = Option<Provenance>> {
    prop::option::of((text(), text(), text()).prop_map(|(run, date, target)| Provenance {
        run,
        date,
        target,
    }))
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1_000_000_u64..86_400_000_000_000).prop_map(Duration::from_nanos),
        (1_u64..86_400).prop_map(Duration::from_secs),
        (1_u64..1_000).prop_map(Duration::from_millis),
    ]
}

fn limit(least: f64, most: f64) -> impl Strategy<Value = Limit> {
    (prop_oneof![least..most, (1_u32..1_000_000).prop_map(|n| f64::from(n) / 60.0)], 1_u32..5)
        .prop_map(|(rate, burst)| Limit { rate: Rate::per_second_of(rate), burst })
}

fn rate_class() -> impl Strategy<Value = RateSettings> {
    let limits = prop_oneof![
        limit(0.01, 1e6).prop_map(|second| (Some(second), None)),
        limit(0.01, 1e6).prop_map(|minute| (None, Some(minute))),
        limit(0.01, 1e6)
            .prop_map(|second| (Some(second), Some(Limit { rate: second.rate * 0.37, burst: 7 }))),
    ];
    (limits, 0_u32..9, span()).prop_map(|((per_second, per_minute), backlog, longest_wait)| RateSettings {
        per_second,
        per_minute,
        backlog,
        longest_wait,
    })
}

fn key() -> impl Strategy<Value = KeyBy> {
    prop_oneof![
        Just(KeyBy::Client),
        "[!#$%&'*+.^_`|~a-z0-9-]{1,20}".prop_map(KeyBy::Header),
        "[!#$%&'*+.^_`|~A-Za-z0-9-]{1,20}".prop_map(KeyBy::Cookie),
    ]
}

fn keyed_class() -> impl Strategy<Value = RateClassSettings> {
    let keyed = prop::option::of((key(), 1_u32..1_000_000).prop_map(|(by, keys)| Keyed { by, keys }));
    (rate_class(), keyed, any::<bool>()).prop_map(|(rate, keyed, shadow)| RateClassSettings {
        rate,
        keyed,
        shadow,
    })
}

fn queue() -> impl Strategy<Value = Option<Queue>> {
    prop::option::of((1_u32..999, span()).prop_map(|(places, longest_wait)| Queue { places, longest_wait }))
}

/// With shares for three priority classes, or without.
fn concurrency() -> impl Strategy<Value = ConcurrencySettings> {
    let prior = (0.01..9.0_f64, 1_u64..200_000_000).prop_map(|(rate, nanos)| Prior {
        rate: Rate::per_second_of(rate),
        response_time: Duration::from_nanos(nanos),
        weight: 500,
    });
    let adaptive = prop::option::of((0_u32..99, prop::option::of(prior)));
    let shares = prop::option::of((share(), share()));
    (2_u32..999, adaptive, queue(), shares, any::<bool>()).prop_map(
        |(limit, adaptive, queue, shares, shadow)| ConcurrencySettings {
            limit,
            adaptive: adaptive.filter(|_| !shadow).map(|(room, prior)| Adaptive {
                least: 1 + room % 2,
                most: limit + room,
                prior,
            }),
            queue,
            priorities: shares.map_or(Vec::new(), |(one, other)| {
                vec![if one < other { one } else { other }, if one < other { other } else { one }, Ratio::ONE]
            }),
            shadow,
        },
    )
}

fn priority() -> impl Strategy<Value = Option<RoutePriority>> {
    prop::option::of(prop_oneof![
        (0_u8..3).prop_map(RoutePriority::Class),
        ("[a-z][a-z0-9-]{0,20}", 0_u8..3)
            .prop_map(|(name, otherwise)| RoutePriority::Header { name, otherwise }),
    ])
}

fn share() -> impl Strategy<Value = Ratio> {
    prop_oneof![0.01..=1.0, (1_u32..=100).prop_map(|percent| f64::from(percent) / 100.0)]
        .prop_map(|share| Ratio::new(share).unwrap())
}

fn shed() -> impl Strategy<Value = ShedAnswer> {
    prop_oneof![
        Just(ShedAnswer::Problem),
        "/[!-~]{0,20}".prop_map(|location| ShedAnswer::Redirect { location }),
        (text(), "[a-z]{1,9}/[a-z]{1,9}; charset=[a-z]{2}")
            .prop_map(|(body, content_type)| ShedAnswer::Page { content_type, body: body.into_bytes() }),
    ]
}

fn named<S>(index: usize, (name, settings, provenance): (String, S, Option<Provenance>)) -> Class<S> {
    // The number keeps names apart.
    Class { name: format!("{name} {index}"), settings, provenance }
}

fn classes<S: std::fmt::Debug>(settings: impl Strategy<Value = S>) -> impl Strategy<Value = Vec<Class<S>>> {
    prop::collection::vec((name(), settings, provenance()), 1..4)
        .prop_map(|list| list.into_iter().enumerate().map(|(index, found)| named(index, found)).collect())
}

fn balance() -> impl Strategy<Value = Balance> {
    prop_oneof![
        Just(Balance::LeastOutstanding),
        Just(Balance::RoundRobin),
        Just(Balance::PeakEwma),
        key().prop_map(Balance::Hash),
    ]
}

fn health() -> impl Strategy<Value = Health> {
    ("/[!-~]{0,20}", 10_u64..99_999, span(), 1_u32..9, 1_u32..9, 100_u16..300, 0_u16..300).prop_map(
        |(path, millis, timeout, healthy_after, unhealthy_after, first, more)| Health {
            interval: Duration::from_millis(millis),
            timeout,
            healthy_after,
            unhealthy_after,
            status: first..=first + more,
            ..Health::new(&path)
        },
    )
}

fn ejection() -> impl Strategy<Value = Ejection> {
    (1_u32..9, 10_u64..99_999, 1_u32..999, 1_u32..99, span(), span(), share()).prop_map(
        |(consecutive_failures, millis, min_requests, min_instances, one, other, max_share)| Ejection {
            consecutive_failures,
            interval: Duration::from_millis(millis),
            min_requests,
            min_instances,
            base: one.min(other),
            longest: one.max(other),
            max_share,
        },
    )
}

/// A pool whose first instance is `port`.
fn pool(name: &'static str, port: u16) -> impl Strategy<Value = Pool> {
    let instances = prop::collection::vec((1_u32..1_000, any::<bool>()), 1..5);
    let retries = (share(), (0.0_f64..1e4).prop_map(Rate::per_second_of), 1_u32..=10);
    let optional =
        (prop::option::of("[A-Za-z_-]{1,9}"), prop::option::of(health()), prop::option::of(ejection()));
    (instances, balance(), optional, prop::option::of(span()), share(), prop::option::of(retries)).prop_map(
        move |(instances, balance, (cookie, health, ejection), slow_start, panic_below, retries)| {
            let hashed = matches!(balance, Balance::Hash(_));
            let instances = (port..).zip(instances).map(|(number, (weight, draining))| Instance {
                weight: Weight::new(weight).unwrap(),
                draining: draining && number != port,
                ..Instance::new(SocketAddr::from(([127, 0, 0, 1], number)))
            });
            Pool {
                instances: instances.collect(),
                balance,
                affinity: cookie.filter(|_| !hashed).map(|cookie| Affinity { cookie }),
                health,
                ejection,
                slow_start,
                panic_below,
                retries: retries.map_or_else(Retries::default, |(budget, least, tries)| Retries {
                    budget,
                    least,
                    tries,
                }),
                ..Pool::new(name, Vec::new())
            }
        },
    )
}

fn mirrors() -> impl Strategy<Value = Vec<Mirror>> {
    let choice = (share(), prop::option::of(limit(0.01, 1e6)), any::<(bool, u32)>(), (span(), span()))
        .prop_map(|(fraction, limit, (all, salt), (trip_at, admit_after))| MirrorSettings {
            fraction,
            limit,
            methods: if all { Methods::All } else { Methods::Safe },
            breaker: BreakerSettings { trip_at, admit_below: trip_at / 2, admit_after },
            salt: u64::from(salt),
        });
    let bounds = (span(), 1_u32..65_536, 1_u32..4_096, 0_u64..1 << 24);
    let mirror = (name(), key(), choice, any::<bool>(), bounds).prop_map(
        |(name, key, choice, credentials, bounds)| {
            let (deadline, queue, in_flight, body_max) = bounds;
            let body_max = Bytes::new(body_max);
            Mirror { choice, key, credentials, deadline, queue, in_flight, body_max, ..Mirror::new(&name, 2) }
        },
    );
    prop::collection::vec(mirror, 2..4).prop_map(|mut mirrors| {
        // The number keeps names apart.
        mirrors.iter_mut().enumerate().for_each(|(index, mirror)| mirror.name += &format!(" {index}"));
        mirrors
    })
}

/// Statuses and classes of them; none in one of two.
fn statuses() -> impl Strategy<Value = Statuses> {
    let one = (200_u16..600).prop_map(|status| Statuses::of(status).unwrap());
    let class = prop::sample::select(&["2xx", "4xx", "5xx"][..]).prop_map(|class| class.parse().unwrap());
    let some = prop::collection::vec(prop_oneof![one, class], 1..4)
        .prop_map(|each: Vec<Statuses>| each.into_iter().fold(Statuses::NONE, Statuses::or));
    prop_oneof![Just(Statuses::NONE), some]
}

fn settings() -> impl Strategy<Value = Settings> {
    let levels = classes((prop::option::of(span()), span(), statuses()).prop_map(
        |(target, window, not_conforming)| {
            let target = target.or(not_conforming.is_empty().then_some(window));
            ServiceLevelSettings { target, window, not_conforming }
        },
    ));
    let routes = prop::collection::vec(
        (
            prop::option::of(name()),
            prop::option::of("[a-z]{1,9}"),
            shed(),
            any::<[usize; 3]>(),
            any::<bool>(),
            (priority(), prop::option::of("[a-z][a-z0-9-]{0,20}")),
        ),
        1..5,
    );
    let shape =
        (1_u32..99, span(), span(), prop::option::of(1025_u16..2000), 0_u8..3, queue(), any::<bool>());
    let pools = (pool("a", 1), pool("yes", 11));
    let shape = (shape, pools, mirrors());
    (levels, classes(keyed_class()), classes(concurrency()), routes, (share(), share(), 1_u32..50), shape)
        .prop_map(
            |(service_levels, rate_classes, concurrency_limits, routes, (one, other, samples), shape)| {
                let (shape, (first_pool, second_pool), mirrors) = shape;
                let (workers, span, other_span, admin, log, queue, shadow) = shape;
                let shadow = shadow && concurrency_limits[0].settings.adaptive.is_none();
                let policy = Policy {
                    name: "protect: it".into(),
                    service_level: service_levels.len() - 1,
                    settings: PolicySettings {
                        enter: if one < other { one } else { other },
                        leave: if one < other { other } else { one },
                        min_samples: u64::from(samples),
                    },
                    rate_class: Some(0),
                    concurrency: (samples % 2 == 0).then_some(0),
                    shadow,
                };
                let at = |index, pick: usize, len: usize| (pick % 3 == index % 3).then_some(pick % len);
                let routes = routes.into_iter().enumerate().map(
                    |(index, (name, host, shed, picks, with_policy, (priority, deadline_header)))| {
                        let path = format!("/{index}/x");
                        let usual = format!("{}{path}", host.clone().unwrap_or_default());
                        let level = at(index, picks[0], service_levels.len());
                        let rule =
                            Rule { name: "a rule".into(), source: "-- nothing\nlocal line = \"\\n\"".into() };
                        let name = name.map_or(usual, |name| format!("{name} {index}"));
                        Route {
                            host,
                            any_spelling: index % 2 == 0,
                            service_level: if with_policy { Some(policy.service_level) } else { level },
                            rate_class: at(index, picks[1], rate_classes.len()).filter(|at| *at != 0),
                            concurrency: at(index, picks[2], concurrency_limits.len()).filter(|at| *at != 0),
                            policy: with_policy.then_some(0),
                            response_rule: (picks[2] % 4 == 0).then_some(rule.clone()),
                            rule: (picks[1] % 4 == 0).then_some(rule),
                            priority,
                            mirrors: (0..picks[2] % 3).collect(),
                            deadline_header,
                            shed,
                            request_trailers: ["x-sum", "grpc-status"][..picks[2] % 3]
                                .iter()
                                .map(|name| TrailerName::new(name).unwrap())
                                .collect(),
                            server_timing: ["db", "app!", "true"][..picks[2] % 4 % 3]
                                .iter()
                                .map(|name| (*name).to_owned())
                                .collect(),
                            ..Route::new(&name, PathMatch::Exact(path), picks[0] % 2)
                        }
                    },
                );
                let routes = routes.collect();
                let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
                Settings {
                    admin: admin.map(|port| match port % 3 {
                        0 => address(port).into(),
                        1 => Admin {
                            listen: AdminAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], port))),
                            token_file: Some("/etc/headroom/a token".into()),
                        },
                        _ => Admin { listen: "unix:/run/a b.sock".parse().unwrap(), token_file: None },
                    }),
                    workers: NonZeroU32::new(workers).unwrap(),
                    access_log: [
                        AccessLog::Off,
                        AccessLog::Stdout,
                        AccessLog::File(PathBuf::from("/var/log/a b.log")),
                    ][usize::from(log)]
                    .clone(),
                    log_form: LogForm {
                        format: LogFormat::ALL[workers as usize % 3],
                        buffer: 4096 * workers,
                        flush: Duration::from_millis(100 * u64::from(workers)),
                    },
                    limits: ConnectionLimits {
                        connections: workers,
                        head_timeout: span,
                        request_head: Limits {
                            headers_max: 8 + workers as usize % 500,
                            head_bytes_max: 1024 * (1 + workers as usize % 256),
                            target_bytes_max: 256 + workers as usize % 700,
                        },
                        answer_head: Limits {
                            head_bytes_max: 10_001 + workers as usize,
                            ..Limits::default()
                        },
                        connections_per_client: (log > 0).then_some(workers),
                        body_min_rate: u64::from(workers - 1) * 100,
                        body_grace: if workers > 1 { span } else { Duration::from_secs(5) },
                        body_timeout: (log > 0).then_some(other_span),
                        body_max: (log > 0).then(|| Bytes::new(1 << workers.min(30))),
                        ..ConnectionLimits::default()
                    },
                    trusted_hops: ["10.0.0.0/8", "::1", "fd00::/8", "192.0.2.7"][..workers as usize % 5]
                        .iter()
                        .map(|text| text.parse().unwrap())
                        .collect(),
                    pools: vec![
                        Pool { answer_timeout: other_span, ..first_pool },
                        Pool {
                            idle_connections: 0,
                            instance_concurrency: Some(workers),
                            queue,
                            ..second_pool
                        },
                        Pool::new("shadow", vec![address(4)]),
                    ],
                    service_levels,
                    rate_classes,
                    concurrency_limits,
                    priorities: ["background", "it's normal", "critical"].map(str::to_owned).to_vec(),
                    policies: vec![policy],
                    mirrors,
                    routes,
                    ..Settings::new("[::1]:8080".parse().unwrap())
                }
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_reads_back_equal(settings in settings()) {
        let text = config::write(&settings);
        match config::parse("gateway.yaml", &text, Path::new("")) {
            Ok((found, _)) => prop_assert_eq!(found, settings, "{}", text),
            Err(problems) => prop_assert!(false, "{problems}\n{text}"),
        }
    }
}

#[test]
fn a_written_file_is_for_people() {
    let [to, listen] = ["127.0.0.1:9000", "127.0.0.1:8080"].map(|text| text.parse().unwrap());
    let (limit, target) = ("107.52/s".parse().ok(), Some(Duration::from_millis(50)));
    let quick = config::Quick { to, listen, limit, target, concurrency: None, admin: None };
    let mut settings = config::quick(quick);
    settings.rate_classes[0].provenance = Some(Provenance {
        run: "r17".into(),
        date: "2026-11-21".into(),
        target: "http://127.0.0.1:9000/search.cgi".into(),
    });
    insta::assert_snapshot!(config::write(&settings));
}

#[test]
fn what_yaml_cannot_carry_stays_out_of_comments() {
    let mut settings = settings_of_one_pool();
    let class = Class { provenance: Some(odd_provenance()), ..Class::new("limit", 2) };
    settings.concurrency_limits = vec![class];
    settings.routes[0].concurrency = Some(0);
    let text = config::write(&settings);
    assert!(config::parse("gateway.yaml", &text, Path::new("")).is_ok(), "{text:?}");
}

/// With characters that end a line or that no YAML may have.
fn odd_provenance() -> Provenance {
    let odd = "a\u{fffe}b\u{ffff}c\u{2028}d\ne\u{feff}";
    Provenance { run: odd.into(), date: odd.into(), target: odd.into() }
}

fn settings_of_one_pool() -> Settings {
    let [to, listen] = ["127.0.0.1:9000", "127.0.0.1:8080"].map(|text| text.parse().unwrap());
    config::quick(config::Quick { to, listen, limit: None, target: None, concurrency: None, admin: None })
}
