//! What is written for each proxy, and that nothing is written where there is nothing to write.

use super::{EmitError, Limit, Proxy, Service};
use serde_json::{Value as Json, json};

/// What `headroom find` says of the service of the account.
fn search() -> Json {
    json!({
        "target": "http://127.0.0.1:9000/search.cgi?q=1",
        "run": "r17",
        "date": "2026-11-21",
        "slo": ["p(95)<50ms", "failed<1%"],
        "ended": "done",
        "found": "within",
        "sustainable_rate": { "low": 105.92, "high": 108.49, "confidence": 0.9627, "verified": true, "confirmed": true },
        "limited_by": "response_time",
        "only_path": false,
        "binding": "p(95)<50ms",
        "calm_response_time_ms": 18.9,
        "knee": { "in_flight": 2, "best_per_second": 107.5, "best_in_flight": 5, "stopped": "flat" },
        "closed_loop": [
            { "in_flight": 1, "good_per_second": 53.1, "p50_ms": 18.9 },
            { "in_flight": 2, "good_per_second": 106.2, "p50_ms": 18.9 },
            { "in_flight": 5, "good_per_second": 107.5, "p50_ms": 39.0 },
            { "in_flight": 10, "good_per_second": 107.5, "p50_ms": 93.0 },
        ],
    })
}

fn with(changes: &[(&str, Json)]) -> Json {
    let mut search = search();
    for (pointer, value) in changes {
        *search.pointer_mut(pointer).unwrap() = value.clone();
    }
    search
}

fn emit(proxy: Proxy, search: &Json) -> Result<String, EmitError> {
    let limit = Limit::of(search)?;
    let (scheme, host, port, path) = match limit.target() {
        "http://127.0.0.1:9000/search.cgi?q=1" => ("http", "127.0.0.1", 9_000, "/search.cgi"),
        "https://shop.example/a%20b/%22;{$x}?q=1" => ("https", "shop.example", 443, "/a%20b/%22;{$x}"),
        "https://shop.example/" => ("https", "shop.example", 443, "/"),
        "http://[::1]:9000" => ("http", "::1", 9_000, "/"),
        other => panic!("no test reads {other}"),
    };
    let authority = limit.target()[scheme.len() + 3..].split('/').next().unwrap_or_default().to_owned();
    let (is_secure, host, path) = (scheme == "https", host.to_owned(), path.to_owned());
    Ok(limit.text(proxy, &Service { is_secure, host, port, authority, path }))
}

#[test]
fn the_limit_in_the_words_of_nginx() {
    insta::assert_snapshot!(emit(Proxy::Nginx, &search()).unwrap());
}

#[test]
fn the_limit_in_the_words_of_haproxy() {
    insta::assert_snapshot!(emit(Proxy::Haproxy, &search()).unwrap());
}

#[test]
fn the_limit_in_the_words_of_envoy() {
    insta::assert_snapshot!(emit(Proxy::Envoy, &search()).unwrap());
}

#[test]
fn rates_are_never_rounded_up() {
    // A row: the low end, and what each proxy takes as 5 % below it.
    for (low, nginx, haproxy, envoy) in [
        (105.92, "rate=100r/s", "ge 100 }", "tokens_per_fill: 5, fill_interval: 0.050000s"),
        (100.0, "rate=95r/s", "ge 95 }", "tokens_per_fill: 5, fill_interval: 0.052632s"),
        (1_234.0, "rate=1170r/s", "ge 1170 }", "tokens_per_fill: 59, fill_interval: 0.050427s"),
        (7.77, "rate=442r/m", "ge 73 }", "tokens_per_fill: 1, fill_interval: 0.135501s"),
        (0.5, "rate=28r/m", "ge 285 }", "tokens_per_fill: 1, fill_interval: 2.105263s"),
    ] {
        let search = with(&[("/sustainable_rate/low", json!(low))]);
        for (proxy, expected) in [(Proxy::Nginx, nginx), (Proxy::Haproxy, haproxy), (Proxy::Envoy, envoy)] {
            let text = emit(proxy, &search).unwrap();
            assert!(text.contains(expected), "{low}: {expected}\n{text}");
        }
    }
}

