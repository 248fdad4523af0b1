use super::*;

fn needs() -> Needs {
    Needs {
        connections: Some(64),
        new_connections: Rate::ZERO,
        local_addresses: 1,
        remote_addresses: vec![IpAddr::from([192, 0, 2, 1])],
        rate: Some(Rate::per_second_of(1_000.0)),
        workers: 2,
        tls: false,
        lasts: Some(Duration::from_secs(600)),
    }
}

fn host() -> Host {
    Host {
        descriptors: Descriptors { in_use: Some(10), soft: Some(1_024), hard: Some(20_000) },
        ports: PortRange::parse("32768 60999", ""),
        time_wait: 32,
        tw_reuse: Some(2),
        somaxconn: Some(4_096),
        cores: Some(2.0),
        quota: false,
        memory: Some(Bytes::new(1_000_000_000)),
    }
}

fn what(needs: &Needs, host: &Host) -> Vec<(Severity, &'static str)> {
    preflight_on(needs, host).iter().map(|finding| (finding.severity, finding.what)).collect()
}

#[test]
fn finds_what_does_not_fit() {
    use Severity::{Fatal, Warning};
    let per_second = Rate::per_second_of;
    let wide = Host { descriptors: Descriptors::default(), ..host() };
    let reuse = Host { tw_reuse: Some(1), ..host() };
    let narrow = Host { cores: Some(0.5), quota: true, ..host() };
    let unknown = Host::default();
    for (needs, host, found) in [
        // Everything fits.
        (needs(), host(), vec![]),
        // 20,000 minus 10 in use minus 8 for each of two workers.
        (Needs { connections: Some(19_974), ..needs() }, host(), vec![]),
        (Needs { connections: Some(19_975), ..needs() }, host(), vec![(Fatal, "descriptors")]),
        // Without a bound, 5,000/s times two seconds fit, 15,000/s do not.
        (Needs { connections: None, rate: Some(per_second(5_000.0)), ..needs() }, host(), vec![]),
        (
            Needs { connections: None, rate: Some(per_second(15_000.0)), ..needs() },
            host(),
            vec![(Warning, "descriptors")],
        ),
        // 28,232 ports to one address, twice as many from two.
        (Needs { connections: Some(28_232), ..needs() }, wide, vec![]),
        (Needs { connections: Some(28_233), ..needs() }, wide, vec![(Fatal, "ports")]),
        (Needs { connections: Some(40_000), local_addresses: 2, ..needs() }, wide, vec![]),
        (
            Needs {
                connections: Some(40_000),
                remote_addresses: vec![IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])],
                ..needs()
            },
            wide,
            vec![],
        ),
        // A unix socket takes none.
        (Needs { connections: Some(40_000), remote_addresses: vec![], ..needs() }, wide, vec![]),
        // 28,232 - 64 - 32 ports for a minute: 468.9 new connections a second.
        (Needs { new_connections: per_second(468.0), ..needs() }, host(), vec![]),
        (Needs { new_connections: per_second(470.0), ..needs() }, host(), vec![(Warning, "ports")]),
        // A short run has not used them up.
        (
            Needs { new_connections: per_second(900.0), lasts: Some(Duration::from_secs(10)), ..needs() },
            host(),
            vec![],
        ),
        // Reused after a second: on loopback where the setting is 2, everywhere where it is 1.
        (
            Needs {
                new_connections: per_second(900.0),
                remote_addresses: vec![IpAddr::from([127, 0, 0, 1])],
                ..needs()
            },
            host(),
            vec![],
        ),
        (Needs { new_connections: per_second(900.0), ..needs() }, reuse, vec![]),
        // Cores.
        (Needs { workers: 3, ..needs() }, host(), vec![(Warning, "cores")]),
        (Needs { workers: 1, ..needs() }, narrow, vec![]),
        (Needs { rate: Some(per_second(150_000.0)), ..needs() }, host(), vec![]),
        (Needs { rate: Some(per_second(180_000.0)), ..needs() }, host(), vec![(Warning, "cores")]),
        (
            Needs { rate: Some(per_second(180_000.0)), workers: 1, ..needs() },
            narrow,
            vec![(Warning, "cores")],
        ),
        (Needs { rate: Some(per_second(150_000.0)), tls: true, ..needs() }, host(), vec![(Warning, "cores")]),
        // A gigabyte for connections of 20 or 60 KiB.
        (Needs { connections: Some(17_000), ..needs() }, host(), vec![]),
        (Needs { connections: Some(17_000), tls: true, ..needs() }, host(), vec![(Warning, "memory")]),
        // The service is on this machine, and so is its queue.
        (
            Needs {
                connections: Some(5_000),
                remote_addresses: vec![IpAddr::from([127, 0, 0, 1])],
                ..needs()
            },
            host(),
            vec![(Warning, "accept queue")],
        ),
        // The worst comes first.
        (
            Needs { connections: Some(19_980), tls: true, workers: 2, ..needs() },
            host(),
            vec![(Fatal, "descriptors"), (Warning, "memory")],
        ),
        // Unknown values do not stop a run.
        (Needs { connections: Some(1_000_000), ..needs() }, unknown, vec![]),
    ] {
        assert_eq!(what(&needs, &host), found, "{needs:?} on {host:?}");
    }
}

#[test]
fn a_finding_names_place_needed_found_and_way_out() {
    let text = |needs: Needs| preflight_on(&needs, &host())[0].to_string();
    assert_eq!(
        text(Needs { connections: Some(50_000), ..needs() }),
        "descriptors: 50000 connections take one each, and this machine has 19974 (a limit of 20000, less those of \
         the program itself); raise the hard limit to 50026 (`ulimit -Hn`), or lower -c"
    );
    assert_eq!(
        text(Needs { new_connections: Rate::per_second_of(1_000.0), ..needs() }),
        "ports: 1000 new connections a second, each of which holds its port for 60.0 s after it is closed, take \
         60000, and this machine has 28136 free of 28232 (28232 ports × 1 local × 1 remote) (they last for 28.1 s); \
         keep connections alive, set net.ipv4.tcp_tw_reuse to 1, widen net.ipv4.ip_local_port_range, or use more \
         local addresses"
    );
    assert_eq!(
        text(Needs { workers: 4, ..needs() }),
        "cores: 4 workers keep one busy each, and this machine has 2 to use; use 2 workers, or give this process \
         more cores"
    );
}

#[test]
fn this_machine_can_carry_one_connection() {
    let one = Needs { connections: Some(1), workers: 1, rate: Some(Rate::per_second_of(1.0)), ..needs() };
    assert_eq!(preflight(&one), vec![]);
}
