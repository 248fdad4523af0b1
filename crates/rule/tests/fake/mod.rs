//! A host with preset values that records its calls.

use rule::{
    Answer, Answered, Claim, Host, Limits, LoadedRule, Machine, Names, Outcome, Phase, PoolId, RateClassId,
    Rule, RuleError, ServiceLevelId,
};
use std::borrow::Cow;
use std::net::IpAddr;
use units::Ratio;

pub struct Fake {
    pub path: Vec<u8>,
    pub conforming: f64,
    pub backlog: u32,
    pub claim: Claim,
    pub asked: Vec<String>,
}

impl Default for Fake {
    fn default() -> Self {
        Fake { path: b"/".to_vec(), conforming: 1.0, backlog: 0, claim: Claim::Now, asked: Vec::new() }
    }
}

impl Host for Fake {
    fn path(&self) -> &[u8] {
        &self.path
    }
    fn method(&self) -> &[u8] {
        b"GET"
    }
    fn query(&self) -> Option<&str> {
        Some("q=a%20b&page=2")
    }
    fn host(&self) -> Option<&str> {
        Some("shop.example:8080")
    }
    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        name.eq_ignore_ascii_case(b"cookie").then_some(b"session=1")
    }
    fn cookies(&self) -> Cow<'_, [u8]> {
        b"session=1; lang=de".into()
    }
    fn client(&self) -> IpAddr {
        [192, 0, 2, 7].into()
    }
    fn log(&mut self, line: &str) {
        self.asked.push(format!("log {line:?}"));
    }
    fn set_service_level(&mut self, class: ServiceLevelId) {
        self.asked.push(format!("time by {}", class.0));
    }
    fn conforming(&self, _class: ServiceLevelId) -> Ratio {
        Ratio::new(self.conforming).expect("tests give a share from 0 to 1")
    }
    fn backlog(&self, _class: RateClassId, _key: Option<&[u8]>) -> u32 {
        self.backlog
    }
    fn claim(&mut self, class: RateClassId, key: Option<&[u8]>) -> Claim {
        self.asked.push(format!("use {} {:?}", class.0, key.map(String::from_utf8_lossy)));
        self.claim
    }
    fn claim_at_once(&mut self, class: RateClassId, key: Option<&[u8]>) -> bool {
        self.asked.push(format!("use at once {} {:?}", class.0, key.map(String::from_utf8_lossy)));
        self.claim == Claim::Now
    }
}

/// A response of an instance.
pub struct Page(pub u16);

impl Answer for Page {
    fn status(&self) -> u16 {
        self.0
    }
    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        name.eq_ignore_ascii_case(b"server").then_some(b"old/1.0")
    }
}

/// The classes of the account, with numbers that differ from their indexes.
pub fn names() -> Names {
    Names::new()
        .service_level("Search timer", ServiceLevelId(7))
        .rate("Search limit", RateClassId(3))
        .pool("main", PoolId(0))
        .pool("canary", PoolId(5))
}

/// Loads a rule without errors.
pub fn load(machine: &mut Machine, source: &str) -> LoadedRule {
    let rule = Rule::compile("test", source).expect("the test's rule compiles");
    machine.load(&rule, &names()).expect("the test's rule names known classes")
}

/// Compiles, loads and runs a rule named `test` on a machine of its own.
pub fn run(source: &str, host: &mut Fake) -> Result<Outcome, RuleError> {
    let mut machine = Machine::new(Limits::default())?;
    let rule = machine.load(&Rule::compile("test", source)?, &names())?;
    machine.run(&rule, host)
}

/// Compiles, loads and runs a response rule named `test` for a response with this status.
pub fn run_response(source: &str, status: u16) -> Result<Answered, RuleError> {
    let mut machine = Machine::new(Limits::default())?;
    let rule = machine.load(&Rule::compile_for(Phase::Response, "test", source)?, &names())?;
    machine.run_response(&rule, &mut Fake::default(), &Page(status))
}