#[test]
fn each_row_of_the_table_is_written_for_each_proxy() {
    let proxies = [Proxy::Nginx, Proxy::Haproxy, Proxy::Envoy];
    let rates = ["limit_req ", "sc0_gpc0_rate(headroom_rate)", "token_bucket"];
    let all = ["limit_conn headroom_service 10", "maxconn 10 maxqueue", "max_connections: 10"];
    let failures =
        [("/limited_by", json!("failures")), ("/slo", json!(["failed<1%"])), ("/binding", Json::Null)];
    let nothing = [("/limited_by", json!("nothing")), ("/found", json!("at_least"))];
    for (what, changes, rated, others) in [
        ("response time", &[][..], true, true),
        ("failures only", &failures, true, true),
        ("nothing", &nothing, false, true),
        ("only the path", &[("/only_path", json!(true))], true, false),
    ] {
        for ((proxy, rate), all) in proxies.into_iter().zip(rates).zip(all) {
            let text = emit(proxy, &with(changes)).unwrap();
            assert_eq!(text.contains(rate), rated, "{what}: {rate}\n{text}");
            assert_eq!(text.contains(all), others, "{what}: {all}\n{text}");
        }
    }
    // The rate at the low end, and with a goal in time 5 % below it.
    let text = emit(Proxy::Nginx, &with(&failures)).unwrap();
    assert!(text.contains("rate=105r/s") && text.contains("limited by        failures"), "{text}");
    let none = with(&[("/limited_by", json!("nothing")), ("/only_path", json!(true))]);
    assert!(emit(Proxy::Nginx, &none).is_err(), "there is nothing to limit");
    // As earlier versions kept it.
    let mut old = search();
    for name in ["limited_by", "only_path"] {
        old.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(emit(Proxy::Nginx, &old), emit(Proxy::Nginx, &search()));
}

#[test]
fn odd_paths_and_hosts_stand_as_they_must() {
    let odd = "https://shop.example/a%20b/%22;{$x}?q=1";
    let search = with(&[("/target", json!(odd))]);
    let nginx = emit(Proxy::Nginx, &search).unwrap();
    // The quote ends a segment's name for nobody but us: what follows `;` is a parameter.
    let pattern = r#"~*^[/\\\\]+(\\.[/\\\\]+)*a b(;[^/]*)?[/\\\\]+(\\.[/\\\\]+)*\"(;[^/]*)?([/\\\\]|$)"#;
    assert!(nginx.contains(pattern), "{nginx}");
    assert!(
        nginx.contains("proxy_pass https://headroom_service;") && nginx.contains("server shop.example:443;")
    );
    let haproxy = emit(Proxy::Haproxy, &search).unwrap();
    assert!(haproxy.contains(r#"a b(;[^/]*)?[/\\\\]+(\\.[/\\\\]+)*\""#), "{haproxy}");
    assert!(haproxy.contains("sni str(shop.example)"));
    let envoy = yaml(&emit(Proxy::Envoy, &search).unwrap());
    let cluster = &envoy["static_resources"]["clusters"][0];
    assert_eq!(
        (&cluster["type"], &cluster["transport_socket"]["typed_config"]["sni"]),
        (&json!("STRICT_DNS"), &json!("shop.example"))
    );
    let nginx = emit(Proxy::Nginx, &with(&[("/target", json!("http://[::1]:9000"))])).unwrap();
    assert!(nginx.contains("server [::1]:9000;") && nginx.contains("(;[^/]*)?$\" measured;"), "{nginx}");
}

#[test]
fn where_no_limit_was_found_none_is_written() {
    for (pointer, value) in [
        ("/sustainable_rate", Json::Null),
        ("/knee", Json::Null),
        ("/ended", json!("interrupted")),
        ("/sustainable_rate/verified", json!(false)),
    ] {
        let mut search = with(&[(pointer, value)]);
        search["binding"] = Json::Null;
        let error = emit(Proxy::Nginx, &search).unwrap_err();
        assert!(matches!(error, EmitError::NoLimit { .. }), "{pointer}: {error:?}");
    }
    let error = emit(Proxy::Nginx, &json!({ "target": "http://a/" })).unwrap_err().to_string();
    assert!(error.contains("only `headroom find`"), "{error}");
}

fn yaml(text: &str) -> Json {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Every message that we write names its type or stands where the type is known, and has only fields of it.
#[test]
fn envoys_file_has_only_fields_that_envoy_knows() {
    let whole = yaml(&emit(Proxy::Envoy, &with(&[("/target", json!("https://shop.example/"))])).unwrap());
    let (mut wrong, mut types) = (Vec::new(), 0);
    check(&whole, "Bootstrap", "", &mut wrong, &mut types);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(types, 7, "messages with a type of their own");
}

/// Message, its fields, and for those that are messages themselves which.
const MESSAGES: &[(&str, &[(&str, &str)])] = &[
    ("Bootstrap", &[("static_resources", "StaticResources")]),
    ("StaticResources", &[("listeners", "Listener"), ("clusters", "Cluster")]),
    ("Listener", &[("name", ""), ("address", "Address"), ("filter_chains", "FilterChain")]),
    ("Address", &[("socket_address", "SocketAddress")]),
    ("SocketAddress", &[("address", ""), ("port_value", "")]),
    ("FilterChain", &[("filters", "Filter")]),
    ("Filter", &[("name", ""), ("typed_config", "Any")]),
    (
        "HttpConnectionManager",
        &[
            ("stat_prefix", ""),
            ("use_remote_address", ""),
            ("normalize_path", ""),
            ("merge_slashes", ""),
            ("path_with_escaped_slashes_action", ""),
            ("route_config", "RouteConfiguration"),
            ("http_filters", "Filter"),
        ],
    ),
    ("RouteConfiguration", &[("name", ""), ("virtual_hosts", "VirtualHost")]),
    ("VirtualHost", &[("name", ""), ("domains", ""), ("routes", "Route")]),
    ("Route", &[("match", "RouteMatch"), ("route", "RouteAction"), ("typed_per_filter_config", "AnyByName")]),
    ("AnyByName", &[("envoy.filters.http.local_ratelimit", "Any")]),
    ("RouteMatch", &[("safe_regex", "RegexMatcher"), ("prefix", "")]),
    ("RegexMatcher", &[("regex", "")]),
    ("RouteAction", &[("cluster", ""), ("timeout", "")]),
    (
        "LocalRateLimit",
        &[
            ("stat_prefix", ""),
            ("token_bucket", "TokenBucket"),
            ("filter_enabled", "RuntimeFractionalPercent"),
            ("filter_enforced", "RuntimeFractionalPercent"),
            ("status", "HttpStatus"),
            ("response_headers_to_add", "HeaderValueOption"),
        ],
    ),
    ("TokenBucket", &[("max_tokens", ""), ("tokens_per_fill", ""), ("fill_interval", "")]),
    ("RuntimeFractionalPercent", &[("default_value", "FractionalPercent"), ("runtime_key", "")]),
    ("FractionalPercent", &[("numerator", ""), ("denominator", "")]),
    ("HttpStatus", &[("code", "")]),
    ("HeaderValueOption", &[("header", "HeaderValue")]),
    ("HeaderValue", &[("key", ""), ("value", "")]),
    ("AdaptiveConcurrency", &[("enabled", "RuntimeFeatureFlag"), ("gradient_controller_config", "Gradient")]),
    ("RuntimeFeatureFlag", &[("default_value", ""), ("runtime_key", "")]),
    (
        "Gradient",
        &[
            ("sample_aggregate_percentile", "Percent"),
            ("concurrency_limit_params", "ConcurrencyLimit"),
            ("min_rtt_calc_params", "MinRtt"),
        ],
    ),
    ("Percent", &[("value", "")]),
    ("ConcurrencyLimit", &[("max_concurrency_limit", ""), ("concurrency_update_interval", "")]),
    ("MinRtt", &[("interval", ""), ("request_count", ""), ("min_concurrency", ""), ("jitter", "Percent")]),
    ("Router", &[]),
    (
        "Cluster",
        &[
            ("name", ""),
            ("type", ""),
            ("connect_timeout", ""),
            ("circuit_breakers", "CircuitBreakers"),
            ("load_assignment", "ClusterLoadAssignment"),
            ("transport_socket", "Filter"),
        ],
    ),
    ("CircuitBreakers", &[("thresholds", "Thresholds")]),
    (
        "Thresholds",
        &[
            ("priority", ""),
            ("max_connections", ""),
            ("max_pending_requests", ""),
            ("max_requests", ""),
            ("max_retries", ""),
        ],
    ),
    ("ClusterLoadAssignment", &[("cluster_name", ""), ("endpoints", "LocalityLbEndpoints")]),
    ("LocalityLbEndpoints", &[("lb_endpoints", "LbEndpoint")]),
    ("LbEndpoint", &[("endpoint", "Endpoint")]),
    ("Endpoint", &[("address", "Address")]),
    ("UpstreamTlsContext", &[("sni", "")]),
];

/// The types that `@type` may name.
const TYPES: &[&str] = &[
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
    "envoy.extensions.filters.http.adaptive_concurrency.v3.AdaptiveConcurrency",
    "envoy.extensions.filters.http.router.v3.Router",
    "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
];

fn check(value: &Json, message: &str, at: &str, wrong: &mut Vec<String>, types: &mut u32) {
    if let Json::Array(list) = value {
        return list.iter().for_each(|value| check(value, message, at, wrong, types));
    }
    let Json::Object(fields) = value else { return wrong.push(format!("{at}: {value} is no {message}")) };
    let mut message = message;
    if message == "Any" {
        let named = value["@type"].as_str().unwrap_or_default();
        let Some(known) =
            TYPES.iter().find(|known| named.strip_prefix("type.googleapis.com/") == Some(known))
        else {
            return wrong.push(format!("{at}: unknown type {named}"));
        };
        *types += 1;
        message = known.rsplit('.').next().unwrap();
    }
    let Some((_, known)) = MESSAGES.iter().find(|(name, _)| *name == message) else {
        return wrong.push(format!("{at}: unknown message {message}"));
    };
    for (field, value) in fields.iter().filter(|(field, _)| *field != "@type") {
        match known.iter().find(|(name, _)| name == field) {
            None => wrong.push(format!("{at}: {message} has no {field}")),
            Some((_, "")) if value.is_object() => wrong.push(format!("{at}.{field} is a message")),
            Some((_, "")) => {}
            Some((_, inner)) => check(value, inner, &format!("{at}.{field}"), wrong, types),
        }
    }
}
