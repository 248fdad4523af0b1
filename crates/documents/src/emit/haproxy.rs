//! HAProxy: a rate from a stick table, and `maxconn`, `maxqueue`, `timeout queue`.
//!
//! ## Why a counter of our own
//! `http_req_rate` counts refused requests too: above the limit it would refuse everything until the flood is over.
//! `gpc0` is counted up only for requests that passed.
//!
//! ## Why a rule on the length of the queue
//! `maxqueue` bounds the queue of a server, where requests wait that belong to it. Those that any server may answer
//! wait in the queue of the backend, which only a rule bounds.
//!
//! Source: the configuration manual of HAProxy, 2.4 and later.

use super::{END, Limit, SEPARATOR, Service, comment, decoded, listen, millis};
use std::time::Duration;

pub(super) fn text(limit: &Limit, service: &Service) -> String {
    let mut text = limit.head("HAProxy");
    text += &comment(
        "",
        "Check it with `haproxy -c -f FILE`. In a configuration of your own, take the lines with headroom_ and the server\n\
         with its maxconn and maxqueue.\n\
         \n\
         What HAProxy cannot do of this:\n\
         - limit only while responses are late: the limits hold always, also where the service could do more\n\
         - let the requests in flight follow the service: the figures are those of the day of the measurement\n\
         - bound all paths together: the measured path and the others have a bound each\n\
         - let requests wait for the rate: those above it are refused at once; only those above maxconn wait\n\
         - space requests evenly: the rate is an average over the period of the counter",
    );
    let secure = match service.is_secure {
        true => format!(" ssl verify required ca-file @system-ca sni str({})", service.host),
        false => String::new(),
    };
    let backend = |name: &str, more: &str, bounds: &str| {
        format!(
            "\nbackend {name}\n    mode http\n    timeout connect 1s\n    timeout server 60s\n{more}    \
             server service {server}{secure}{bounds}\n",
            server = service.server()
        )
    };
    let refused = |condition: &str| {
        format!(
            "    http-request return status 503 content-type text/plain string \"at its limit, try again later\" \
             hdr Retry-After 1 hdr Cache-Control no-store if {condition}\n"
        )
    };
    let queue = |room: u32, wait: Duration| {
        format!(
            "    # Above maxconn, up to {room} wait, each no longer than the goal allows.\n    timeout queue {}ms\n",
            millis(wait)
        )
    };
    text += &format!(
        "\nfrontend headroom\n    mode http\n    bind {listen}\n    timeout client 60s\n    \
         timeout http-request 10s\n    timeout http-keep-alive 60s\n    option forwardfor\n\n",
        listen = listen()
    );
    let mut backends = String::new();
    if let Some(in_flight) = limit.in_flight {
        let room = limit.rate.map_or(1, |limit| limit.room);
        let wait = limit.rate.map_or(LEAST_WAIT, |limit| limit.longest_wait);
        text += &format!(
            "    # The measured path{below}, in upper and lower case, also with `;` parameters. Paths with `..` count\n    \
             # as the measured one: a service may not resolve them.\n    \
             acl headroom_limited path,url_dec -m reg -i {path}\n    \
             acl headroom_limited path,url_dec -m reg {dots}\n",
            below = if service.is_root() { "" } else { " and all below it" },
            path = quoted(&format!("^{}", Limit::pattern(&decoded(&service.path), SEPARATOR, END))),
            dots = quoted(DOTS),
        );
        text += &format!("    # At most {room} wait, and those above the rate do not.\n");
        text += &refused(&format!("headroom_limited {{ queue(headroom_limited) ge {room} }}"));
        if let Some(rated) = limit.rate {
            let (count, period) = count_and_period(rated.rate.per_second());
            text += "    http-request track-sc0 int(1) table headroom_rate if headroom_limited\n";
            text += &refused(&format!("headroom_limited {{ sc0_gpc0_rate(headroom_rate) ge {count} }}"));
            text += "    # Only what passed counts.\n    http-request sc-inc-gpc0(0) if headroom_limited\n";
            backends += &format!(
                "\n# {}: {count} in {period}.\nbackend headroom_rate\n    \
                 stick-table type integer size 1 expire 10m store gpc0,gpc0_rate({period})\n",
                rated.rate
            );
        }
        backends += &backend(
            "headroom_limited",
            &queue(room, wait),
            &format!(" maxconn {in_flight} maxqueue {room}"),
        );
    }
    match limit.others {
        Some(others) => {
            let (places, wait) = (others.queue.places, others.queue.longest_wait);
            let behind = if limit.in_flight.is_some() { " !headroom_limited" } else { "" };
            text += &refused(&format!("{{ queue(headroom_rest) ge {places} }}{behind}"));
            backends += "\n# Not measured: what it carries in flight follows from the measured path. Streams and long polls take\n\
                         # a place for as long: give them a backend of their own.";
            let bounds = format!(" maxconn {} maxqueue {places}", others.fixed);
            backends += &backend("headroom_rest", &queue(places, wait), &bounds);
        }
        None => {
            backends += "\n# Not measured, and not limited (--only-path).";
            backends += &backend("headroom_rest", "", "");
        }
    }
    if limit.in_flight.is_some() {
        text += "    use_backend headroom_limited if headroom_limited\n";
    }
    text += "    default_backend headroom_rest\n";
    text + &backends
}

/// A whole number of requests in a period that is no longer than it must be.
fn count_and_period(per_second: f64) -> (u64, &'static str) {
    let fits = |seconds: f64| (per_second * seconds + ROUNDING).floor();
    let exact = |seconds: f64| fits(seconds) / seconds >= per_second * PRECISION;
    match () {
        () if exact(1.0) => (fits(1.0) as u64, "1s"),
        () if exact(10.0) => (fits(10.0) as u64, "10s"),
        () => (fits(600.0).max(1.0) as u64, "10m"),
    }
}

/// In quotes where HAProxy could take a character for its own.
fn quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-~:@%+,=&".contains(c)) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if "\"\\$".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted + "\""
}

/// A path with a segment of two dots.
const DOTS: &str = r"(^|[/\\])\.\.([/\\;]|$)";

/// The shortest time in the queue.
const LEAST_WAIT: Duration = Duration::from_millis(10);

/// A limit may lose so much to whole numbers before a longer period is taken.
const PRECISION: f64 = 0.98;

const ROUNDING: f64 = 1e-6;
