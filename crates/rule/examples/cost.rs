//! The cost of a rule: nanoseconds for one run of `examples/search-limit.luau`, for one call of each kind, and the
//! memory of one that waits.
//!
//! `cargo run --release -p rule --example cost`

use rule::{Claim, Host, Limits, Machine, Names, Outcome, PoolId, RateClassId, Rule, ServiceLevelId};
use std::borrow::Cow;
use std::net::IpAddr;
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
    fn query(&self) -> Option<&str> {
        Some("q=shoes&page=2")
    }
    fn host(&self) -> Option<&str> {
        Some("shop.example")
    }
    fn header(&self, _name: &[u8]) -> Option<&[u8]> {
        None
    }
    fn cookies(&self) -> Cow<'_, [u8]> {
        b"session=1; canary=yes".into()
    }
    fn client(&self) -> IpAddr {
        [192, 0, 2, 7].into()
    }
    fn log(&mut self, _line: &str) {}
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
        measure(case, &rule, &names, &mut request)?;
    }
    let names = names.pool("canary", PoolId(1));
    for source in [
        "",
        "http.getPath()",
        "http.getHeader('Accept')",
        "http.getCookie('canary')",
        "http.getQueryParam('page')",
        "http.setHeader('X-A', '1')",
        "http.setPath('/v2')",
        "pool.select('canary')",
    ] {
        let mut request = Request { path: b"/search.cgi", conforming: slow, claim: Claim::Now };
        measure(source, &Rule::compile("call", source)?, &names, &mut request)?;
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

fn measure(
    case: &str,
    rule: &Rule,
    names: &Names,
    request: &mut Request,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut machine = Machine::new(Limits::default())?;
    let loaded = machine.load(rule, names)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..RUNS {
            if let Outcome::Waiting(waiting) = machine.run(&loaded, request)? {
                machine.resume(waiting, request)?;
            }
        }
        rounds.push(start.elapsed().as_secs_f64() * 1e9 / f64::from(RUNS));
    }
    rounds.sort_by(f64::total_cmp);
    let (best, median) = (rounds[0], rounds[rounds.len() / 2]);
    println!("{case:<26} best round {best:>6.0} ns a rule, median round {median:>6.0} ns");
    Ok(())
}

/// Many short rounds, so that some are undisturbed on a shared machine.
const ROUNDS: u32 = 200;
const RUNS: u32 = 2_000;
const WAITING: usize = 1_000;
