use super::*;

fn found(code: &str, sentence: &str) -> Examined {
    let bottleneck = Some(Bottleneck { code: code.to_owned(), sentence: sentence.to_owned() });
    Examined { seconds: 12.5, bottleneck }
}

/// A search that has eliminated the values 1 and 2 of five.
fn searched() -> Experiment {
    let none = Examined { seconds: 14.0, bottleneck: None };
    let busy = "All workers are busy (1 request at a time) and 1.2 more wait, while 0.6 of 2 cores are used.";
    let values = [
        ("1", 61.0, found("workers", busy)),
        ("2", 34.0, found("workers", busy)),
        ("4", 21.0, none.clone()),
        ("8", 21.2, none),
        ("16", 23.0, Examined::default()),
    ];
    let tried = |(value, ms, examined): &(&str, f64, Examined)| Tried {
        value: (*value).to_owned(),
        rounds: 9,
        measures: BTreeMap::from([("p95", ms / 1e3)]),
        examined: examined.clone(),
    };
    let state = |value: &str| match value {
        "1" | "2" => "eliminated",
        "16" => "left_out",
        _ => "compared",
    };
    let verdict = |value: &str, verdict, effect| Verdict {
        route: "all".to_owned(),
        measure: "p95",
        candidate: value.to_owned(),
        verdict,
        effect: Some(effect),
        low: Some(effect - 0.02),
        high: Some(effect + 0.02),
        primary: true,
        control_value: Some(0.021),
        candidate_value: Some(0.021 * (1.0 + effect)),
        unit: "s",
        blocks: 9,
        more_seconds: None,
        steady: true,
    };
    Experiment {
        version: "0",
        name: "ngin".to_owned(),
        variable: "processes".to_owned(),
        control: "4".to_owned(),
        design: "restarts",
        design_reason: "each value is a service that is started anew in each round".to_owned(),
        primary: "p95",
        margin: 0.05,
        plan: None,
        promised_seconds: None,
        noise_floor: None,
        restarts: None,
        seconds: 300.0,
        blocks: 45,
        void_blocks: 0,
        voids: Vec::new(),
        ended: "no value is better than the best by more than the margin".to_owned(),
        hypothesis: None,
        verdicts: vec![verdict("1", "worse", 1.9), verdict("2", "worse", 0.6), verdict("8", "same", 0.01)],
        candidates: values
            .iter()
            .map(|(value, ..)| Candidate { value: (*value).to_owned(), state: state(value), reason: None })
            .collect(),
        fleet: Vec::new(),
        answers: Answers::default(),
        examined: Vec::new(),
        search: Some(Search {
            best: Some("4".to_owned()),
            certain: true,
            remaining: vec!["4".to_owned(), "8".to_owned()],
            rounds: 9,
            values: values.iter().map(tried).collect(),
        }),
        mirroring: None,
        notes: Vec::new(),
        data: Data {
            arms: vec!["control".to_owned(), "8".to_owned()],
            measures: vec![Column { route: "all".to_owned(), measure: "p50", unit: "s" }],
            blocks: vec![Block {
                ended: 3.0,
                void: None,
                parts: vec![BlockPart { arm: 0, requests: 90, values: vec![Some(0.0123)] }],
            }],
        },
    }
}

#[test]
fn a_search_names_the_bottleneck_of_each_value_that_lost_and_of_the_best() {
    insta::assert_snapshot!(searched().text(Terminal::PIPE));
    let mut limited = searched();
    let search = limited.search.as_mut().unwrap();
    search.values[2].examined =
        found("processor", "The service uses all of its processor time: 1.9 of 2 cores.");
    let text = limited.text(Terminal::PIPE);
    assert!(
        text.contains("4, the best: The service uses all of its processor time: 1.9 of 2 cores. [processor]"),
        "{text}"
    );
    assert_eq!(bottlenecks_of(&limited.json()).unwrap(), "workers with 1, 2; processor with 4 (best)");
    let values = &mut limited.search.as_mut().unwrap().values;
    values[0].examined = Examined { seconds: 12.0, bottleneck: None };
    for (value, time) in values.iter_mut().zip([0.0044, 0.0031, 0.003]) {
        value.measures.insert("processor_time", time);
    }
    let text = limited.text(Terminal::PIPE);
    let sentence =
        "- 1: nothing is full, but a request needs 4.400 ms of processor time, with the best 3.000 ms";
    assert!(text.contains(sentence), "{text}");
    // Without an examination nothing is said.
    let values = &mut limited.search.as_mut().unwrap().values;
    values.iter_mut().for_each(|tried| tried.examined = Examined::default());
    assert!(!limited.text(Terminal::PIPE).contains("bottleneck"));
    assert_eq!(bottlenecks_of(&limited.json()), None);
}

