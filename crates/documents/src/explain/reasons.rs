//! What the reason names in logs, metrics and answers mean, and what to do about them.
//!
//! Each name belongs to the part that gives the reason: limits to `control`, requests and copies to `status`. Those of
//! broken requests belong to the codec, and are given to [`Reasons`].

use control::admission::Reason as Shed;
use status::reason::{dropped, request, retried, retry, uncompared};
use status::{Limit, LimitKind, Pool, metric};
use std::collections::BTreeSet;
use std::fmt;

/// A reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// Its name in logs, metrics and answers.
    pub name: &'static str,
    /// What the client is told.
    pub told: Told,
    /// What it means.
    pub means: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// What the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// This status, or these.
    Answer(&'static str),
    /// Nothing: the reason says why a request should be sent again.
    RetryReason,
    /// Nothing: the reason says what became of a request that should be sent again.
    RetryOutcome,
    /// Nothing: the reason is of a copy that was not sent or not written.
    Dropped,
    /// Nothing: the reason is of a copy that could not be compared.
    Uncompared,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Answer(text) => f.write_str(text),
            Told::RetryReason => write!(f, "no effect: this is a reason in {}", metric::RETRIES),
            Told::RetryOutcome => write!(f, "no effect: this is an outcome in {}", metric::RETRIES),
            Told::Dropped => write!(
                f,
                "no effect: this is a reason in {} or {}",
                metric::MIRROR_DROPPED,
                metric::CAPTURE_DROPPED
            ),
            Told::Uncompared => write!(f, "no effect: this is a reason in {}", metric::MIRROR_FAILED),
        }
    }
}

/// All reasons.
#[derive(Debug, Clone)]
pub struct Reasons {
    refusals: Vec<&'static str>,
}

impl Reasons {
    /// Those that are explained here, and the codec's names for broken requests, which mean the same for a reader.
    pub fn with_refusals(refusals: impl IntoIterator<Item = &'static str>) -> Self {
        Reasons { refusals: refusals.into_iter().collect() }
    }

    /// All that is meant by this name, which a copy or a retry may share with a request.
    pub fn find(&self, name: &str) -> Vec<&'static Reason> {
        let mut found: Vec<&Reason> = all().filter(|reason| reason.name == name).collect();
        found.extend(self.refusals.contains(&name).then_some(&BROKEN));
        found
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let mut seen = BTreeSet::new();
        let names = all().map(|reason| reason.name).chain(self.refusals.iter().copied());
        names.filter(move |name| seen.insert(*name))
    }
}

/// Whether this is about requests themselves, and not about their retries and copies.
pub(super) fn is_of_a_request(reason: &Reason) -> bool {
    REASONS.contains(reason)
}

fn all() -> impl Iterator<Item = &'static Reason> {
    REASONS.iter().chain(RETRIES).chain(COPIES)
}

/// The reasons for which a limit rejects requests, or would if it were not in shadow; in shadow no request waits.
pub(super) fn of_limit(limit: &Limit, in_shadow: bool) -> &'static [&'static str] {
    let waits = limit.backlog_bound > Some(0);
    match limit.kind {
        LimitKind::Concurrency if waits && !in_shadow => QUEUE,
        LimitKind::Concurrency if limit.priorities.is_empty() => &[Shed::CONCURRENCY],
        LimitKind::Concurrency => &[Shed::CONCURRENCY, Shed::PRIORITY],
        LimitKind::RateClass if waits => &[Shed::BACKLOG_FULL, Shed::WAIT_TOO_LONG],
        LimitKind::RateClass => &[Shed::RATE_CLASS],
    }
}

/// The reasons for which a pool's full instances refuse.
pub(super) fn of_pool(pool: &Pool) -> &'static [&'static str] {
    match (pool.instance_concurrency, pool.queue_bound) {
        (None, _) => &[],
        (Some(_), None | Some(0)) => &[Shed::CONCURRENCY],
        (Some(_), Some(_)) => QUEUE,
    }
}

/// Why a queue for a place refuses.
const QUEUE: &[&str] = &[Shed::BACKLOG_FULL, Shed::DEADLINE, Shed::STANDING_QUEUE];

const SHED: &str = "503 with Retry-After, or the page or redirect of the route";

