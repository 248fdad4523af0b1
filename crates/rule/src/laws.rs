//! Laws for every rule text and every request, which the fuzz target and a test of this crate check.

use crate::RuleError;
use crate::changes::check_name;
use crate::{
    Answer, Answered, Changes, Claim, Host, Limits, LoadedRule, Machine, Names, Outcome, Phase, PoolId,
    RateClassId, Response, Rule, ServiceLevelId,
};
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use units::{Bytes, Ratio};

/// The text of a rule, and after a NUL the path, query, host and value of every field of its request. It is compiled
/// and run for requests and for responses.
///
/// # Panics
/// A law is violated.
pub fn rule(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (source, request) = text.split_once('\0').unwrap_or((&text, "/a%20b"));
    let names = Names::new()
        .service_level("level", ServiceLevelId(0))
        .rate("rate", RateClassId(0))
        .pool("pool", PoolId(0));
    for phase in [Phase::Request, Phase::Response] {
        let Ok(rule) = Rule::compile_for(phase, "law", source) else { continue };
        for unknown in rule.unknown(&names) {
            assert!(!unknown.to_string().is_empty());
        }
        let mut machine = Machine::new(LIMITS).expect("an empty machine fits");
        let Ok(loaded) = machine.load(&rule, &names) else { continue };
        let mut request = Request { text: request, waits: true };
        // A machine that has run a rule can run the next one.
        for _ in 0..2 {
            let begun = Instant::now();
            match phase {
                Phase::Request => run(&mut machine, &loaded, &mut request),
                Phase::Response => run_response(&mut machine, &loaded, &mut request),
            }
            assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
            assert!(machine.memory() <= LIMITS.memory, "{}", machine.memory());
        }
    }
}

fn run(machine: &mut Machine, loaded: &LoadedRule, request: &mut Request<'_>) {
    let mut outcome = machine.run(loaded, request);
    let mut turns = 0;
    let ended = loop {
        match outcome {
            // A rule that waits for ever is given up, as by a client.
            Ok(Outcome::Waiting(waiting)) if turns < TURNS_MAX => {
                turns += 1;
                request.waits = turns % 2 == 0;
                outcome = machine.resume(waiting, request);
            }
            other => break other,
        }
    };
    match ended {
        Ok(Outcome::Pass(changes)) => check_changes(&changes),
        Ok(Outcome::Respond(response)) => check_response(&response),
        Ok(Outcome::Waiting(_) | Outcome::Shed(_)) => {}
        Err(error) => check_error(&error),
    }
}

fn run_response(machine: &mut Machine, loaded: &LoadedRule, request: &mut Request<'_>) {
    match machine.run_response(loaded, request, &Page) {
        Ok(Answered::Pass(changes)) => check_changes(&changes),
        Ok(Answered::Replace(response)) => check_response(&response),
        Err(error) => check_error(&error),
    }
}

fn check_error(error: &RuleError) {
    assert!(error.to_string().len() < MESSAGE_BYTES_MAX, "{error}");
}

/// The changes can be written into a head unchanged.
fn check_changes(changes: &Changes) {
    if let Some(target) = changes.target("/old?query") {
        let good =
            target.starts_with('/') && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        assert!(good && target.len() < TARGET_BYTES_MAX, "{target}");
    }
    let mut bytes = 0;
    for (name, value) in changes.fields.added() {
        check_field(name, value);
        bytes += name.len() + value.len();
    }
    assert!(bytes <= HEAD_BYTES_MAX && changes.fields.added().count() <= FIELDS_MAX);
    if let Some((status, reason)) = &changes.status {
        assert!((200..600).contains(status) && !matches!(status, 204 | 304), "{status}");
        assert!(
            reason.iter().all(|reason| reason.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()))
        );
    }
}

fn check_response(response: &Response) {
    assert!((200..600).contains(&response.status), "{}", response.status);
    assert!(response.body.is_empty() || !matches!(response.status, 204 | 304));
    response.headers.iter().for_each(|(name, value)| check_field(name, value.as_bytes()));
    let reason = response.reason.as_deref().unwrap_or_default();
    assert!(!reason.contains(['\r', '\n', '\0']), "{reason:?}");
}

fn check_field(name: &str, value: &[u8]) {
    assert!(check_name(name).is_ok(), "{name}");
    assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)), "{value:?}");
}

struct Request<'a> {
    text: &'a str,
    waits: bool,
}

impl Host for Request<'_> {
    fn path(&self) -> &[u8] {
        self.text.as_bytes()
    }
    fn method(&self) -> &[u8] {
        b"GET"
    }
    fn query(&self) -> Option<&str> {
        // The codec accepts visible ASCII only.
        Some(self.text).filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'))
    }
    fn host(&self) -> Option<&str> {
        Some(self.text)
    }
    fn header(&self, _name: &[u8]) -> Option<&[u8]> {
        Some(self.text.as_bytes())
    }
    fn cookies(&self) -> Cow<'_, [u8]> {
        self.text.as_bytes().into()
    }
    fn client(&self) -> IpAddr {
        [192, 0, 2, 7].into()
    }
    fn log(&mut self, line: &str) {
        assert!(line.len() <= MESSAGE_BYTES_MAX && !line.contains(char::is_control), "{line:?}");
    }
    fn set_service_level(&mut self, class: ServiceLevelId) {
        assert_eq!(class, ServiceLevelId(0));
    }
    fn conforming(&self, _class: ServiceLevelId) -> Ratio {
        Ratio::ONE
    }
    fn backlog(&self, _class: RateClassId, _key: Option<&[u8]>) -> u32 {
        1
    }
    fn claim(&mut self, class: RateClassId, _key: Option<&[u8]>) -> Claim {
        assert_eq!(class, RateClassId(0));
        if self.waits { Claim::Wait } else { Claim::Now }
    }
    fn claim_at_once(&mut self, _class: RateClassId, _key: Option<&[u8]>) -> bool {
        false
    }
}

struct Page;

impl Answer for Page {
    fn status(&self) -> u16 {
        200
    }
    fn header(&self, _name: &[u8]) -> Option<&[u8]> {
        Some(b"value")
    }
}

/// Small, so that a fuzzer reaches the bounds often.
const LIMITS: Limits = Limits { memory: Bytes::new(2 * 1024 * 1024), time: Duration::from_millis(5) };

/// One run and its resumptions; a library call on the largest strings takes tens of milliseconds, more under a
/// sanitizer.
const PATIENCE: Duration = Duration::from_secs(10);

const TURNS_MAX: u32 = 20;

/// A message quotes the input of a rule, or lists all functions.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;

const TARGET_BYTES_MAX: usize = 16 * 1024 + 2;
const HEAD_BYTES_MAX: usize = 8 * 1024;
const FIELDS_MAX: usize = 50;
