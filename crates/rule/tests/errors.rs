//! All errors of rules, and that the machine survives them.

mod fake;

use fake::{Fake, load, names, run, run_response};
use proptest::prelude::*;
use rule::{Claim, Limits, Machine, Outcome, Phase, Rule, RuleError, SOURCE_BYTES_MAX};
use std::time::{Duration, Instant};
use units::Bytes;

/// Message of the error that the rule ends with.
fn message(source: &str) -> String {
    match run(source, &mut Fake::default()) {
        Ok(outcome) => panic!("{source}: {outcome:?}"),
        Err(error) => error.to_string(),
    }
}

fn messages(sources: &[&str]) -> String {
    sources.iter().map(|source| format!("{source:?}\n  {}\n", message(source))).collect()
}

#[test]
fn wrong_syntax() {
    insta::assert_snapshot!(messages(&[
        "local x = = 1",
        "\n\nif x then",
        "break",
        "x = 'open",
        "local function f(",
    ]));
    let long = " ".repeat(SOURCE_BYTES_MAX + 1);
    insta::assert_snapshot!(message(&long));
    // Nested deeper than the compiler follows.
    let deep = format!("return {}1{}", "(".repeat(20_000), ")".repeat(20_000));
    assert!(matches!(Rule::compile("deep", &deep), Err(RuleError::Syntax { line: 1, .. })));
}