const REASONS: &[Reason] = &[
    Reason {
        name: Shed::RATE_CLASS,
        told: Told::Answer(SHED),
        means: "The request was above the rate, and the rate class has no backlog (`backlog: 0`).",
        remedy: "If the rate is right, the limit works as intended. If requests come in bursts but below the rate on average, set `burst` and `backlog`. If the service has become faster, measure its rate again with `headroom find`.",
    },
    Reason {
        name: Shed::BACKLOG_FULL,
        told: Told::Answer(SHED),
        means: "The queue was full: `backlog` requests were waiting.",
        remedy: "Demand is above the limit. Add capacity. A longer backlog helps only against bursts, and increases waiting times. Compare headroom_demand_total with the rate.",
    },
    Reason {
        name: Shed::WAIT_TOO_LONG,
        told: Told::Answer(SHED),
        means: "The request would have had to wait longer than `longest_wait`.",
        remedy: "As with backlog_full, demand is above the limit. Keep `longest_wait` below the timeout of the clients.",
    },
    Reason {
        name: Shed::CONCURRENCY,
        told: Told::Answer(SHED),
        means: "The concurrency limit was reached.",
        remedy: "Either demand is above the capacity of the service, or requests take longer than when the limit was measured: check http_client_request_duration_seconds. If the service is as fast as before and not busy, measure the limit again with `headroom find`.",
    },
    Reason {
        name: Shed::PRIORITY,
        told: Told::Answer(SHED),
        means: "The share of the concurrency limit for this priority class was used up; only higher classes were admitted.",
        remedy: "Lower classes are shed first, as configured. If this class is more important, give it a higher priority. If the service has capacity left, raise the limit.",
    },
    Reason {
        name: Shed::DEADLINE,
        told: Told::Answer(SHED),
        means: "The request would have had to wait longer than `longest_wait`, or its own deadline (`deadline_header`) would have passed before it was admitted or answered.",
        remedy: "An answer after the deadline is useless. Check how long requests wait (headroom_wait_seconds), and whether clients set their deadlines too short.",
    },
    Reason {
        name: Shed::STANDING_QUEUE,
        told: Told::Answer(SHED),
        means: "The queue had not been empty for some time, and this request had been in it for long.",
        remedy: "A queue that never empties only adds delay. Demand is above the limit: add capacity.",
    },
    Reason {
        name: request::RULE,
        told: Told::Answer("the rule's answer"),
        means: "The route's rule answered the request itself.",
        remedy: "Read the rule; `headroom explain FILE` names it under the route.",
    },
    Reason {
        name: request::UPSTREAM_UNREACHABLE,
        told: Told::Answer("502"),
        means: "No instance of the pool accepted a connection.",
        remedy: "Check that the service runs on the addresses of the pool. All instances were tried, because nothing had been sent.",
    },
    Reason {
        name: request::UPSTREAM_CONNECT_TIMEOUT,
        told: Told::Answer("504"),
        means: "No instance accepted the connection within the pool's `connect_timeout`.",
        remedy: "The instance's accept queue may be full (overloaded or blocked), or a firewall drops packets.",
    },
    Reason {
        name: request::UPSTREAM_BROKE,
        told: Told::Answer("502, or a truncated answer"),
        means: "The instance closed the connection before its answer was complete.",
        remedy: "Check the instance's log. Common causes are crashed workers, and a keep-alive timeout shorter than the pool's `idle_timeout`.",
    },
    Reason {
        name: request::UPSTREAM_TIMEOUT,
        told: Told::Answer("504, or a truncated answer"),
        means: "The answer, or its next part, did not arrive within the pool's `answer_timeout`.",
        remedy: "The service may still process the request: shorten the service's own timeouts, or limit the number of requests in flight.",
    },
    Reason {
        name: request::UPSTREAM_MALFORMED,
        told: Told::Answer("502, or a truncated answer"),
        means: "The instance's answer is not valid HTTP, and was not forwarded from there on.",
        remedy: "`rule=` and `instance=` in the access log name the rule and the instance. Common causes are two lengths, line ends and padded chunk sizes. If the head is too large, raise `limits.answer_head_max` or `answer_fields_max`.",
    },
    Reason {
        name: request::CLIENT_LEFT,
        told: Told::Answer("none: 499 in the log"),
        means: "The client closed its connection before the answer was complete.",
        remedy: "Clients give up on slow answers: compare with response times. Some of these are users who left the page.",
    },
    Reason {
        name: request::BAD_REQUEST,
        told: Told::Answer("400"),
        means: "The framing of the request's body is invalid; this was found after a part had been forwarded.",
        remedy: "A client or a proxy in front of the gateway is broken, or this is a request smuggling attempt.",
    },
    Reason {
        name: request::HEAD_TIMEOUT,
        told: Told::Answer("408"),
        means: "The head of the request was not complete within `limits.head_timeout`.",
        remedy: "A slow or blocked client; many at once may be an attack that holds connections (Slowloris).",
    },
    Reason {
        name: request::BODY_TIMEOUT,
        told: Told::Answer("408"),
        means: "The request's body arrived too slowly: nothing for `limits.idle_timeout`, less than `limits.body_min_rate`, or not all of it within `limits.body_timeout`.",
        remedy: "A slow or blocked client. If clients are slow for good reasons, change the setting that they exceed.",
    },
    Reason {
        name: request::BODY_TOO_LARGE,
        told: Told::Answer("413"),
        means: "The body of the request is longer than `limits.body_max`, or than the `buffer_body` of its route.",
        remedy: "Raise the bound where clients legitimately send longer bodies.",
    },
    Reason {
        name: request::BODY_MEMORY,
        told: Told::Answer("503"),
        means: "The bodies that are read before their requests enter the limits (`buffer_body`) used all the memory that \
                they may.",
        remedy: "Lower `buffer_body`. If a few clients send many slow bodies, set `limits.connections_per_client`.",
    },
    Reason {
        name: request::NO_ROUTE,
        told: Told::Answer("404"),
        means: "No route matches this host and path.",
        remedy: "Add a route; one with `path_prefix: /` at the end matches all other requests.",
    },
    Reason {
        name: request::UPGRADE_UNSUPPORTED,
        told: Told::Answer("501"),
        means: "The request asks for a WebSocket, which the gateway does not carry.",
        remedy: "Let clients that need one connect to the service itself.",
    },
];

