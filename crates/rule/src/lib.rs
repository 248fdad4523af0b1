//! The scripting language of the gateway.
//!
//! Classes and limits are configuration; *when* they apply is a decision that configuration can only say badly.
//! A rule says it in a few lines of Luau, with the host functions that the search-cgi account uses:
//!
//! ```luau
//! if slm.conforming("Search timer") < 100 then
//!     rate.use("Search limit")
//! end
//! ```
//!
//! Their names are those of TrafficScript, the language of the account, in Luau's grammar.
//!
//! | function | does |
//! |---|---|
//! | `http.getPath()`, `http.getMethod()` | the path without the query, escapes resolved; the method |
//! | `http.getQueryString()`, `http.getQueryParam(name)` | the query as it is; one parameter, unescaped, or nil |
//! | `http.getHostHeader()`, `request.getRemoteIP()` | the host with its port; who sent the request |
//! | `http.getHeader(name)`, `http.getCookie(name)` | the first value of a request header field, or of a cookie, or nil |
//! | `http.sendResponse(status, reason or content type, body, headers)` | ends the rule with an answer; the second argument is a content type where it has a slash; headers are lines `Name: value` and may be left out |
//! | `http.redirect(url)` | ends the rule with a 302 |
//! | `slm.conforming(name)` | percent of the recent requests that met the class's target, 0 to 100 |
//! | `rate.getBacklog(name [, key])` | how many requests wait |
//! | `log.info(line)` | a line for whoever watches the gateway |
//!
//! Rules for requests, [`Phase::Request`], have in addition:
//!
//! | function | does |
//! |---|---|
//! | `http.setPath(path)` | another path, in the form that `getPath` gives |
//! | `http.setQueryString(query)` | another query, escaped, without the question mark; an empty one for none |
//! | `http.setQueryParam(name, value)`, `http.removeQueryParam(name)` | another value in the place of all of that name; none |
//! | `http.setHeader(name, value)`, `http.addHeader(name, value)`, `http.removeHeader(name)` | one field in the place of all of that name; one more; none |
//! | `http.setCookie(name, value)`, `http.removeCookie(name)` | as the service sees them |
//! | `pool.select(name)`, `pool.use(name)` | another pool than the route's; `use` also ends the rule |
//! | `connection.setServiceLevelClass(name)` | times this request with the class |
//! | `rate.use(name [, key])` | goes on as soon as the rate allows; waits in the backlog, is shed where that is full |
//! | `rate.useNoQueue(name [, key])` | 1 where the request is admitted now, 0 where it is over the limit |
//!
//! Rules for answers, [`Phase::Response`], have in addition:
//!
//! | function | does |
//! |---|---|
//! | `http.getResponseCode()`, `http.setResponseCode(status [, reason])` | the status |
//! | `http.getResponseHeader(name)` | the first value of a header field of the answer, or nil |
//! | `http.setResponseHeader(name, value)`, `http.addResponseHeader(name, value)`, `http.removeResponseHeader(name)` | as for requests |
//!
//! What a rule has changed it reads back. The message itself changes when the rule has ended well, so that a rule that
//! fails changes nothing; see [`Changes`]. Bodies go past rules unseen.
//!
//! A rule that ends or returns passes the request on. Where the account says `break`, Luau says `return`. The
//! account's own language gives a number below 0 for an unknown class; here an unknown class is an error, because
//! a rule that goes on without its limit protects nothing.
//!
//! `pcall` catches what host functions complain about, but neither the end of the rule by an answer nor the time
//! limit. Host functions cannot be called from inside a callback of a library function, such as `string.gsub`'s.
//!
//! The gateway is seen only through [`Host`]; [`Rule::compile`], [`Machine::load`] and [`Machine::run`] are the
//! way of a rule.
#![warn(missing_docs)]

mod activation;
mod changes;
mod classes;
mod compile;
mod error;
mod functions;
mod host;
#[cfg(any(test, feature = "laws"))]
pub mod laws;
mod machine;
mod mentions;
mod response;
mod sandbox;
mod target;

pub use changes::{Changes, Fields};
pub use classes::{ClassKind, Names, PoolId, RateClassId, ServiceLevelId};
pub use compile::{Rule, SOURCE_BYTES_MAX};
pub use error::RuleError;
pub use functions::Phase;
pub use host::{Answer, Claim, Host};
pub use machine::{Answered, Limits, LoadedRule, Machine, Outcome, Suspended, fit};
pub use response::Response;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Pieces of rules that change, answer, wait, fail and never end.
    const PIECES: &[&str] = &[
        "http.setPath(http.getPath() .. '/x')",
        "http.setPath('/' .. ('\\xff\\0 ?#%'):rep(300))",
        "http.setQueryString(http.getQueryString())",
        "http.setQueryParam(http.getPath(), http.getHeader('x'))",
        "http.removeQueryParam('a')",
        "http.setHeader('X', http.getPath())",
        "http.addHeader(http.getPath(), 'x')",
        "http.removeHeader('Content-Length')",
        "http.setHeader('Host', http.getHostHeader())",
        "http.setCookie('a', http.getHeader('x'))",
        "http.removeCookie('a')",
        "http.sendResponse(200, http.getPath(), http.getPath(), http.getPath())",
        "http.redirect(http.getPath())",
        "pool.select('pool')",
        "pool.use('pool')",
        "rate.use('rate')",
        "connection.setServiceLevelClass('level')",
        "log.info(http.getPath())",
        "http.setResponseCode(204)",
        "http.setResponseCode(500, http.getPath())",
        "http.addResponseHeader('Set-Cookie', http.getPath())",
        "http.setResponseHeader(http.getPath(), http.getPath())",
        "for i = 1, 1e9 do",
        "pcall(function()",
        "end",
        "end)",
        "error(http.getPath())",
        "('x'):rep(1e9)",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

        #[test]
        fn the_laws_hold_for_what_looks_like_a_rule(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..6),
            request in prop_oneof!["/[a-z%0-9=&;]{0,30}", any::<String>()],
        ) {
            crate::laws::rule(format!("{}\0{request}", pieces.join(" ")).as_bytes());
        }
    }
}
