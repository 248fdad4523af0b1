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
            Told::RetryReason => write!(f, "nothing by this: it is a reason in {}", metric::RETRIES),
            Told::RetryOutcome => write!(f, "nothing by this: it is an outcome in {}", metric::RETRIES),
            Told::Dropped => write!(
                f,
                "nothing: it is a reason in {} or {}",
                metric::MIRROR_DROPPED,
                metric::CAPTURE_DROPPED
            ),
            Told::Uncompared => write!(f, "nothing: it is a reason in {}", metric::MIRROR_FAILED),
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

/// The reasons for which a limit refuses, or would if it were not in shadow; there nobody waits for a place.
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
        means: "The rate class had no turn left, and it lets nobody wait (backlog 0).",
        remedy: "If the rate is right, this is the limit at work. Give it a `backlog` and a `burst` where requests \
                 come in bunches below the rate; measure the rate again with `headroom find` where the service has \
                 become faster.",
    },
    Reason {
        name: Shed::BACKLOG_FULL,
        told: Told::Answer(SHED),
        means: "As many requests were waiting for their turn as may wait (`backlog`).",
        remedy: "More arrives than the limit lets pass. More capacity is the cure; a longer backlog only helps \
                 against bunches, and makes everybody in it wait. Compare headroom_demand_total with the rate.",
    },
    Reason {
        name: Shed::WAIT_TOO_LONG,
        told: Told::Answer(SHED),
        means: "The request's turn would have come later than it may wait (`longest_wait`).",
        remedy: "As with backlog_full: more arrives than passes. `longest_wait` should stay below the time after \
                 which clients give up.",
    },
    Reason {
        name: Shed::CONCURRENCY,
        told: Told::Answer(SHED),
        means: "As many requests were in flight as may be.",
        remedy: "Either more arrives than the service can do, or each request takes longer than when the limit was \
                 measured: look at http_client_request_duration_seconds. If the service is as fast as ever and has \
                 room, measure the limit again with `headroom find`.",
    },
    Reason {
        name: Shed::PRIORITY,
        told: Told::Answer(SHED),
        means: "So many requests were in flight that only higher priority classes were admitted; this one was of a \
                lower class.",
        remedy: "This is the order in which requests are to be shed. If this class matters more, give it a higher \
                 priority; if there is room, raise the limit.",
    },
    Reason {
        name: Shed::DEADLINE,
        told: Told::Answer(SHED),
        means: "The request would have had to wait longer than the queue lets it (`longest_wait`), or could not have \
                been answered, or had its turn at a rate class, before the deadline that it brought along \
                (`deadline_header`).",
        remedy: "Serving it late would have been work for nobody. Look at how long requests wait \
                 (headroom_wait_seconds) and whether clients set their deadlines too short.",
    },
    Reason {
        name: Shed::STANDING_QUEUE,
        told: Told::Answer(SHED),
        means: "The queue had not been empty for a while, and this request was old in it.",
        remedy: "A queue that stands only adds delay. More arrives than the limit lets pass: add capacity.",
    },
    Reason {
        name: request::RULE,
        told: Told::Answer("what the rule says"),
        means: "The route's rule answered the request itself.",
        remedy: "Read the rule: it is named in the route (`headroom explain FILE`).",
    },
    Reason {
        name: request::UPSTREAM_UNREACHABLE,
        told: Told::Answer("502"),
        means: "No instance of the pool accepted a connection.",
        remedy: "Is the service running, on the addresses of the pool? Nothing was sent, so all instances were tried.",
    },
    Reason {
        name: request::UPSTREAM_CONNECT_TIMEOUT,
        told: Told::Answer("504"),
        means: "No instance accepted the connection within the pool's `connect_timeout`.",
        remedy: "The instance's accept queue may be full (it is overloaded or hangs), or a firewall drops packets.",
    },
    Reason {
        name: request::UPSTREAM_BROKE,
        told: Told::Answer("502, or an answer that breaks off"),
        means: "The instance closed the connection before its answer was whole.",
        remedy: "Look at the instance's log: crashed workers, and keep-alive times shorter than the pool's \
                 `idle_timeout`, are usual.",
    },
    Reason {
        name: request::UPSTREAM_TIMEOUT,
        told: Told::Answer("504, or an answer that breaks off"),
        means: "The answer, or its next part, did not come within the pool's `answer_timeout`.",
        remedy: "The request may still be worked on: shorten the service's own time-outs, or limit what is in flight.",
    },
    Reason {
        name: request::UPSTREAM_MALFORMED,
        told: Told::Answer("502"),
        means: "The instance's answer broke HTTP, so that it was not safe to pass on.",
        remedy: "`rule=` and `instance=` in the access log say which rule was broken and by whom: two lengths, line ends and \
                 padded chunk sizes are usual. Where the head is too large, raise `limits.answer_head_max` or \
                 `answer_fields_max`.",
    },
    Reason {
        name: request::CLIENT_LEFT,
        told: Told::Answer("nothing: 499 in the log"),
        means: "The client closed its connection before its answer was whole.",
        remedy: "Clients give up on slow answers: compare with response times. Some are people who moved on.",
    },
    Reason {
        name: request::BAD_REQUEST,
        told: Told::Answer("400"),
        means: "The body of the request broke its framing after it had begun to be forwarded.",
        remedy: "A client or a proxy before the gateway is broken, or somebody tries to smuggle a request.",
    },
    Reason {
        name: request::HEAD_TIMEOUT,
        told: Told::Answer("408"),
        means: "The head of the request was not whole within `limits.head_timeout`.",
        remedy: "A slow or stuck client; many at once may be an attack that holds connections.",
    },
    Reason {
        name: request::BODY_TIMEOUT,
        told: Told::Answer("408"),
        means: "The body of the request stopped coming for `limits.idle_timeout`.",
        remedy: "A slow or stuck client. Raise the time-out where clients legitimately pause.",
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
        means: "No route is for this host and path.",
        remedy: "Add a route; one with `path_prefix: /` at the end takes the rest.",
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
        remedy: "Is that instance running? See headroom_instance_up and the pool's `health`.",
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
        means: "A kept connection was closed by the instance just as it was used again.",
        remedy: "Make the pool's `idle_timeout` shorter than the instance's keep-alive time.",
    },
    Reason {
        name: retry::BROKE,
        told: Told::RetryReason,
        means: "The connection broke after the request was sent and before an answer.",
        remedy: "Look at the instance's log: crashed or restarted workers are usual.",
    },
    Reason {
        name: retried::REPEATED,
        told: Told::RetryOutcome,
        means: "The request was sent again.",
        remedy: "Nothing, while there are few: the client noticed nothing.",
    },
    Reason {
        name: retried::NOT_SAFE,
        told: Told::RetryOutcome,
        means: "It was not sent again, because the instance may have acted on it already.",
        remedy: "Only idempotent methods are sent again. Let clients decide about the others.",
    },
    Reason {
        name: retried::OUT_OF_TRIES,
        told: Told::RetryOutcome,
        means: "It was not sent again, because it had been sent as often as the pool's `retries` allow.",
        remedy: "Several instances fail: look at the reasons beside this outcome.",
    },
    Reason {
        name: retried::OUT_OF_BUDGET,
        told: Told::RetryOutcome,
        means: "It was not sent again, because repeats had reached their share of all requests.",
        remedy: "Many requests fail, and repeats would add load. Cure the failures before raising the budget.",
    },
];