/// Why requests failed that might be sent again, and what became of that.
const RETRIES: &[Reason] = &[
    Reason {
        name: retry::UNREACHABLE,
        told: Told::RetryReason,
        means: "An attempt to connect to an instance was refused; nothing was sent, so another instance is tried.",
        remedy: "Check that the instance runs: see headroom_instance_up and the pool's `health`.",
    },
    Reason {
        name: retry::CONNECT_TIMEOUT,
        told: Told::RetryReason,
        means: "An instance did not accept the connection within `connect_timeout`; nothing was sent.",
        remedy: "The instance's accept queue may be full, or a firewall drops packets.",
    },
    Reason {
        name: retry::STALE,
        told: Told::RetryReason,
        means: "The instance closed a kept-alive connection just when it was reused.",
        remedy: "Make the pool's `idle_timeout` shorter than the instance's keep-alive timeout.",
    },
    Reason {
        name: retry::BROKE,
        told: Told::RetryReason,
        means: "The connection was closed after the request was sent and before the answer.",
        remedy: "Check the instance's log. Common causes are crashed or restarted workers.",
    },
    Reason {
        name: retried::REPEATED,
        told: Told::RetryOutcome,
        means: "The request was retried.",
        remedy: "None, if there are few: clients do not notice retries.",
    },
    Reason {
        name: retried::NOT_SAFE,
        told: Told::RetryOutcome,
        means: "The request was not retried, because the instance may have processed it already.",
        remedy: "Only idempotent methods are retried. For others, the client has to decide.",
    },
    Reason {
        name: retried::OUT_OF_TRIES,
        told: Told::RetryOutcome,
        means: "The request was not retried, because the pool's `retries` were used up.",
        remedy: "Several instances fail: check the reasons reported with this outcome.",
    },
    Reason {
        name: retried::OUT_OF_BUDGET,
        told: Told::RetryOutcome,
        means: "The request was not retried, because the retry budget was used up.",
        remedy: "Many requests fail, and retries would add load. Fix the failures before you raise the budget.",
    },
];