#[test]
fn a_search_says_what_its_best_value_changes_beside_the_primary_measure() {
    let mut found = searched();
    let of = |candidate: &str, measure, verdict, effect: f64| Verdict {
        measure,
        primary: false,
        candidate: candidate.to_owned(),
        verdict,
        effect: Some(effect),
        low: Some(effect - 0.02),
        high: Some(effect + 0.02),
        ..found.verdicts[0].clone()
    };
    let others = [
        of("1", "processor_time", "better", -0.2),
        of("2", "processor_time", "worse", 0.2),
        of("8", "processor_time", "worse", 0.1),
        of("8", "errors", "cannot_tell", 0.0),
    ];
    let fleet = |verdict: &Verdict| Fleet::in_place_of(verdict, "4".to_owned(), 8, Some(0.5)).unwrap();
    let (more, fewer) = (fleet(&others[0]), fleet(&others[1]));
    found.verdicts.extend(others);
    found.fleet = vec![more];
    let text = found.text(Terminal::PIPE);
    for said in [
        "as good: 8\n",
        "on other measures 1 of 2 verdicts cannot be told yet",
        "with processes 4, 10.0 (9.8 to 10.3) carry what 8 do, if processors are their limit, which costs $1.00 an hour more (0.88 to 1.13)",
        "1          all    processor_time",
        "8          all    processor_time",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(
        !text.contains("2          all    processor_time") && !text.contains("8          all    errors"),
        "{text}"
    );
    found.fleet = vec![fewer];
    let text = found.text(Terminal::PIPE);
    let said = "6.7 (6.6 to 6.8) carry what 8 do, if processors are their limit, which saves $0.67 an hour (0.61 to 0.72)";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_comparison_names_the_bottleneck_of_each_service() {
    let arm = |arm: &str, examined: Examined| ArmExamined {
        arm: arm.to_owned(),
        seconds: examined.seconds,
        bottleneck: examined.bottleneck,
    };
    let none = Examined { seconds: 14.0, bottleneck: None };
    let busy = found("workers", "All workers are busy.");
    let compared = |examined| Experiment { search: None, examined, ..searched() };
    let both = compared(vec![arm("control", busy.clone()), arm("4", busy)]);
    let text = both.text(Terminal::PIPE);
    assert!(
        text.contains("bottleneck control: All workers are busy. [workers]\n           4: All workers"),
        "{text}"
    );
    assert_eq!(bottlenecks_of(&both.json()).unwrap(), "workers with control, 4");
    let neither = compared(vec![arm("control", none.clone()), arm("4", none)]);
    assert!(neither.text(Terminal::PIPE).contains("bottleneck nothing was found that limits a service"));
    assert!(!compared(Vec::new()).text(Terminal::PIPE).contains("bottleneck"));
}

#[test]
fn restarts_that_differ_are_told_from_those_that_do_not() {
    let of = |between, p, differ| {
        let restarts = Restarts { between, within: 0.012, p, processes: 8, differ, seconds: 0.6 };
        Experiment { search: None, restarts: Some(restarts), ..searched() }.text(Terminal::PIPE)
    };
    let different = of(0.144, 0.000_02, true);
    let row = "restarts   differ by 14.4 % from start to start, 1.2 % a block (8 starts, p < 0.001)\n";
    assert!(different.contains(row), "{different}");
    let equal = of(0.002, 0.31, false);
    assert!(equal.contains("restarts   do not differ, 1.2 % a block (8 starts, p = 0.310)\n"), "{equal}");
}
