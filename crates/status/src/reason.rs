//! The names of reasons in logs, metrics, responses and the status document. They are stable.
//!
//! The reasons of limits are elsewhere: they belong to [`control::admission::Reason`], and those of invalid requests to
//! the codec that refuses them.

/// Why a request got no response from an instance, or an incomplete one.
pub mod request {
    names! {
        /// The route's rule produced the response.
        RULE = "rule",
        /// No instance accepted a connection.
        UPSTREAM_UNREACHABLE = "upstream_unreachable",
        /// No instance accepted a connection in time.
        UPSTREAM_CONNECT_TIMEOUT = "upstream_connect_timeout",
        /// The instance closed the connection before the response was complete.
        UPSTREAM_BROKE = "upstream_broke",
        /// The response, or the next part of it, did not arrive in time.
        UPSTREAM_TIMEOUT = "upstream_timeout",
        /// The response violated HTTP.
        UPSTREAM_MALFORMED = "upstream_malformed",
        /// The client closed its connection before the response was complete.
        CLIENT_LEFT = "client_left",
        /// Its body violated HTTP after forwarding had begun.
        BAD_REQUEST = "bad_request",
        /// Its head was not complete in time.
        HEAD_TIMEOUT = "head_timeout",
        /// Its body did not arrive in time.
        BODY_TIMEOUT = "body_timeout",
        /// Its body is larger than the gateway accepts.
        BODY_TOO_LARGE = "body_too_large",
        /// The memory for buffered bodies is exhausted.
        BODY_MEMORY = "body_memory",
        /// No route matches it.
        NO_ROUTE = "no_route",
        /// It requests an upgrade to a protocol that the gateway does not support.
        UPGRADE_UNSUPPORTED = "upgrade_unsupported",
    }
}

/// Why a request should be retried.
pub mod retry {
    names! {
        /// No connection: nothing was sent.
        UNREACHABLE = "unreachable",
        /// No connection in time: nothing was sent.
        CONNECT_TIMEOUT = "connect_timeout",
        /// A kept connection that the instance was closing.
        STALE = "stale",
        /// The connection broke before a response.
        BROKE = "broke",
    }
}

/// What happened to a request that should be retried.
pub mod retried {
    names! {
        /// It was retried.
        REPEATED = "repeated",
        /// The instance may already have processed it.
        NOT_SAFE = "not_safe",
        /// It had been sent the maximum number of times.
        OUT_OF_TRIES = "out_of_tries",
        /// The retry budget was exhausted.
        OUT_OF_BUDGET = "out_of_budget",
    }
}

/// Why a chosen copy of a request was not sent to its shadow, or not written to the capture.
pub mod dropped {
    names! {
        /// Its method is not safe.
        UNSAFE_METHOD = control::mirror::NotMirrored::UNSAFE_METHOD,
        /// The gateway itself lagged.
        TRIPPED = control::mirror::NotMirrored::TRIPPED,
        /// The absolute limit was exhausted.
        OVER_LIMIT = control::mirror::NotMirrored::OVER_LIMIT,
        /// The queue was full.
        QUEUE_FULL = "queue_full",
        /// The memory for copies was exhausted.
        BYTES_FULL = "bytes_full",
        /// The body is larger than the maximum for copies.
        BODY_TOO_LARGE = "body_too_large",
        /// The live request ended before its body did.
        BODY_INCOMPLETE = "body_incomplete",
        /// Its deadline passed while it waited.
        EXPIRED = "expired",
        /// The file could not be written.
        WRITE_FAILED = "write_failed",
        /// The gateway was shutting down.
        ENDING = "ending",
    }
}

/// Why a copy that was sent to its shadow could not be compared.
pub mod uncompared {
    names! {
        /// No connection.
        UNREACHABLE = "unreachable",
        /// The connection ended before the response.
        BROKE = "broke",
        /// The response violated HTTP.
        MALFORMED = "malformed",
        /// The response was not complete at the deadline.
        DEADLINE = "deadline",
        /// The live request had no complete response.
        LIVE_INCOMPLETE = "live_incomplete",
    }
}
