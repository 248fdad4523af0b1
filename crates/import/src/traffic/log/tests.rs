use crate::{BadLines, Gaps, Traffic, TrafficOptions, read_traffic};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

/// 2026-03-01T12:00:00Z
const NOON: i64 = 1_772_366_400;

/// A line of nginx's combined format.
fn nginx(second: i64, agent: &str) -> String {
    let at = jiff::Timestamp::from_second(NOON + second).unwrap();
    let at = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
    format!("192.0.2.7 - - [{at}] \"GET /a HTTP/1.1\" 200 23 \"-\" \"{agent}\"\n")
}

/// A line of a load balancer's log, with present and possible future additional fields.
fn alb(second: i64) -> String {
    let at = jiff::Timestamp::from_second(NOON + second).unwrap();
    let end = jiff::Timestamp::from_second(NOON + second + 2).unwrap();
    format!(
        "h2 {end:.6} app/my-loadbalancer/50dc6c495c0c9188 10.0.1.252:48160 10.0.0.66:9000 0.000 0.002 0.000 200 200 5 257 \"GET https://10.0.2.105:773/ HTTP/2.0\" \"curl/7.46.0\" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 \"Root=1-58337327-72bd00b0343d75b906739c42\" \"-\" \"-\" 1 {at:.6} \"redirect\" \"https://example.com:80/\" \"-\" \"10.0.0.66:9000\" \"200\" \"-\" \"-\" TID_1234 \"new\" \"newer\"\n"
    )
}

fn read(text: &[u8], options: &TrafficOptions) -> Result<(Traffic, Vec<String>), Vec<String>> {
    match read_traffic("access.log", text, options) {
        Ok((traffic, notices)) => Ok((traffic, notices.iter().map(ToString::to_string).collect())),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

fn plain(text: &str) -> Result<(Traffic, Vec<String>), Vec<String>> {
    read(text.as_bytes(), &TrafficOptions::default())
}

#[test]
fn a_load_balancers_log_counts_requests_when_they_came() {
    // Created in the minutes 0, 0, 1 and 2; written two seconds later, and out of order.
    let text: String = [58, 3, 125, 61].map(alb).concat();
    let want = Traffic { start: Some(NOON * 1_000_000), bin: Duration::from_secs(60), counts: vec![2, 1, 1] };
    assert_eq!(plain(&text), Ok((want.clone(), vec![])));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    assert_eq!(read(&gzip.finish().unwrap(), &TrafficOptions::default()), Ok((want, vec![])));
}

#[test]
fn a_local_log_over_a_change_of_the_clock_is_right_because_it_names_its_offset() {
    let line = |time: &str| format!("h - - [25/Oct/2026:{time}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n");
    let text = line("02:59:30 +0200") + &line("02:00:10 +0100") + &line("02:01:10 +0100");
    assert_eq!(plain(&text).unwrap().0.counts, [1, 1, 1]);
}

#[test]
fn what_is_odd_in_a_log_is_told() {
    let hundred: String = (0..200).map(|second| nginx(second, "x")).collect();
    let broken = format!("{hundred}\\x16\\x03\n{}", nginx(201, "x"));
    let more_broken = format!("{broken}oops\noops\n");
    let health = hundred.clone() + &nginx(200, "ELB-HealthChecker/2.0") + &nginx(201, "kube-probe/1.30");
    let silent: String = (0..200).chain(3_600..3_800).map(|second| nginx(second, "x")).collect();
    let far = hundred.clone() + &nginx(-1_772_366_400, "x");
    let mut shown: Vec<_> = [&broken, &more_broken, &health, &silent, &far]
        .iter()
        .map(|text| match plain(text) {
            Ok((traffic, notices)) => {
                format!(
                    "{} in {} bins\n  {}",
                    traffic.counts.iter().sum::<u64>(),
                    traffic.counts.len(),
                    notices.join("\n  ")
                )
            }
            Err(errors) => format!("error: {}", errors.join("\nerror: ")),
        })
        .collect();
    let skip = TrafficOptions { bad_lines: BadLines::Skip, ..TrafficOptions::default() };
    assert_eq!(read(more_broken.as_bytes(), &skip).unwrap().0.counts.iter().sum::<u64>(), 201);
    let refuse = TrafficOptions { bad_lines: BadLines::Refuse, ..TrafficOptions::default() };
    shown.push(read(broken.as_bytes(), &refuse).unwrap_err().join("\n"));
    let refuse = TrafficOptions { gaps: Gaps::Refuse, ..TrafficOptions::default() };
    shown.push(read(silent.as_bytes(), &refuse).unwrap_err().join("\n"));
    let no_times =
        TrafficOptions { log_format: Some("$request $status".to_owned()), ..TrafficOptions::default() };
    shown.push(read(b"GET / HTTP/1.1 200\n", &no_times).unwrap_err().join("\n"));
    let wrong =
        TrafficOptions { log_format: Some("$nothing$request".to_owned()), ..TrafficOptions::default() };
    shown.push(read(b"GET / HTTP/1.1 200\n", &wrong).unwrap_err().join("\n"));
    insta::assert_snapshot!(shown.join("\n"));
    let hold = TrafficOptions { gaps: Gaps::Hold, ..TrafficOptions::default() };
    assert_eq!(read(silent.as_bytes(), &hold).unwrap().0.counts[30], 20);
}

proptest! {
    #[test]
    fn a_log_in_bins_is_what_counting_by_hand_gives(
        seconds in prop::collection::vec(0_i64..4_000, 1..200),
        width in prop::sample::select(vec![1_i64, 7, 60, 300, 3_600]),
        load_balancer: bool,
    ) {
        let line = |second: &i64| if load_balancer { alb(*second) } else { nginx(*second, "x") };
        let text: String = seconds.iter().map(line).collect();
        let bin = Duration::from_secs(width.unsigned_abs());
        let options = TrafficOptions { bin: Some(bin), ..TrafficOptions::default() };
        let (traffic, _) = read(text.as_bytes(), &options).unwrap();
        let mut by_hand: BTreeMap<i64, u64> = BTreeMap::new();
        for second in &seconds {
            *by_hand.entry((NOON + second).div_euclid(width) * width).or_default() += 1;
        }
        let first = *by_hand.keys().next().unwrap();
        prop_assert_eq!(traffic.start, Some(first * 1_000_000));
        prop_assert_eq!(traffic.counts.len() as i64, (by_hand.keys().last().unwrap() - first) / width + 1);
        for (index, count) in traffic.counts.iter().enumerate() {
            let at = first + index as i64 * width;
            prop_assert_eq!(*count, by_hand.get(&at).copied().unwrap_or(0));
        }
    }
}
