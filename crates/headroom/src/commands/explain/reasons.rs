//! What the reason names in logs, metrics and answers mean, and what to do about them.

use status::{Limit, LimitKind, Pool};
use std::collections::BTreeSet;

/// A reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason {
    /// Its name in logs, metrics and answers.
    pub name: &'static str,
    /// What the client is told, as a status.
    pub told: &'static str,
    /// What it means.
    pub means: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// All that is meant by this name, which a copy or a retry may share with a request.
pub fn find(name: &str) -> Vec<&'static Reason> {
    let mut found: Vec<&Reason> = all().filter(|reason| reason.name == name).collect();
    found.extend(REFUSALS.contains(&name).then_some(&BROKEN));
    found
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut seen = BTreeSet::new();
    all().map(|reason| reason.name).chain(REFUSALS.iter().copied()).filter(move |name| seen.insert(*name))
}

/// Whether this is about requests themselves, and not about their retries and copies.
pub fn is_of_a_request(reason: &Reason) -> bool {
    REASONS.contains(reason)
}

fn all() -> impl Iterator<Item = &'static Reason> {
    REASONS.iter().chain(RETRIES).chain(COPIES)
}

/// The reasons for which a limit refuses, or would if it were not in shadow; there nobody waits for a place.
pub fn of_limit(limit: &Limit, in_shadow: bool) -> &'static [&'static str] {
    let waits = limit.backlog_bound > Some(0);
    match limit.kind {
        LimitKind::Concurrency if waits && !in_shadow => QUEUE,
        LimitKind::Concurrency if limit.priorities.is_empty() => &["concurrency"],
        LimitKind::Concurrency => &["concurrency", "priority"],
        LimitKind::RateClass if waits => &["backlog_full", "wait_too_long"],
        LimitKind::RateClass => &["rate_class"],
    }
}

/// The reasons for which a pool's full instances refuse.
pub fn of_pool(pool: &Pool) -> &'static [&'static str] {
    match (pool.instance_concurrency, pool.queue_bound) {
        (None, _) => &[],
        (Some(_), None | Some(0)) => &["concurrency"],
        (Some(_), Some(_)) => QUEUE,
    }
}

/// Why a queue for a place refuses.
const QUEUE: &[&str] = &["backlog_full", "deadline", "standing_queue"];

const SHED: &str = "503 with Retry-After, or the page or redirect of the route";

