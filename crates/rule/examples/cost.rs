//! What a rule costs: nanoseconds for one run of `examples/search-limit.luau`, and memory of one that waits.
//!
//! `cargo run --release -p rule --example cost`

use rule::{Claim, Host, Limits, Machine, Names, Outcome, RateClassId, Rule, ServiceLevelId};
use std::time::Instant;
use units::Ratio;

struct Request {
    path: &'static [u8],
    conforming: Ratio,
    claim: Claim,
}

impl Host for Request {
    fn path(&self) -> &[u8] {
        self.path
    }
    fn method(&self) -> &[u8] {
        b"GET"
    }
    fn header(&self, _name: &[u8]) -> Option<&[u8]> {
        None
    }
    fn set_service_level(&mut self, _class: ServiceLevelId) {}
    fn conforming(&self, _class: ServiceLevelId) -> Ratio {
        self.conforming
    }
    fn backlog(&self, _class: RateClassId, _key: Option<&[u8]>) -> u32 {
        0
    }
    fn claim(&mut self, _class: RateClassId, _key: Option<&[u8]>) -> Claim {
        self.claim
    }
    fn claim_at_once(&mut self, _class: RateClassId, _key: Option<&[u8]>) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let slow = Ratio::new(0.9).unwrap_or(Ratio::ZERO);
    let cases = [
        ("other path", Request { path: b"/index.html", conforming: slow, claim: Claim::Now }),
        ("calm", Request { path: b"/search.cgi", conforming: Ratio::ONE, claim: Claim::Now }),
        ("slow, admitted", Request { path: b"/search.cgi", conforming: slow, claim: Claim::Now }),
        ("slow, waits, resumed", Request { path: b"/search.cgi", conforming: slow, claim: Claim::Wait }),
    ];
    let names =
        Names::new().service_level("Search timer", ServiceLevelId(0)).rate("Search limit", RateClassId(0));
    let rule = Rule::compile("search-limit", include_str!("../../../examples/search-limit.luau"))?;
    for (case, mut request) in cases {
        let mut machine = Machine::new(Limits::default())?;
        let loaded = machine.load(&rule, &names)?;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..RUNS {
                if let Outcome::Waiting(waiting) = machine.run(&loaded, &mut request)? {
                    machine.resume(waiting, &mut request)?;
                }
            }
            rounds.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS));
        }
        rounds.sort_by(f64::total_cmp);
        let (best, median) = (rounds[0], rounds[rounds.len() / 2]);
        println!("{case:<22} best round {best:>6.0} ns a rule, median round {median:>6.0} ns");
    }
    let mut machine = Machine::new(Limits::default())?;
    let loaded = machine.load(&rule, &names)?;
    let mut request = Request { path: b"/search.cgi", conforming: slow, claim: Claim::Wait };
    let before = machine.memory().get();
    let waiting = (0..WAITING).map(|_| machine.run(&loaded, &mut request)).collect::<Result<Vec<_>, _>>()?;
    let each = machine.memory().get().saturating_sub(before) / waiting.len() as u64;
    println!("a machine with one rule takes {before} bytes, each of {WAITING} rules that wait {each} bytes");
    Ok(())
}

/// Many short rounds, so that some are undisturbed where the machine is shared.
const ROUNDS: u32 = 200;
const RUNS: u32 = 2_000;
const WAITING: usize = 1_000;
