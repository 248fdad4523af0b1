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
//! | function | does |
//! |---|---|
//! | `http.getPath()`, `http.getMethod()` | the path without the query, escapes resolved; the method |
//! | `http.getHeader(name)` | the first value of a request header field, or nil |
//! | `http.sendResponse(status, reason or content type, body, headers)` | ends the rule with an answer; the second argument is a content type where it has a slash; headers are lines `Name: value` and may be left out |
//! | `http.redirect(url)` | ends the rule with a 302 |
//! | `connection.setServiceLevelClass(name)` | times this request with the class |
//! | `slm.conforming(name)` | percent of the recent requests that met the class's target, 0 to 100 |
//! | `rate.getBacklog(name [, key])` | how many requests wait |
//! | `rate.use(name [, key])` | goes on as soon as the rate allows; waits in the backlog, is shed where that is full |
//! | `rate.useNoQueue(name [, key])` | 1 where the request is admitted now, 0 where it is over the limit |
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
mod classes;
mod compile;
mod error;
mod host;
mod machine;
mod mentions;
mod response;
mod sandbox;

pub use classes::{ClassKind, Names, RateClassId, ServiceLevelId};
pub use compile::{Rule, SOURCE_BYTES_MAX};
pub use error::RuleError;
pub use host::{Claim, Host};
pub use machine::{Limits, LoadedRule, Machine, Outcome, Suspended};
pub use response::Response;
