//! Envoy: `local_ratelimit`, circuit breakers, and `adaptive_concurrency` for those who want it.
//!
//! ## Why tokens come in lots
//! Envoy fills a bucket at most every 50 ms. So as many tokens come at a time as the rate has in that, and the interval
//! makes the rate exact.
//!
//! ## Why connections and pending requests
//! For a service that speaks HTTP/1.1 a request in flight is a connection: `max_connections` bounds those, and
//! `max_pending_requests` is the queue in front of them.
//!
//! Source: the v3 API of Envoy: LocalRateLimit, CircuitBreakers, AdaptiveConcurrency.

use super::{Limit, comment, millis};
use crate::commands::find::GATEWAY_PORT;

pub(super) fn text(limit: &Limit) -> String {
    let mut text = limit.head("Envoy");
    text += &comment(
        "",
        "Check it with `envoy --mode validate -c FILE`. In a configuration of your own, take the filters, what stands at\n\
         the limited route, and the circuit breakers of its cluster.\n\
         \n\
         What Envoy cannot do of this:\n\
         - limit only while responses are late: the rate holds always, also where the service could do more\n\
         - let requests wait for the rate: those above it are refused at once\n\
         - bound how long a request waits for a connection apart from the time-out of its route\n\
         Circuit breakers count for each cluster and each worker sees them late: a few more may be in flight.",
    );
    let per_second = limit.limits.rate.per_second();
    let tokens = (per_second * LEAST_FILL_S).ceil().max(1.0);
    let interval = format!("{:.6}s", tokens / per_second);
    let bucket = f64::from(limit.room).max(tokens);
    let host = &limit.origin.host;
    let kind = if host.parse::<std::net::IpAddr>().is_ok() { "STATIC" } else { "STRICT_DNS" };
    let values = [
        ("LISTEN_PORT", GATEWAY_PORT.to_string()),
        ("PATH", quoted(&limit.path)),
        ("BUCKET", bucket.to_string()),
        ("TOKENS", tokens.to_string()),
        ("INTERVAL", interval),
        ("RATE", limit.limits.rate.to_string()),
        ("IN_FLIGHT", limit.limits.in_flight.to_string()),
        ("ROOM", limit.room.to_string()),
        ("PERCENTILE", percentile(limit.quantile.get())),
        ("MOST", (limit.limits.in_flight.saturating_mul(ADAPTED_MOST)).to_string()),
        ("TARGET_MS", millis(limit.limits.target).to_string()),
        ("KIND", kind.to_owned()),
        ("HOST", quoted(host)),
        ("SERVICE_PORT", limit.origin.port.to_string()),
    ];
    let fill = |template: &str| {
        values
            .iter()
            .fold(template.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
    };
    text += &fill(LISTENER);
    text += &fill(CLUSTER);
    text += &fill(&CLUSTER_BOUNDS.replace("<CLUSTER>", "headroom_limited"));
    let secure = if limit.is_secure() { fill(SECURE) } else { String::new() };
    text += &fill(&ENDPOINTS.replace("<CLUSTER>", "headroom_limited"));
    text += &secure;
    text += &fill(REST);
    text += &fill(&ENDPOINTS.replace("<CLUSTER>", "headroom_rest"));
    text += &secure;
    text
}

/// JSON's strings are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn percentile(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

const LISTENER: &str = "
static_resources:
  listeners:
    - name: headroom
      address:
        socket_address: { address: 127.0.0.1, port_value: <LISTEN_PORT> }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: headroom
                use_remote_address: true
                # Or another spelling of the path would lead past the limit.
                normalize_path: true
                merge_slashes: true
                route_config:
                  name: headroom
                  virtual_hosts:
                    - name: headroom
                      domains: [\"*\"]
                      routes:
                        - match: { path: <PATH> }
                          route: { cluster: headroom_limited, timeout: 60s }
                          typed_per_filter_config:
                            envoy.filters.http.local_ratelimit:
                              \"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
                              stat_prefix: headroom_rate
                              # <RATE>: Envoy fills at most every 50 ms.
                              token_bucket: { max_tokens: <BUCKET>, tokens_per_fill: <TOKENS>, fill_interval: <INTERVAL> }
                              filter_enabled: { default_value: { numerator: 100, denominator: HUNDRED } }
                              filter_enforced: { default_value: { numerator: 100, denominator: HUNDRED } }
                              status: { code: ServiceUnavailable }
                              response_headers_to_add:
                                - header: { key: retry-after, value: \"1\" }
                        # Not measured, so not limited.
                        - match: { prefix: / }
                          route: { cluster: headroom_rest, timeout: 60s }
                http_filters:
                  - name: envoy.filters.http.local_ratelimit
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
                      stat_prefix: headroom_rate
                  # A limit that follows the service, for all routes of this listener. Off: it looks for its baseline
                  # with few in flight once a minute, which sheds a busy service. Set default_value to true to try it.
                  - name: envoy.filters.http.adaptive_concurrency
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency
                      enabled: { default_value: false, runtime_key: headroom.adaptive_concurrency }
                      gradient_controller_config:
                        sample_aggregate_percentile: { value: <PERCENTILE> }
                        concurrency_limit_params: { max_concurrency_limit: <MOST>, concurrency_update_interval: 0.1s }
                        min_rtt_calc_params: { interval: 60s, request_count: 50, min_concurrency: <IN_FLIGHT>, jitter: { value: 10 } }
                  - name: envoy.filters.http.router
                    typed_config:
                      \"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
";

const CLUSTER: &str = "  clusters:
    - name: headroom_limited
      type: <KIND>
      connect_timeout: 1s
";

const CLUSTER_BOUNDS: &str = "      # Up to <IN_FLIGHT> in flight, up to <ROOM> more wait for a connection, the rest is refused with 503.
      circuit_breakers:
        thresholds:
          - { priority: DEFAULT, max_connections: <IN_FLIGHT>, max_pending_requests: <ROOM>, max_requests: <IN_FLIGHT>, max_retries: 0 }
";

const REST: &str = "    - name: headroom_rest
      type: <KIND>
      connect_timeout: 1s
";

const ENDPOINTS: &str = "      load_assignment:
        cluster_name: <CLUSTER>
        endpoints:
          - lb_endpoints:
              - endpoint:
                  address:
                    socket_address: { address: <HOST>, port_value: <SERVICE_PORT> }
";

const SECURE: &str = "      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: <HOST>
";

/// Envoy's shortest interval between fills.
const LEAST_FILL_S: f64 = 0.05;

/// How far above the measured limit an adaptive one may go.
const ADAPTED_MOST: u32 = 4;
