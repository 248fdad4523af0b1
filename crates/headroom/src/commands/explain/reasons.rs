//! What the reason names in logs, metrics and answers mean, and what to do about them.

use gateway::status::{Limit, LimitKind, Status};

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

/// The reason with this name.
pub fn find(name: &str) -> Option<&'static Reason> {
    REASONS.iter().find(|reason| reason.name == name).or_else(|| REFUSALS.contains(&name).then_some(&BROKEN))
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    REASONS.iter().map(|reason| reason.name).chain(REFUSALS.iter().copied())
}

/// The reasons for which a limit refuses.
pub fn of_limit(limit: &Limit) -> &'static [&'static str] {
    match (limit.kind, limit.backlog_bound) {
        (LimitKind::Concurrency, None | Some(0)) => &["concurrency"],
        (LimitKind::Concurrency, Some(_)) => &["backlog_full", "deadline", "standing_queue"],
        (LimitKind::RateClass, None | Some(0)) => &["rate_class"],
        (LimitKind::RateClass, Some(_)) => &["backlog_full", "wait_too_long"],
    }
}

/// The limits of a gateway that refuse for this reason.
pub fn limits_for<'a>(status: &'a Status, reason: &str) -> Vec<&'a Limit> {
    status.limits.iter().filter(|limit| of_limit(limit).contains(&reason)).collect()
}

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
        means: "The request could not have been answered before its deadline: waiting and being served takes longer \
                than the time that was left.",
        remedy: "Serving it would have been work for nobody. Look at how long requests wait \
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
        remedy: "Ask the instance directly (curl -v): two lengths, line ends and bad header names are usual.",
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
    use std::collections::BTreeSet;
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
            let found = find(reason.name()).unwrap_or_else(|| panic!("{} is not explained", reason.name()));
            assert_eq!(found.told, SHED);
        }
    }

    #[test]
    fn a_name_has_one_meaning() {
        let all: Vec<&str> = names().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
