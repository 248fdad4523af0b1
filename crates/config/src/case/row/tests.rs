use super::*;

fn stages() -> Vec<Stage> {
    let text = "
case: small
traffic: { rate: 10/s }
services:
  front: { endpoints: { a: { cpu: 1ms } }, server: {}, hosts: { h: { cores: 1 } } }
  back: { endpoints: { a: { cpu: 1ms } }, server: {}, hosts: { h: { cores: 1 } } }
stages:
  - name: baseline
  - name: throttle-2
";
    let case = crate::case::parse("small.yaml", text, std::path::Path::new(""), Default::default());
    case.unwrap_or_else(|problems| panic!("{problems}")).stages
}

fn row(text: &str) -> Result<Row, Vec<Wrong>> {
    let syntax = parse::syntax(text).map_err(|wrong| vec![wrong])?;
    let condition = condition(syntax, &stages())?;
    Ok(Row { what: String::new(), says: None, text: text.to_owned(), reported: None, condition })
}

/// p95 is 0.5 s in the first stage and 0.6 s in the second; every other measure is the stage's number, from 1.
fn value(reference: &Reference) -> Option<f64> {
    match reference.measure {
        Measure::Quantile(Part::Balancer, 95) => Some([0.5, 0.6][reference.stage]),
        Measure::Flaps => None,
        _ => Some(reference.stage as f64 + 1.0),
    }
}

#[test]
fn conditions_hold_or_do_not() {
    for (text, met, found) in [
        // Ranges include both bounds.
        ("baseline.p95 in 400ms..600ms", true, "500 ms"),
        ("baseline.p95 in 500ms..1s", true, "500 ms"),
        ("baseline.p95 in 501ms..1s", false, "500 ms"),
        ("throttle-2.p95 / baseline.p95 in 1.1..1.3", true, "1.20"),
        // Chains: each side is compared with the next.
        ("baseline.cost < throttle-2.cost", true, "$1.000 < $2.000"),
        ("throttle-2.actions > baseline.actions > 0", true, "2 > 1 > 0"),
        ("throttle-2.actions > baseline.actions > 1", false, "2 > 1 ≤ 1"),
        ("baseline.instances_lowest = 1", true, "1 = 1"),
        ("baseline.instances_lowest = 2", false, "1 ≠ 2"),
        ("baseline.cpu >= 100%", true, "100.0 % ≥ 100.0 %"),
        // Arithmetic with its usual order.
        ("throttle-2.cpu - baseline.cpu in 20%..30%", false, "100.0 %"),
        ("baseline.cost + 2 * throttle-2.cost = $5", true, "$5.000 = $5.000"),
        ("(baseline.cost + $2) * 2 = $6", true, "$6.000 = $6.000"),
        ("baseline.answered in 0.9/s..60/min", true, "1/s"),
        // Services and windows.
        ("baseline.back.cpu <= baseline.front.cpu(22:00..02:30)", true, "100.0 % ≤ 100.0 %"),
    ] {
        let judged = row(text).unwrap_or_else(|wrongs| panic!("{text}: {wrongs:?}")).judge(&value);
        assert_eq!((judged.met, judged.found.as_str()), (Some(met), found), "{text}");
    }
}

#[test]
fn what_is_missing_is_neither_met_nor_missed() {
    for text in ["baseline.flaps = 0", "baseline.flaps in 0..1", "baseline.cost / (baseline.cost - $1) > 1"] {
        let judged = row(text).unwrap().judge(&value);
        assert_eq!(judged.met, None, "{text}: {judged:?}");
    }
}

#[test]
fn windows_are_of_the_day() {
    let row = row("throttle-2.back.instances_median(02:30..05:00) <= 17").unwrap();
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let expected = Reference {
        stage: 1,
        service: Some(1),
        measure: Measure::InstancesMedian,
        within: Some((minutes(150), minutes(300))),
    };
    assert_eq!(row.references(), [expected]);
}

#[test]
fn what_is_wrong_is_said() {
    let told: String = [
        "",
        "baseline.p95",
        "baseline.p95 in 400ms",
        "baseline.p95 in 600ms..400ms",
        "baseline.p95 < 5",
        "baseline.p95 < 5 kg",
        "baseline.p95 & 5",
        "baseline.p95 + baseline.cost > $1",
        "baseline.p95 * baseline.p95 > 1s",
        "baseline.p95-throttle-2.p95 > 0s",
        "baselin.p95 < 1s",
        "baseline.p96 < 1s",
        "baseline.middle.p95 < 1s",
        "a.b.c.d < 1",
        "baseline.cost(02:30..05:00) < $1",
        "1 < 2",
        "baseline.p95 < 1s 5",
        "((baseline.p95) < 1s",
        "baseline.p95 .. 1s",
    ]
    .iter()
    .map(|text| {
        let wrongs = row(text).expect_err(text);
        let lines = wrongs.iter().map(|wrong| format!("  {}\n    help: {}\n", wrong.message, wrong.help));
        format!("{text}\n{}", lines.collect::<String>())
    })
    .collect();
    insta::assert_snapshot!(told);
}
