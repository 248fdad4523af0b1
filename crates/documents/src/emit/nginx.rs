//! nginx: `limit_req` and `limit_conn`.
//!
//! Sources: ngx_http_limit_req_module and ngx_http_limit_conn_module of the nginx documentation. Rates are whole numbers
//! a second or a minute; a key that is empty is not limited, so the key is a constant.

use super::{END, Limit, SEPARATOR, Service, comment, decoded, listen};
use units::Rate;

pub(super) fn text(limit: &Limit, service: &Service) -> String {
    let mut text = limit.head("nginx");
    text += &comment(
        "",
        "Put it where nginx includes files into http { }, such as /etc/nginx/conf.d/headroom.conf, and check it with\n\
         `nginx -t`. In a server of your own, only the map and the lines with limit_ are needed.\n\
         \n\
         What nginx cannot do of this:\n\
         - limit only while responses are late: the limits hold always, also where the service could do more\n\
         - let the requests in flight follow the service: the figures are those of the day of the measurement\n\
         - wait for a place in flight: limit_conn refuses at once\n\
         - wait at most so long: a request waits for its turn as long as the burst takes\n\
         - tell what was shed by which limit apart in its metrics: both answer 503",
    );
    text.push('\n');
    let mut limits = String::new();
    if let Some(in_flight) = limit.in_flight {
        text += &format!(
            "# The measured path{below}, in upper and lower case, also with `;` parameters.\n\
             map $uri $headroom_path {{\n    default \"\";\n    {path} measured;\n}}\n\
             # A service may not resolve dot segments, so paths with `..` count as the measured one.\n\
             map $request_uri $headroom_measured {{\n    default $headroom_path;\n    {dots} measured;\n}}\n",
            below = if service.is_root() { "" } else { " and all below it" },
            path = quoted(&format!("~*^{}", Limit::pattern(&decoded(&service.path), SEPARATOR, END))),
            dots = quoted(DOTS),
        );
        if let Some(rated) = limit.rate {
            let (rate, note) = rate(rated.rate);
            let room = rated.room;
            // Of those above the rate, as many pass at once as may come at once; as many again wait.
            let (burst, at_once) = (2 * room - 1, room - 1);
            let delay = if at_once > 0 { format!(" delay={at_once}") } else { String::new() };
            text += &format!("{note}limit_req_zone $headroom_measured zone=headroom_rate:32k rate={rate};\n");
            limits += &format!(
                "        # Up to {room} may come at once, up to {room} more wait for their turn.\n        \
                 limit_req zone=headroom_rate burst={burst}{delay};\n        limit_req_status 503;\n"
            );
        }
        text += "limit_conn_zone $headroom_measured zone=headroom_in_flight:32k;\n";
        limits += &format!("        limit_conn headroom_in_flight {in_flight};\n");
    }
    if let Some(others) = limit.others {
        text += "limit_conn_zone all zone=headroom_service:32k;\n";
        limits += &format!(
            "        # All paths together. Streams and long polls take a place for as long: give them a location of their own.\n        \
             limit_conn headroom_service {};\n",
            others.fixed
        );
    }
    let scheme = if service.is_secure { "https" } else { "http" };
    let secure = if service.is_secure {
        format!("        proxy_ssl_server_name on;\n        proxy_ssl_name {};\n", quoted(&service.host))
    } else {
        String::new()
    };
    let proxied = format!(
        "        proxy_pass {scheme}://headroom_service;\n        proxy_http_version 1.1;\n        \
         proxy_set_header Connection \"\";\n        proxy_set_header Host {};\n        \
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n{secure}",
        if service.is_secure { quoted(&service.authority) } else { "$http_host".to_owned() }
    );
    text += &format!(
        "\nupstream headroom_service {{\n    server {server};\n    keepalive 64;\n}}\n\
         \nserver {{\n    listen {listen};\n\
         \n    location / {{\n{limits}        limit_conn_status 503;\n        \
         error_page 503 @headroom_shed;\n{proxied}    }}\n\
         \n    location @headroom_shed {{\n        \
         internal;\n        add_header Retry-After 1 always;\n        add_header Cache-Control no-store always;\n        \
         default_type text/plain;\n        return 503 \"at its limit, try again later\\n\";\n    }}\n}}\n",
        server = service.server(),
        listen = listen(),
    );
    text
}

/// The rate as nginx takes it, and what was lost.
fn rate(found: Rate) -> (String, String) {
    let per_second = found.per_second();
    if per_second.fract() == 0.0 && per_second >= 1.0 {
        return (format!("{per_second}r/s"), String::new());
    }
    let per_minute = (per_second * 60.0 + ROUNDING).floor().max(1.0);
    (format!("{per_minute}r/m"), format!("# {found}: nginx takes whole numbers only.\n"))
}

/// In quotes where nginx could take a character for its own.
fn quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-~:@".contains(c)) {
        return text.to_owned();
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// A path with a segment of two dots, however it is spelt, unchanged.
const DOTS: &str = r"~*^[^?]*([/\\]|%2f|%5c)(\.|%2e)(\.|%2e)([/\\;?]|%2f|%5c|%3b|$)";

/// A rate that is whole a minute is not whole in binary.
const ROUNDING: f64 = 1e-6;
