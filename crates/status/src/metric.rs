//! The names of the gateway's metrics that texts refer to. They are stable.

names! {
    /// From sending upstream to the first byte of the response; OpenTelemetry's name.
    CLIENT_DURATION = "http_client_request_duration_seconds",
    /// Requests that arrived, by route.
    DEMAND = "headroom_demand_total",
    /// Requests without a complete response from upstream, by route and kind.
    FAILED = "headroom_failed_total",
    /// Requests that limits in shadow would have refused, by route and reason.
    WOULD_SHED = "headroom_would_shed_total",
    /// How long requests with a response waited in the gateway, by route.
    WAIT = "headroom_wait_seconds",
    /// Whether an instance takes new requests.
    INSTANCE_UP = "headroom_instance_up",
    /// Failed requests, by reason and by whether they were retried.
    RETRIES = "headroom_retries_total",
    /// Copies that were not sent to a shadow, by reason.
    MIRROR_DROPPED = "headroom_mirror_dropped_total",
    /// Copies that could not be compared, by reason.
    MIRROR_FAILED = "headroom_mirror_failed_total",
    /// Requests missing from the capture, by reason.
    CAPTURE_DROPPED = "headroom_capture_dropped_total",
}
