//! nginx: `limit_req` and `limit_conn`.
//!
//! Sources: ngx_http_limit_req_module and ngx_http_limit_conn_module of the nginx documentation. Rates are whole numbers
//! a second or a minute; a key that is empty is not limited, so the key is a constant.

use super::{Limit, comment, decoded, listen};

pub(super) fn text(limit: &Limit) -> String {
    let mut text = limit.head("nginx");
    text += &comment(
        "",
        "Put it where nginx includes files into http { }, such as /etc/nginx/conf.d/headroom.conf, and check it with\n\
         `nginx -t`. In a server of your own, only the lines with limit_ are needed.\n\
         \n\
         What nginx cannot do of this:\n\
         - limit only while responses are late: the rate holds always, also where the service could do more\n\
         - wait for a place in flight: limit_conn refuses at once\n\
         - wait at most so long: a request waits for its turn as long as the burst takes\n\
         - tell what was shed by which limit apart in its metrics: both answer 503",
    );
    let (rate, note) = rate(limit);
    let room = limit.room;
    // Of those above the rate, as many pass at once as may come at once; as many again wait.
    let (burst, at_once) = (2 * room - 1, room - 1);
    let delay = if at_once > 0 { format!(" delay={at_once}") } else { String::new() };
    let scheme = if limit.is_secure() { "https" } else { "http" };
    let secure = if limit.is_secure() {
        format!("        proxy_ssl_server_name on;\n        proxy_ssl_name {};\n", quoted(&limit.origin.host))
    } else {
        String::new()
    };
    let proxied = format!(
        "        proxy_pass {scheme}://headroom_service;\n        proxy_http_version 1.1;\n        \
         proxy_set_header Connection \"\";\n        proxy_set_header Host {};\n        \
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n{secure}",
        if limit.is_secure() { quoted(&limit.origin.authority) } else { "$http_host".to_owned() }
    );
    text += &format!(
        "\n{note}limit_req_zone all zone=headroom_rate:32k rate={rate};\n\
         limit_conn_zone all zone=headroom_in_flight:32k;\n\
         \n\
         upstream headroom_service {{\n    server {server};\n    keepalive 64;\n}}\n\
         \n\
         server {{\n    listen {listen};\n\
         \n    location = {path} {{\n        \
         # Up to {room} may come at once, up to {room} more wait for their turn.\n        \
         limit_req zone=headroom_rate burst={burst}{delay};\n        \
         limit_req_status 503;\n        \
         limit_conn headroom_in_flight {in_flight};\n        \
         limit_conn_status 503;\n        \
         error_page 503 @headroom_shed;\n{proxied}    }}\n\
         \n    location @headroom_shed {{\n        \
         internal;\n        add_header Retry-After 1 always;\n        add_header Cache-Control no-store always;\n        \
         default_type text/plain;\n        return 503 \"at its limit, try again later\\n\";\n    }}\n\
         \n    # Not measured, so not limited.\n    location / {{\n{proxied}    }}\n}}\n",
        server = limit.server(),
        listen = listen(),
        path = quoted(&decoded(&limit.path)),
        in_flight = limit.limits.in_flight,
    );
    text
}

/// The rate as nginx takes it, and what was lost.
fn rate(limit: &Limit) -> (String, String) {
    let per_second = limit.limits.rate.per_second();
    if per_second.fract() == 0.0 && per_second >= 1.0 {
        return (format!("{per_second}r/s"), String::new());
    }
    let per_minute = (per_second * 60.0 + ROUNDING).floor().max(1.0);
    (format!("{per_minute}r/m"), format!("# {}: nginx takes whole numbers only.\n", limit.limits.rate))
}

/// In quotes where nginx could take a character for its own.
fn quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-~:@".contains(c)) {
        return text.to_owned();
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// A rate that is whole a minute is not whole in binary.
const ROUNDING: f64 = 1e-6;
