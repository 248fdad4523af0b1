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

use super::{Limit, PORT, Service, comment};
use control::search::limits::RateLimit;

pub(super) fn text(limit: &Limit, service: &Service) -> String {
    let mut text = limit.head("Envoy");
    text += &comment(
        "",
        "Check it with `envoy --mode validate -c FILE`. In a configuration of your own, take the filters, what stands at\n\
         the limited route, and the circuit breakers of its cluster.\n\
         \n\
         What Envoy cannot do of this:\n\
         - limit only while responses are late: the limits hold always, also where the service could do more\n\
         - let the requests in flight follow the service without refusing a busy one: see adaptive_concurrency below\n\
         - bound all paths together: the measured path and the others have a bound each\n\
         - let requests wait for the rate: those above it are refused at once\n\
         - bound how long a request waits for a connection apart from the time-out of its route\n\
         Streams and long polls take a place for as long: give them a cluster of their own.\n\
         Circuit breakers count for each cluster and each worker sees them late: a few more may be in flight.",
    );
    let host = &service.host;
    let kind = if host.parse::<std::net::IpAddr>().is_ok() { "STATIC" } else { "STRICT_DNS" };
    let mut values = vec![
        ("LISTEN_PORT", PORT.to_string()),
        ("PATH", quoted(&format!("(?i){}", Limit::pattern(&service.path, "/+", "(/.*)?")))),
        ("PERCENTILE", percentile(limit.quantile.get())),
        ("KIND", kind.to_owned()),
        ("HOST", quoted(host)),
        ("SERVICE_PORT", service.port.to_string()),
    ];
    if let Some(RateLimit { rate, room, .. }) = limit.rate {
        let tokens = (rate.per_second() * LEAST_FILL_S).ceil().max(1.0);
        values.extend([
            ("BUCKET", f64::from(room).max(tokens).to_string()),
            ("TOKENS", tokens.to_string()),
            ("INTERVAL", format!("{:.6}s", tokens / rate.per_second())),
            ("RATE", rate.to_string()),
        ]);
    }
    let least = limit.in_flight.or(limit.others.map(|others| others.in_flight)).unwrap_or(1);
    values.push(("IN_FLIGHT", least.to_string()));
    values.push(("MOST", least.saturating_mul(ADAPTED_MOST).to_string()));
    let fill = |template: &str| {
        values
            .iter()
            .fold(template.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
    };
    text += &fill(LISTENER);
    if limit.in_flight.is_some() {
        text += &fill(MEASURED);
        text += &fill(if limit.rate.is_some() { MEASURED_RATE } else { "" });
    }
    text += &fill(FILTERS);
    let secure = if service.is_secure { fill(SECURE) } else { String::new() };
    let mut cluster = |name: &str, bounds: Option<(u32, u32)>| {
        let bounds = bounds.map_or(String::new(), |(most, room)| {
            CLUSTER_BOUNDS.replace("<IN_FLIGHT>", &most.to_string()).replace("<ROOM>", &room.to_string())
        });
        text += &fill(&format!("{CLUSTER}{bounds}{ENDPOINTS}").replace("<CLUSTER>", name));
        text += &secure;
    };
    if let Some(in_flight) = limit.in_flight {
        cluster("headroom_limited", Some((in_flight, limit.rate.map_or(1, |limit| limit.room))));
    }
    cluster("headroom_rest", limit.others.map(|others| (others.fixed, others.queue.places)));
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
                # An escaped slash is a slash to many services. Where yours tells them apart: KEEP_UNCHANGED.
                path_with_escaped_slashes_action: UNESCAPE_AND_FORWARD
                route_config:
                  name: headroom
                  virtual_hosts:
                    - name: headroom
                      domains: [\"*\"]
                      routes:
";

const MEASURED: &str =
    "                        # The measured path, in upper and lower case, also with `;` parameters.
                        - match: { safe_regex: { regex: <PATH> } }
                          route: { cluster: headroom_limited, timeout: 60s }
";

const MEASURED_RATE: &str = "                          typed_per_filter_config:
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
";

const FILTERS: &str = "                        # Not measured.
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
  clusters:
";

const CLUSTER: &str = "    - name: <CLUSTER>
      type: <KIND>
      connect_timeout: 1s
";

const CLUSTER_BOUNDS: &str = "      # Up to <IN_FLIGHT> in flight, up to <ROOM> more wait for a connection, the rest is refused with 503.
      circuit_breakers:
        thresholds:
          - { priority: DEFAULT, max_connections: <IN_FLIGHT>, max_pending_requests: <ROOM>, max_requests: <IN_FLIGHT>, max_retries: 0 }
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