/// What becomes of copies of requests.
const COPIES: &[Reason] = &[
    Reason {
        name: dropped::UNSAFE_METHOD,
        told: Told::Dropped,
        means: "The request's method may change something, so it was not copied.",
        remedy: "Copy such methods only where the shadow may be changed: see the mirror's settings.",
    },
    Reason {
        name: dropped::TRIPPED,
        told: Told::Dropped,
        means: "The gateway itself was late, and copies nothing until it is in time again.",
        remedy: "It has too few workers or a neighbour on the machine; on a busy machine raise `breaker.trip_at`.",
    },
    Reason {
        name: dropped::OVER_LIMIT,
        told: Told::Dropped,
        means: "The mirror's `limit` was used up.",
        remedy: "Sessions are not copied whole meanwhile. Raise `limit`, or lower `fraction`.",
    },
    Reason {
        name: dropped::QUEUE_FULL,
        told: Told::Dropped,
        means: "As many copies were waiting for the shadow as may (`queue`).",
        remedy: "The shadow is slower than its traffic: lower `fraction`, set `limit`, or raise `in_flight`.",
    },
    Reason {
        name: dropped::BYTES_FULL,
        told: Told::Dropped,
        means: "All copies together hold as many bytes as they may.",
        remedy: "The shadow is too slow for large bodies: lower `fraction`.",
    },
    Reason {
        name: dropped::BODY_TOO_LARGE,
        told: Told::Dropped,
        means: "The body is longer than what is copied.",
        remedy: "Nothing, unless such requests matter to the comparison.",
    },
    Reason {
        name: dropped::BODY_INCOMPLETE,
        told: Told::Dropped,
        means: "The live request ended before its body did.",
        remedy: "Nothing: the client left.",
    },
    Reason {
        name: dropped::EXPIRED,
        told: Told::Dropped,
        means: "The copy's `deadline` came while it waited for the shadow.",
        remedy: "As with queue_full: the shadow is slower than its traffic.",
    },
    Reason {
        name: dropped::WRITE_FAILED,
        told: Told::Dropped,
        means: "The capture's file could not be written.",
        remedy: "Is the disk full, and may the gateway write there?",
    },
    Reason {
        name: dropped::ENDING,
        told: Told::Dropped,
        means: "The gateway ended, or took the mirror away, before the copy went out.",
        remedy: "Nothing.",
    },
    Reason {
        name: uncompared::UNREACHABLE,
        told: Told::Uncompared,
        means: "The shadow accepted no connection.",
        remedy: "Is the shadow running, on the addresses of its pool?",
    },
    Reason {
        name: uncompared::BROKE,
        told: Told::Uncompared,
        means: "The shadow closed the connection before its answer was whole.",
        remedy: "Look at the shadow's log.",
    },
    Reason {
        name: uncompared::MALFORMED,
        told: Told::Uncompared,
        means: "The shadow's answer broke HTTP.",
        remedy: "Ask the shadow directly (curl -v).",
    },
    Reason {
        name: uncompared::DEADLINE,
        told: Told::Uncompared,
        means: "The shadow's answer was not whole at the mirror's `deadline`.",
        remedy: "The shadow does not finish in time; times are compared only for pairs that did.",
    },
    Reason {
        name: uncompared::LIVE_INCOMPLETE,
        told: Told::Uncompared,
        means: "The live request itself had no whole answer, so there was nothing to compare with.",
        remedy: "Look at headroom_failed_total of the route.",
    },
];

const BROKEN: Reason = Reason {
    name: "broken HTTP",
    told: Told::Answer("400, 414, 431, 501 or 505"),
    means: "The request breaks HTTP/1.1 or a bound, in the way that the name says, and was not forwarded.",
    remedy: "A client or a proxy before the gateway is broken, or somebody tries to smuggle a request: two hops that \
             read the same bytes differently are how. The answer's detail says what was found.",
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
