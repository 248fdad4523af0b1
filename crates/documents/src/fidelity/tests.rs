use super::*;
use import::Incomparable;
use stats::Distance;

fn part(found: f64, middle: [f64; 2], p99: Option<[f64; 2]>) -> Result<Part, Incomparable> {
    Ok(Part { distance: Distance { found, by_chance: 0.01, margin: 0.02 }, middle, p99 })
}

fn found() -> Fidelity {
    let likeness = Likeness {
        span: Duration::from_secs(60),
        requests: [2_892, 2_890],
        parts: vec![
            (Aspect::Rate, part(0.012, [48.2, 48.1667], None)),
            (Aspect::Gaps, part(0.205, [0.0143, 0.0207], Some([0.0958, 0.0211]))),
            (Aspect::Mix, part(0.031, [12.0, 11.0], None)),
            (Aspect::SessionLength, Err(Incomparable::NoUsers { which: import::Which::Copy })),
            (Aspect::AnswerSizes, part(0.0, [2_310.0, 2_310.0], Some([18_044.0, 18_044.0]))),
        ],
        mix: vec![
            ("GET /cart".to_owned(), [0.041, 0.03]),
            ("GET /products/:id".to_owned(), [0.5, 0.502]),
            ("GET /".to_owned(), [0.1, 0.1]),
        ],
        bin: Duration::from_secs(1),
    };
    let recorded = |file: &str, requests| Recorded { file: file.to_owned(), requests, seconds: 60.5 };
    let nothing = Likeness {
        parts: vec![(Aspect::Rate, Err(Incomparable::TooFew { found: [2_892, 4] }))],
        requests: [2_892, 4],
        mix: Vec::new(),
        ..likeness.clone()
    };
    Fidelity {
        version: "0.0.0",
        original: recorded("live.ndjson", 2_901),
        any_rate: false,
        copies: vec![
            Copy::of(recorded("generated.ndjson", 2_890), &likeness),
            Copy::of(recorded("few.ndjson", 4), &nothing),
        ],
    }
}

#[test]
fn each_copy_has_a_score_and_what_limits_it() {
    for width in [80, 120] {
        insta::assert_snapshot!(format!("text_{width}"), found().text(Terminal { width, colours: false }));
    }
    insta::assert_snapshot!("json", format!("{:#}", found().json()));
}

#[test]
fn a_copy_without_a_score_is_not_good_enough() {
    let mut found = found();
    assert_eq!(found.least(), None);
    found.copies.pop();
    assert!((found.least().unwrap() - 0.805).abs() < 1e-9);
}
