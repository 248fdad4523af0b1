//! The scripting language of the gateway.
//!
//! Classes and limits are configuration; *when* they apply is a decision that configuration can hardly express. A rule
//! expresses it in a few lines of Luau, with the host functions of the search-cgi account:
//!
//! ```luau
//! if slm.conforming("Search timer") < 100 then
//!     rate.use("Search limit")
//! end
//! ```
//!
//! Their names are those of TrafficScript, the language of the account, in Luau's syntax.
//!
//! | function | does |
//! |---|---|
//! | `http.getPath()`, `http.getMethod()` | the path without the query, escapes resolved; the method |
//! | `http.getQueryString()`, `http.getQueryParam(name)` | the query as it is; one parameter, unescaped, or nil |
//! | `http.getHostHeader()`, `request.getRemoteIP()` | the host with its port; the client address |
//! | `http.getHeader(name)`, `http.getCookie(name)` | the first value of a request header field, or of a cookie, or nil |
//! | `http.sendResponse(status, reason or content type, body, headers)` | ends the rule with a response; the second argument is a content type if it has a slash; headers are lines `Name: value` and optional |
//! | `http.redirect(url)` | ends the rule with a 302 |
//! | `slm.conforming(name)` | percent of the recent requests that met the class's target, 0 to 100 |
//! | `rate.getBacklog(name [, key])` | the number of requests that wait |
//! | `log.info(line)` | a line for the gateway's log |
//!
//! Request rules, [`Phase::Request`], also have:
//!
//! | function | does |
//! |---|---|
//! | `http.setPath(path)` | another path, in the form that `getPath` gives |
//! | `http.setQueryString(query)` | another query, escaped, without the question mark; an empty one for none |
//! | `http.setQueryParam(name, value)`, `http.removeQueryParam(name)` | replaces all parameters of that name by one; removes them |
//! | `http.setHeader(name, value)`, `http.addHeader(name, value)`, `http.removeHeader(name)` | replaces all fields of that name by one; adds one; removes them |
//! | `http.setCookie(name, value)`, `http.removeCookie(name)` | as the service sees them |
//! | `pool.select(name)`, `pool.use(name)` | a pool other than the route's; `use` also ends the rule |
//! | `connection.setServiceLevelClass(name)` | times this request with the class |
//! | `rate.use(name [, key])` | continues as soon as the rate allows; waits in the backlog, is shed if that is full |
//! | `rate.useNoQueue(name [, key])` | 1 if the request is admitted now, 0 if it is over the limit |
//!
//! Response rules, [`Phase::Response`], also have:
//!
//! | function | does |
//! |---|---|
//! | `http.getResponseCode()`, `http.setResponseCode(status [, reason])` | the status |
//! | `http.getResponseHeader(name)` | the first value of a response header field, or nil |
//! | `http.setResponseHeader(name, value)`, `http.addResponseHeader(name, value)`, `http.removeResponseHeader(name)` | as for requests |
//!
//! A rule reads back what it has changed. The message itself changes only when the rule has succeeded, so that a rule
//! that fails changes nothing; see [`Changes`]. Rules do not see bodies.
//!
//! A rule that ends or returns passes the request on. Where the account uses `break`, Luau uses `return`. The account's
//! own language returns a number below 0 for an unknown class; here an unknown class is an error, because a rule that
//! continues without its limit protects nothing.
//!
//! `pcall` catches errors of host functions, but neither the end of the rule by a response nor the time limit. Host
//! functions cannot be called from inside a callback of a library function, such as `string.gsub`'s.
//!
//! A rule sees the gateway only through [`Host`]. [`Rule::compile`], [`Machine::load`] and [`Machine::run`] are called
//! in this order.
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

    /// Parts of rules that change, respond, wait, fail and never end.
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
