//! The names of reasons, as logs, metrics, answers and the status document have them. They never change.
//!
//! Why a limit refuses is not here: these names belong to [`control::admission::Reason`], and those of broken requests to
//! the codec that refuses them.

/// Why a request was not answered by an instance, or not whole.
pub mod request {
    names! {
        /// The route's rule answered it.
        RULE = "rule",
        /// No instance accepted a connection.
        UPSTREAM_UNREACHABLE = "upstream_unreachable",
        /// No instance accepted a connection in time.
        UPSTREAM_CONNECT_TIMEOUT = "upstream_connect_timeout",
        /// The instance closed the connection before its answer was whole.
        UPSTREAM_BROKE = "upstream_broke",
        /// The answer, or more of it, did not come in time.
        UPSTREAM_TIMEOUT = "upstream_timeout",
        /// The answer broke HTTP.
        UPSTREAM_MALFORMED = "upstream_malformed",
        /// The client closed its connection before its answer was whole.
        CLIENT_LEFT = "client_left",
        /// Its body broke HTTP after it had begun to be forwarded.
        BAD_REQUEST = "bad_request",
        /// Its head was not whole in time.
        HEAD_TIMEOUT = "head_timeout",
        /// Its body did not come in time.
        BODY_TIMEOUT = "body_timeout",
        /// Its body is longer than the gateway takes.
        BODY_TOO_LARGE = "body_too_large",
        /// The bodies that are read before their requests go on took all the memory that they may.
        BODY_MEMORY = "body_memory",
        /// No route is for it.
        NO_ROUTE = "no_route",
        /// It asks for a protocol that the gateway does not carry.
        UPGRADE_UNSUPPORTED = "upgrade_unsupported",
    }
}

/// Why a request should be sent again.
pub mod retry {
    names! {
        /// No connection: nothing was sent.
        UNREACHABLE = "unreachable",
        /// No connection in time: nothing was sent.
        CONNECT_TIMEOUT = "connect_timeout",
        /// A kept connection that the instance was closing.
        STALE = "stale",
        /// The connection broke before an answer.
        BROKE = "broke",
    }
}

/// What became of a request that should be sent again.
pub mod retried {
    names! {
        /// It was sent again.
        REPEATED = "repeated",
        /// The instance may have acted on it already.
        NOT_SAFE = "not_safe",
        /// It had been sent as often as the pool allows.
        OUT_OF_TRIES = "out_of_tries",
        /// Repeats had reached their share of all requests.
        OUT_OF_BUDGET = "out_of_budget",
    }
}

/// Why a chosen copy of a request did not go to its shadow, or not into the capture.
pub mod dropped {
    names! {
        /// Its method may change something.
        UNSAFE_METHOD = control::mirror::NotMirrored::UNSAFE_METHOD,
        /// The gateway itself was late.
        TRIPPED = control::mirror::NotMirrored::TRIPPED,
        /// The absolute limit was used up.
        OVER_LIMIT = control::mirror::NotMirrored::OVER_LIMIT,
        /// As many waited as may.
        QUEUE_FULL = "queue_full",
        /// Copies hold as many bytes as they may.
        BYTES_FULL = "bytes_full",
        /// The body is longer than what is copied.
        BODY_TOO_LARGE = "body_too_large",
        /// The live request ended before its body did.
        BODY_INCOMPLETE = "body_incomplete",
        /// Its deadline came while it waited.
        EXPIRED = "expired",
        /// The file could not be written.
        WRITE_FAILED = "write_failed",
        /// The gateway ended.
        ENDING = "ending",
    }
}

/// Why a copy that went to its shadow could not be compared.
pub mod uncompared {
    names! {
        /// No connection.
        UNREACHABLE = "unreachable",
        /// The connection ended before the answer.
        BROKE = "broke",
        /// The answer broke HTTP.
        MALFORMED = "malformed",
        /// The answer was not whole at the deadline.
        DEADLINE = "deadline",
        /// The live request had no whole answer.
        LIVE_INCOMPLETE = "live_incomplete",
    }
}