/// Copies of requests that failed or were dropped.
const COPIES: &[Reason] = &[
    Reason {
        name: dropped::UNSAFE_METHOD,
        told: Told::Dropped,
        means: "The request was not copied, because its method may change data.",
        remedy: "Copy such methods only if the shadow's data may change: see the mirror's settings.",
    },
    Reason {
        name: dropped::TRIPPED,
        told: Told::Dropped,
        means: "The gateway itself was overloaded, and stopped copying until it recovers.",
        remedy: "It has too few workers, or other processes use the machine; in that case raise `breaker.trip_at`.",
    },
    Reason {
        name: dropped::OVER_LIMIT,
        told: Told::Dropped,
        means: "The mirror's `limit` was used up.",
        remedy: "Sessions are not copied completely meanwhile. Raise `limit`, or lower `fraction`.",
    },
    Reason {
        name: dropped::QUEUE_FULL,
        told: Told::Dropped,
        means: "The queue of copies for the shadow was full (`queue`).",
        remedy: "The shadow is slower than its traffic: lower `fraction`, set `limit`, or raise `in_flight`.",
    },
    Reason {
        name: dropped::BYTES_FULL,
        told: Told::Dropped,
        means: "The memory for copies was used up.",
        remedy: "The shadow is too slow for large bodies: lower `fraction`.",
    },
    Reason {
        name: dropped::BODY_TOO_LARGE,
        told: Told::Dropped,
        means: "The body is larger than the largest one that is copied.",
        remedy: "None, unless such requests matter for the comparison.",
    },
    Reason {
        name: dropped::BODY_INCOMPLETE,
        told: Told::Dropped,
        means: "The live request ended before its body was complete.",
        remedy: "None: the client closed its connection.",
    },
    Reason {
        name: dropped::EXPIRED,
        told: Told::Dropped,
        means: "The copy's `deadline` passed while it waited for the shadow.",
        remedy: "As with queue_full: the shadow is slower than its traffic.",
    },
    Reason {
        name: dropped::WRITE_FAILED,
        told: Told::Dropped,
        means: "The capture's file could not be written.",
        remedy: "Check free disk space and the permissions of the file.",
    },
    Reason {
        name: dropped::ENDING,
        told: Told::Dropped,
        means: "The gateway stopped, or the mirror was removed, before the copy was sent.",
        remedy: "None.",
    },
    Reason {
        name: uncompared::UNREACHABLE,
        told: Told::Uncompared,
        means: "The shadow accepted no connection.",
        remedy: "Check that the shadow runs on the addresses of its pool.",
    },
    Reason {
        name: uncompared::BROKE,
        told: Told::Uncompared,
        means: "The shadow closed the connection before its answer was complete.",
        remedy: "Check the shadow's log.",
    },
    Reason {
        name: uncompared::MALFORMED,
        told: Told::Uncompared,
        means: "The shadow's answer is not valid HTTP.",
        remedy: "Send a request to the shadow directly (curl -v).",
    },
    Reason {
        name: uncompared::DEADLINE,
        told: Told::Uncompared,
        means: "The shadow's answer was not complete at the mirror's `deadline`.",
        remedy: "The shadow is too slow; response times are compared only for pairs that were complete.",
    },
    Reason {
        name: uncompared::LIVE_INCOMPLETE,
        told: Told::Uncompared,
        means: "The live request had no complete answer to compare with.",
        remedy: "Check headroom_failed_total of the route.",
    },
];

const BROKEN: Reason = Reason {
    name: "broken HTTP",
    told: Told::Answer("400, 414, 431, 501 or 505"),
    means: "The request violates HTTP/1.1 or a limit, as the name says, and was not forwarded.",
    remedy: "A client or a proxy in front of the gateway is broken, or this is a request smuggling attempt, which exploits two hops that parse the same bytes differently. The `detail` of the answer says what was found.",
};

#[cfg(test)]
mod tests {
    use super::*;
    use control::ClassId;
    use control::concurrency::Priority;
    use std::time::Duration;

    #[test]
    fn every_refusal_of_a_limit_is_explained() {
        let (class, zero) = (ClassId(0), Duration::ZERO);
        let reasons = Reasons::with_refusals([]);
        for reason in [
            Shed::RateClass { class, wait: zero },
            Shed::BacklogFull { class, bound: 0, waiting: 0 },
            Shed::WaitTooLong { class, longest: zero, wait: zero },
            Shed::Concurrency { class, limit: 0, in_flight: 0 },
            Shed::Priority { class, priority: Priority(0), allowed: 0, in_flight: 0 },
            Shed::Deadline { class, left: zero, needed: zero },
            Shed::StandingQueue { class, target: zero, waited: zero },
        ] {
            let found = reasons.find(reason.name());
            let first = found.first().unwrap_or_else(|| panic!("{} is not explained", reason.name()));
            assert_eq!(first.told, Told::Answer(SHED));
        }
    }

    #[test]
    fn what_is_explained_is_what_the_gateway_names() {
        for (explained, named) in [
            (REASONS, [LIMITS, request::ALL].concat()),
            (RETRIES, [retry::ALL, retried::ALL].concat()),
            (COPIES, [dropped::ALL, uncompared::ALL].concat()),
        ] {
            let explained: Vec<&str> = explained.iter().map(|reason| reason.name).collect();
            assert_eq!(explained, named);
        }
    }

    #[test]
    fn metrics_that_are_referred_to_exist() {
        for reason in all() {
            let words = reason.remedy.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            for word in words.filter(|word| word.starts_with("headroom_") || word.starts_with("http_")) {
                assert!(metric::ALL.contains(&word), "{word} in the remedy of {}", reason.name);
            }
        }
    }

    #[test]
    fn a_name_has_one_meaning_where_it_stands() {
        let said: Vec<(&str, String)> = all().map(|reason| (reason.name, reason.told.to_string())).collect();
        assert_eq!(said.iter().collect::<BTreeSet<_>>().len(), said.len());
    }

    const LIMITS: &[&str] = &[
        Shed::RATE_CLASS,
        Shed::BACKLOG_FULL,
        Shed::WAIT_TOO_LONG,
        Shed::CONCURRENCY,
        Shed::PRIORITY,
        Shed::DEADLINE,
        Shed::STANDING_QUEUE,
    ];
}