const REASONS: &[Reason] = &[
    Reason {
        name: "rate_class",
        told: SHED,
        means: "The rate class had no turn left, and it lets nobody wait (backlog 0).",
        remedy: "If the rate is right, this is the limit at work. Give it a `backlog` and a `burst` where requests \
                 come in bunches below the rate; measure the rate again with `headroom find` where the service has \
                 become faster.",
    },
    Reason {
        name: "backlog_full",
        told: SHED,
        means: "As many requests were waiting for their turn as may wait (`backlog`).",
        remedy: "More arrives than the limit lets pass. More capacity is the cure; a longer backlog only helps \
                 against bunches, and makes everybody in it wait. Compare headroom_demand_total with the rate.",
    },
    Reason {
        name: "wait_too_long",
        told: SHED,
        means: "The request's turn would have come later than it may wait (`longest_wait`).",
        remedy: "As with backlog_full: more arrives than passes. `longest_wait` should stay below the time after \
                 which clients give up.",
    },
    Reason {
        name: "concurrency",
        told: SHED,
        means: "As many requests were in flight as may be.",
        remedy: "Either more arrives than the service can do, or each request takes longer than when the limit was \
                 measured: look at http_client_request_duration_seconds. If the service is as fast as ever and has \
                 room, measure the limit again with `headroom find`.",
    },
    Reason {
        name: "priority",
        told: SHED,
        means: "So many requests were in flight that only higher priority classes were admitted; this one was of a \
                lower class.",
        remedy: "This is the order in which requests are to be shed. If this class matters more, give it a higher \
                 priority; if there is room, raise the limit.",
    },
    Reason {
        name: "deadline",
        told: SHED,
        means: "The request would have had to wait longer than the queue lets it (`longest_wait`), or could not have \
                been answered, or had its turn at a rate class, before the deadline that it brought along \
                (`deadline_header`).",
        remedy: "Serving it late would have been work for nobody. Look at how long requests wait \
                 (headroom_wait_seconds) and whether clients set their deadlines too short.",
    },
    Reason {
        name: "standing_queue",
        told: SHED,
        means: "The queue had not been empty for a while, and this request was old in it.",
        remedy: "A queue that stands only adds delay. More arrives than the limit lets pass: add capacity.",
    },
    Reason {
        name: "rule",
        told: "what the rule says",
        means: "The route's rule answered the request itself.",
        remedy: "Read the rule: it is named in the route (`headroom explain FILE`).",
    },
    Reason {
        name: "upstream_unreachable",
        told: "502",
        means: "No instance of the pool accepted a connection.",
        remedy: "Is the service running, on the addresses of the pool? Nothing was sent, so all instances were tried.",
    },
    Reason {
        name: "upstream_connect_timeout",
        told: "504",
        means: "No instance accepted the connection within the pool's `connect_timeout`.",
        remedy: "The instance's accept queue may be full (it is overloaded or hangs), or a firewall drops packets.",
    },
    Reason {
        name: "upstream_broke",
        told: "502, or an answer that breaks off",
        means: "The instance closed the connection before its answer was whole.",
        remedy: "Look at the instance's log: crashed workers, and keep-alive times shorter than the pool's \
                 `idle_timeout`, are usual.",
    },
    Reason {
        name: "upstream_timeout",
        told: "504, or an answer that breaks off",
        means: "The answer, or its next part, did not come within the pool's `answer_timeout`.",
        remedy: "The request may still be worked on: shorten the service's own time-outs, or limit what is in flight.",
    },
    Reason {
        name: "upstream_malformed",
        told: "502",
        means: "The instance's answer broke HTTP, so that it was not safe to pass on.",
        remedy: "`rule=` and `instance=` in the access log say which rule was broken and by whom: two lengths, line ends and \
                 padded chunk sizes are usual. Where the head is too large, raise `limits.answer_head_max` or \
                 `answer_fields_max`.",
    },
    Reason {
        name: "client_left",
        told: "nothing: 499 in the log",
        means: "The client closed its connection before its answer was whole.",
        remedy: "Clients give up on slow answers: compare with response times. Some are people who moved on.",
    },
    Reason {
        name: "bad_request",
        told: "400",
        means: "The body of the request broke its framing after it had begun to be forwarded.",
        remedy: "A client or a proxy before the gateway is broken, or somebody tries to smuggle a request.",
    },
    Reason {
        name: "head_timeout",
        told: "408",
        means: "The head of the request was not whole within `limits.head_timeout`.",
        remedy: "A slow or stuck client; many at once may be an attack that holds connections.",
    },
    Reason {
        name: "body_timeout",
        told: "408",
        means: "The body of the request stopped coming for `limits.idle_timeout`.",
        remedy: "A slow or stuck client. Raise the time-out where clients legitimately pause.",
    },
    Reason {
        name: "no_route",
        told: "404",
        means: "No route is for this host and path.",
        remedy: "Add a route; one with `path_prefix: /` at the end takes the rest.",
    },
];

const RETRIED: &str = "nothing by this: it is a reason in headroom_retries_total";

const OUTCOME: &str = "nothing by this: it is an outcome in headroom_retries_total";