#[test]
fn unknown_classes() {
    insta::assert_snapshot!(messages(&[
        // A literal is checked when the rule is loaded, whether or not it would run.
        "if false then\n rate.use('Serch limit')\nend",
        "slm.conforming('Search limit')",
        // A computed name is checked when it is used.
        "local n = 'Serch'\nrate.use(n .. ' limit')",
        "rate.getBacklog('Serch ' .. 'limit')",
        "rate.useNoQueue('Serch ' .. 'limit')",
        "slm.conforming('Serch ' .. 'timer')",
        "connection.setServiceLevelClass('Serch ' .. 'timer')",
    ]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_text_compiles_and_runs_or_is_an_error(words in prop::collection::vec(prop::sample::select(WORDS), 0..12)) {
        let mut host = Fake { claim: Claim::Wait, ..Fake::default() };
        let _ = run(&words.join(" "), &mut host);
    }
}

/// Parts that often form a program.
const WORDS: &[&str] = &[
    "http.getPath()",
    "rate.use('Search limit')",
    "local x =",
    "x",
    "=",
    "{}",
    "(",
    ")",
    "if",
    "then",
    "end",
    "while",
    "true",
    "do",
    "return",
    "function",
    "pcall(",
    "error(",
    "'s'",
    "..",
    "1",
    "-1",
    "[",
    "]",
    ":rep(",
    "nil",
    ",",
    "\n",
    "\u{e9}",
    "\0",
    "string",
    "table.insert(",
    "for i = 1, 3 do",
    "http.sendResponse(",
    "coroutine",
    "--[[",
    "repeat",
];

#[test]
fn all_unknown_literals_are_told_at_once() {
    let rule = Rule::compile("two", "rate.use('A')\nslm.conforming('B')").unwrap();
    let lines: Vec<String> =
        rule.unknown_classes(&rule::Names::new()).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn functions_that_are_not_there_are_told_with_their_line() {
    let told = |phase, source: &str| {
        let rule = Rule::compile_for(phase, "test", source).unwrap();
        let shown = |error: &RuleError| {
            let text = error.to_string();
            // The list of all names is long.
            text.split("; known").next().unwrap_or_default().to_owned()
        };
        rule.unknown(&names()).iter().map(shown).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told(
        Phase::Request,
        "http.getPth()\nprint('x')\nhttp.setResponseHeader('a', 'b')\nstring.uper('x')\nos.time()\npool.use('canry')"
    ));
    insta::assert_snapshot!(told(
        Phase::Response,
        "rate.use('Search limit')\nhttp.setPath('/')\nlog.info('fine')"
    ));
}

#[test]
fn the_list_of_functions_is_what_rules_have() {
    let source = "local names = {}
        local function add(library, members) for name, member in members do
            if type(member) == 'function' then table.insert(names, library .. '.' .. name) end end end
        add('http', http) add('request', request) add('slm', slm) add('rate', rate) add('log', log)
        add('bit32', bit32) add('math', math) add('string', string) add('table', table) add('utf8', utf8) MORE
        table.sort(names) http.sendResponse(200, '', table.concat(names, ' '))";
    let more = "add('connection', connection) add('pool', pool)";
    for (phase, source) in
        [(Phase::Request, source.replace("MORE", more)), (Phase::Response, source.replace("MORE", ""))]
    {
        let body = match phase {
            Phase::Request => match run(&source, &mut Fake::default()).unwrap() {
                Outcome::Respond(response) => response.body,
                other => panic!("{other:?}"),
            },
            Phase::Response => match run_response(&source, 200).unwrap() {
                rule::Answered::Replace(response) => response.body,
                other => panic!("{other:?}"),
            },
        };
        let there = String::from_utf8(body).unwrap();
        let unknown = Rule::compile_for(phase, "test", "nothing()").unwrap().unknown(&names());
        let [RuleError::UnknownFunction { known, .. }] = &unknown[..] else { panic!("{unknown:?}") };
        let mut known: Vec<&str> =
            known.iter().map(String::as_str).filter(|name| name.contains('.')).collect();
        known.sort_unstable();
        let there: Vec<&str> = there.split(' ').collect();
        assert_eq!(known, there);
    }
}

#[test]
fn wrong_changes() {
    insta::assert_snapshot!(messages(&[
        "http.setPath('x')",
        "http.setPath(5)",
        "http.setPath('/' .. ('x'):rep(5000))",
        "http.setQueryString('?a')",
        "http.setQueryString('a b')",
        "http.setQueryString('a#b')",
        "http.setQueryParam('', 'x')",
        "http.setQueryParam('x')",
        "http.setHeader('Content-Length', '5')",
        "http.setHeader('X', 5)",
        "http.setHeader('X', 'a\\r\\nY: b')",
        "http.setHeader('X Y', 'a')",
        "http.setHeader('X\\xff', 'a')",
        "http.addHeader('Host', 'a')",
        "http.removeHeader('Host')",
        "http.setHeader('Host', 'a b')",
        "http.removeHeader('Transfer-Encoding')",
        "http.setCookie('a', 'b;c')",
        "http.setCookie('a b', 'c')",
        "for i = 1, 100 do http.addHeader('X-' .. i, '1') end",
        "http.setHeader('X', ('x'):rep(10000))",
        "pool.use(5)",
        "pool.use('can' .. 'ry')",
        "log.info(5)",
        "http.getResponseCode()",
        "http.setResponseHeader('a', 'b')",
    ]));
    let response = |source: &&str| match run_response(source, 200) {
        Ok(outcome) => panic!("{source}: {outcome:?}"),
        Err(error) => format!("{source:?}\n  {error}\n"),
    };
    let all: String = [
        "http.setResponseCode(204)",
        "http.setResponseCode(99)",
        "http.setResponseCode('200')",
        "http.setResponseCode(200, 'a\\nb')",
        "http.setResponseHeader('Transfer-Encoding', 'chunked')",
        "http.setHeader('a', 'b')",
        "rate.use('Search limit')",
        "pool.use('canary')",
        "connection.setServiceLevelClass('Search timer')",
    ]
    .iter()
    .map(response)
    .collect();
    insta::assert_snapshot!(all);
}

#[test]
fn wrong_arguments() {
    insta::assert_snapshot!(messages(&[
        "http.getHeader()",
        "rate.use()",
        "rate.use({})",
        "slm.conforming(5)",
        "rate.use('Search limit', 5)",
        "http.sendResponse()",
        "http.sendResponse('503', '', '')",
        "http.sendResponse(100, '', '')",
        "http.sendResponse(200.5, '', '')",
        "http.sendResponse(0/0, '', '')",
        "http.sendResponse(200, nil, '')",
        "http.sendResponse(200, 'OK', 5)",
        "http.sendResponse(200, 'O\\r\\nK', '')",
        "http.sendResponse(200, '\\xff', '')",
        "http.sendResponse(204, '', 'body')",
        "http.sendResponse(200, '', '', 'Pragma no-cache')",
        "http.sendResponse(200, '', '', 'X Y: z')",
        "http.sendResponse(200, '', '', 'X: a\\rSet-Cookie: b')",
        "http.sendResponse(200, '', '', 'Content-Length: 5')",
        "http.sendResponse(200, 'text/plain', 'x', 'Content-Type: text/html')",
        "http.redirect()",
        "http.redirect('')",
        "http.redirect('/a b')",
        "http.redirect('/\\r\\nSet-Cookie: x')",
    ]));
}

#[test]
fn errors_at_run_time() {
    insta::assert_snapshot!(messages(&[
        "\nerror('boom')",
        "error('boom', 0)",
        "error()",
        "error({})",
        "error({ code = 5 })",
        "error(error)",
        "local x\nlocal y = x.field",
        "local x = 1 + {}",
        "assert(false, 'no')",
        "local function f()\n return f() + 1\nend\nf()",
        "('x'):rep(10):gsub('x', function() return http.getPath() end)",
        "local function f(s) return (s:gsub('.', f)) end f('x')",
        "string.rep()",
        "local t = table.create(20000, 0) table.sort(t)",
    ]));
}

#[test]
fn what_the_sandbox_keeps_inside() {
    insta::assert_snapshot!(messages(&[
        "print('x')",
        "os.exit()",
        "io.open('x')",
        "require('x')",
        "loadstring('x')",
        "debug.info(1, 'l')",
        "coroutine.yield(1)",
        "getfenv()",
        "setmetatable({}, {})",
        "getmetatable('').__index = {}",
        "rawset(http, 'getPath', 1)",
        "buffer.create(1)",
        "vector.create(1, 2, 3)",
        "collectgarbage()",
        "http.getpath()",
        "counter = 1",
        "http.getPath = nil",
        "http.extra = 1",
        "string.upper = nil",
        "math.randomseed(1)",
        "table.clear(string)",
    ]));
}

/// Runs rules that try to break the machine, on new machines and on the same one.
fn survives(limits: Limits, sources: &[&str], expected: fn(&RuleError) -> bool) -> String {
    let mut machine = Machine::new(limits).expect("an empty machine fits its memory");
    let sane = load(&mut machine, "http.getPath()");
    let mut lines = String::new();
    for source in sources {
        let bad = load(&mut machine, source);
        for _ in 0..3 {
            let start = Instant::now();
            let error = machine.run(&bad, &mut Fake::default()).expect_err(source);
            // The bound is wide because the tests share the machine with other processes.
            assert!(start.elapsed() < Duration::from_secs(5), "{source}: {:?}", start.elapsed());
            assert!(expected(&error), "{source}: {error:?}");
            assert!(matches!(machine.run(&sane, &mut Fake::default()), Ok(Outcome::Pass(_))), "{source}");
        }
        let error = machine.run(&bad, &mut Fake::default()).expect_err(source);
        lines += &format!("{source:?}\n  {error}\n");
    }
    lines
}

#[test]
fn endless_rules_end() {
    insta::assert_snapshot!(survives(
        Limits::default(),
        &[
            "while true do end",
            "\nrepeat until false",
            "for i = 1, math.huge do end",
            "while true do pcall(function() while true do end end) end",
            "pcall(function()\n while true do end\nend)",
            "xpcall(function() while true do end end, function() while true do end end)",
            "local function f() pcall(f) pcall(f) end f()",
            "while true do http.getPath() end",
            "('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40))",
            "('a'):rep(30000):match('.-.-.-.-b')",
            "('a'):rep(30000):gsub('(.-)(.-)(.-)b', '')",
        ],
        |error| matches!(error, RuleError::TimeLimit { .. })
    ));
}

#[test]
fn greedy_rules_end() {
    insta::assert_snapshot!(survives(
        // On a busy machine the time could be over first.
        Limits { time: Duration::from_secs(1), ..Limits::default() },
        &[
            "local s = ('x'):rep(100000000)",
            "local s = 'x'\nwhile true do s = s .. s end",
            "local t = {}\nwhile true do t[#t + 1] = {} end",
            "local t = table.create(10000000, 1)",
            "local t = {} for i = 1, 40 do t[i] = ('x'):rep(1000000) .. i end",
        ],
        |error| matches!(error, RuleError::MemoryLimit { .. })
    ));
}

#[test]
fn library_calls_that_no_time_limit_reaches_are_bounded() {
    insta::assert_snapshot!(survives(
        Limits::default(),
        &[
            "('a'):rep(500000):find(('a'):rep(250000) .. 'b', 1, true)",
            "('a'):rep(500000):split(('a'):rep(250000) .. 'b')",
            "('a'):rep(300000):match('[' .. ('b'):rep(300000) .. ']*')",
            "table.move({}, 1, 2000000000, 1)",
            "table.unpack({}, 1, 1e8)",
        ],
        |error| matches!(error, RuleError::Failed { .. })
    ));
    let start = Instant::now();
    let _ = run("local s = (''):rep(2 ^ 31 - 1)", &mut Fake::default());
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn suspended_rules_count_against_the_memory_and_give_it_back() {
    let limits = Limits { memory: Bytes::new(2 * 1024 * 1024), ..Limits::default() };
    let mut machine = Machine::new(limits).unwrap();
    let source = "local held = ('x'):rep(100000)\nrate.use('Search limit')\nreturn held";
    let rule = load(&mut machine, source);
    let mut host = Fake { claim: Claim::Wait, ..Fake::default() };
    // Each holds a string of its own: Luau shares equal strings only if they are short.
    let mut waiting = Vec::new();
    let error = loop {
        match machine.run(&rule, &mut host) {
            Ok(outcome) => waiting.push(outcome),
            Err(error) => break error,
        }
        assert!(waiting.len() < 100, "no limit reached");
    };
    assert!(matches!(error, RuleError::MemoryLimit { line: Some(1), .. }), "{error}");
    assert!(waiting.len() > 5, "{}", waiting.len());
    waiting.clear();
    let error = machine.run(&rule, &mut host).err();
    // At the first try the memory may still be full of garbage, which is then collected.
    assert!(error.is_none() || machine.run(&rule, &mut host).is_ok(), "{error:?}");
}

#[test]
fn garbage_alone_does_not_fail_a_rule() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let source = "for i = 1, 20 do local s = ('x'):rep(50000 + i) end";
    let rule = load(&mut machine, source);
    for round in 0..200 {
        assert!(machine.run(&rule, &mut Fake::default()).is_ok(), "round {round}");
    }
}

#[test]
fn what_a_rule_did_does_not_show_in_the_next_request() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let source = "local seen = {} local s = string if next(seen) then error('leak') end seen.x = s";
    let rule = load(&mut machine, source);
    for _ in 0..3 {
        assert!(matches!(machine.run(&rule, &mut Fake::default()), Ok(Outcome::Pass(_))));
    }
}

#[test]
fn a_rule_that_fails_leaves_the_waiting_ones_alone_and_a_resumed_rule_has_limits_too() {
    let mut machine = Machine::new(Limits::default()).unwrap();
    let endless = load(&mut machine, "rate.use('Search limit') while true do end");
    let patient = load(&mut machine, "rate.use('Search limit') rate.getBacklog('Search limit')");
    let greedy = load(&mut machine, "local s = 'x' while true do s = s .. s end");
    let mut host = Fake { claim: Claim::Wait, ..Fake::default() };
    let Ok(Outcome::Waiting(first)) = machine.run(&endless, &mut host) else { panic!("did not wait") };
    let Ok(Outcome::Waiting(second)) = machine.run(&patient, &mut host) else { panic!("did not wait") };
    assert!(matches!(machine.run(&greedy, &mut host), Err(RuleError::MemoryLimit { .. })));
    assert!(matches!(machine.resume(first, &mut host), Err(RuleError::TimeLimit { .. })));
    assert!(matches!(machine.resume(second, &mut host), Ok(Outcome::Pass(_))));
}
