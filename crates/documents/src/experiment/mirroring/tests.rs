use super::super::{Answers, Candidate, Data, Experiment, Verdict, Voids};
use super::*;
use report::Terminal;

fn verdict(measure: &'static str, word: &'static str, off: f64, effect: [f64; 3]) -> Verdict {
    let [effect, low, high] = effect;
    Verdict {
        route: "all".to_owned(),
        measure,
        candidate: "on".to_owned(),
        verdict: word,
        effect: Some(effect),
        low: Some(low),
        high: Some(high),
        primary: measure == "processor_time",
        control_value: Some(off),
        candidate_value: Some(off * (1.0 + effect)),
        unit: "s",
        blocks: 50,
        more_seconds: None,
        steady: true,
    }
}

fn found() -> Experiment {
    let cost = |value, low, high| Some(Cost { value, low: Some(low), high: Some(high) });
    Experiment {
        version: "0.1.0",
        name: "copies".to_owned(),
        variable: "mirroring".to_owned(),
        control: "off".to_owned(),
        design: "slices",
        design_reason: "a gateway copies or it does not".to_owned(),
        primary: "processor_time",
        margin: 0.01,
        plan: None,
        promised_seconds: None,
        noise_floor: None,
        restarts: None,
        seconds: 601.2,
        blocks: 50,
        void_blocks: 1,
        voids: vec![Voids {
            reason: "few_requests",
            count: 1,
            last: "an arm had 12 requests, fewer than 20".to_owned(),
        }],
        ended: "all planned blocks were run".to_owned(),
        hypothesis: None,
        verdicts: vec![
            verdict("processor_time", "worse", 40e-6, [0.1, 0.07, 0.13]),
            verdict("p99", "cannot_tell", 8e-3, [0.01, -0.02, 0.04]),
            verdict("live_processor_time", "worse", 40e-6, [0.02, 0.01, 0.03]),
        ],
        candidates: vec![Candidate { value: "on".to_owned(), state: "compared", reason: None }],
        fleet: Vec::new(),
        answers: Answers { complete: true, ..Answers::default() },
        examined: Vec::new(),
        search: None,
        mirroring: Some(Mirroring {
            gateway: "127.0.0.1:9901".to_owned(),
            mirrors: vec!["next version".to_owned()],
            capture: false,
            responses_per_second: Some(300.2),
            copies_per_request: Some(0.1003),
            cores: cost(0.0012, 0.00084, 0.00156),
            live_cores: cost(0.00024, 0.00012, 0.00036),
            p99_seconds: cost(80e-6, -160e-6, 320e-6),
            resumed: true,
        }),
        data: Data::default(),
        notes: Vec::new(),
    }
}

#[test]
fn the_cost_is_said_in_cores_and_milliseconds() {
    let mut unknown = found();
    unknown.verdicts.retain(|verdict| verdict.measure == "p99");
    unknown.mirroring = unknown.mirroring.map(|mirroring| Mirroring {
        capture: true,
        cores: None,
        live_cores: None,
        p99_seconds: Some(Cost { value: 0.0, low: None, high: None }),
        resumed: false,
        ..mirroring
    });
    insta::assert_snapshot!(format!("{}\n{}", found().text(Terminal::PIPE), unknown.text(Terminal::PIPE)));
}