/// Why requests failed that might be sent again, and what became of that.
const RETRIES: &[Reason] = &[
    Reason {
        name: "unreachable",
        told: RETRIED,
        means: "An attempt to connect to an instance was refused; nothing was sent, so another instance is tried.",
        remedy: "Is that instance running? See headroom_instance_up and the pool's `health`.",
    },
    Reason {
        name: "connect_timeout",
        told: RETRIED,
        means: "An instance did not accept the connection within `connect_timeout`; nothing was sent.",
        remedy: "The instance's accept queue may be full, or a firewall drops packets.",
    },
    Reason {
        name: "stale",
        told: RETRIED,
        means: "A kept connection was closed by the instance just as it was used again.",
        remedy: "Make the pool's `idle_timeout` shorter than the instance's keep-alive time.",
    },
    Reason {
        name: "broke",
        told: RETRIED,
        means: "The connection broke after the request was sent and before an answer.",
        remedy: "Look at the instance's log: crashed or restarted workers are usual.",
    },
    Reason {
        name: "repeated",
        told: OUTCOME,
        means: "The request was sent again.",
        remedy: "Nothing, while there are few: the client noticed nothing.",
    },
    Reason {
        name: "not_safe",
        told: OUTCOME,
        means: "It was not sent again, because the instance may have acted on it already.",
        remedy: "Only idempotent methods are sent again. Let clients decide about the others.",
    },
    Reason {
        name: "out_of_tries",
        told: OUTCOME,
        means: "It was not sent again, because it had been sent as often as the pool's `retries` allow.",
        remedy: "Several instances fail: look at the reasons beside this outcome.",
    },
    Reason {
        name: "out_of_budget",
        told: OUTCOME,
        means: "It was not sent again, because repeats had reached their share of all requests.",
        remedy: "Many requests fail, and repeats would add load. Cure the failures before raising the budget.",
    },
];

const DROPPED: &str =
    "nothing: it is a reason in headroom_mirror_dropped_total or headroom_capture_dropped_total";

const UNCOMPARED: &str = "nothing: it is a reason in headroom_mirror_failed_total";

/// What becomes of copies of requests.
const COPIES: &[Reason] = &[
    Reason {
        name: "unsafe_method",
        told: DROPPED,
        means: "The request's method may change something, so it was not copied.",
        remedy: "Copy such methods only where the shadow may be changed: see the mirror's settings.",
    },
    Reason {
        name: "tripped",
        told: DROPPED,
        means: "The gateway itself was late, and copies nothing until it is in time again.",
        remedy: "It has too few workers or a neighbour on the machine; on a busy machine raise `breaker.trip_at`.",
    },
    Reason {
        name: "over_limit",
        told: DROPPED,
        means: "The mirror's `limit` was used up.",
        remedy: "Sessions are not copied whole meanwhile. Raise `limit`, or lower `fraction`.",
    },
    Reason {
        name: "queue_full",
        told: DROPPED,
        means: "As many copies were waiting for the shadow as may (`queue`).",
        remedy: "The shadow is slower than its traffic: lower `fraction`, set `limit`, or raise `in_flight`.",
    },
    Reason {
        name: "bytes_full",
        told: DROPPED,
        means: "All copies together hold as many bytes as they may.",
        remedy: "The shadow is too slow for large bodies: lower `fraction`.",
    },
    Reason {
        name: "body_too_large",
        told: DROPPED,
        means: "The body is longer than what is copied.",
        remedy: "Nothing, unless such requests matter to the comparison.",
    },
    Reason {
        name: "body_incomplete",
        told: DROPPED,
        means: "The live request ended before its body did.",
        remedy: "Nothing: the client left.",
    },
    Reason {
        name: "expired",
        told: DROPPED,
        means: "The copy's `deadline` came while it waited for the shadow.",
        remedy: "As with queue_full: the shadow is slower than its traffic.",
    },
    Reason {
        name: "write_failed",
        told: DROPPED,
        means: "The capture's file could not be written.",
        remedy: "Is the disk full, and may the gateway write there?",
    },
    Reason {
        name: "ending",
        told: DROPPED,
        means: "The gateway ended, or took the mirror away, before the copy went out.",
        remedy: "Nothing.",
    },
    Reason {
        name: "unreachable",
        told: UNCOMPARED,
        means: "The shadow accepted no connection.",
        remedy: "Is the shadow running, on the addresses of its pool?",
    },
    Reason {
        name: "broke",
        told: UNCOMPARED,
        means: "The shadow closed the connection before its answer was whole.",
        remedy: "Look at the shadow's log.",
    },
    Reason {
        name: "malformed",
        told: UNCOMPARED,
        means: "The shadow's answer broke HTTP.",
        remedy: "Ask the shadow directly (curl -v).",
    },
    Reason {
        name: "deadline",
        told: UNCOMPARED,
        means: "The shadow's answer was not whole at the mirror's `deadline`.",
        remedy: "The shadow does not finish in time; times are compared only for pairs that did.",
    },
    Reason {
        name: "live_incomplete",
        told: UNCOMPARED,
        means: "The live request itself had no whole answer, so there was nothing to compare with.",
        remedy: "Look at headroom_failed_total of the route.",
    },
];

const BROKEN: Reason = Reason {
    name: "broken HTTP",
    told: "400, 414, 431, 501 or 505",
    means: "The request breaks HTTP/1.1 or a bound, in the way that the name says, and was not forwarded.",
    remedy: "A client or a proxy before the gateway is broken, or somebody tries to smuggle a request: two hops that \
             read the same bytes differently are how. The answer's detail says what was found.",
};

/// The codec's names for broken requests.
const REFUSALS: &[&str] = &[
    "request-line",
    "version",
    "version-unsupported",
    "http2-preface",
    "header-name",
    "header-value",
    "bare-cr",
    "bare-lf",
    "leading-lines",
    "head-too-long",
    "too-many-headers",
    "target-too-long",
    "target-byte",
    "target-form",
    "host-differs",
    "connect",
    "host-missing",
    "host-repeated",
    "host-invalid",
    "two-framings",
    "content-length-repeated",
    "content-length-invalid",
    "transfer-encoding-invalid",
    "transfer-coding-unsupported",
    "transfer-encoding-in-http10",
    "framing-lookalike",
    "connection-invalid",
    "connection-too-long",
    "connection-names-framing",
    "upgrade-repeated",
    "expectation-unknown",
    "chunk-size",
    "chunk-size-too-long",
    "chunk-extension",
    "chunk-extensions-too-long",
    "chunk-end",
    "trailer",
    "trailers-too-long",
    "trailer-forbidden",
];

#[cfg(test)]
mod tests {
    use super::*;
    use control::ClassId;
    use control::admission;
    use control::concurrency::Priority;
    use std::time::Duration;

    #[test]
    fn every_refusal_of_a_limit_is_explained() {
        let (class, zero) = (ClassId(0), Duration::ZERO);
        for reason in [
            admission::Reason::RateClass { class, wait: zero },
            admission::Reason::BacklogFull { class, bound: 0, waiting: 0 },
            admission::Reason::WaitTooLong { class, longest: zero, wait: zero },
            admission::Reason::Concurrency { class, limit: 0, in_flight: 0 },
            admission::Reason::Priority { class, priority: Priority(0), allowed: 0, in_flight: 0 },
            admission::Reason::Deadline { class, left: zero, needed: zero },
            admission::Reason::StandingQueue { class, target: zero, waited: zero },
        ] {
            let found = find(reason.name());
            let first = found.first().unwrap_or_else(|| panic!("{} is not explained", reason.name()));
            assert_eq!(first.told, SHED);
        }
    }

    #[test]
    fn a_name_has_one_meaning_where_it_stands() {
        let said: Vec<(&str, &str)> = all().map(|reason| (reason.name, reason.told)).collect();
        assert_eq!(said.iter().collect::<BTreeSet<_>>().len(), said.len());
        for of in [REASONS, RETRIES, COPIES] {
            assert!(of.iter().all(|reason| !REFUSALS.contains(&reason.name)));
        }
    }
}
