use super::*;
use std::time::Duration;

const LINE: &str = r#"192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] "GET /a?b=1 HTTP/1.1" 200 2326 "http://h/start" "Mozilla/5.0 (X11)""#;

fn parse(pattern: Pattern, line: &str) -> Result<Entry, String> {
    let entry = AccessLog::new(pattern).parse(line.as_bytes());
    entry.map(|entry| entry.expect("the line is not blank")).map_err(|fault| fault.on(1).to_string())
}

#[test]
fn the_combined_format_is_the_same_line_with_another_meaning_of_its_time() {
    let nginx = parse(nginx("combined").unwrap(), LINE).unwrap();
    let apache = parse(apache("combined").unwrap(), LINE).unwrap();
    assert_eq!(nginx.at.map(|at| (at.micros, at.edge)), Some((971_211_336_000_000, crate::Edge::End)));
    assert_eq!(apache.at.map(|at| (at.micros, at.edge)), Some((971_211_336_000_000, crate::Edge::Start)));
    for entry in [nginx, apache] {
        assert_eq!((entry.method.as_str(), entry.url.as_str()), ("GET", "/a?b=1"));
        assert_eq!(
            (entry.status, entry.bytes, entry.user.as_deref()),
            (Some(200), Some(2_326), Some("192.0.2.7"))
        );
        let headers: Vec<_> =
            entry.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("Referer", "http://h/start"), ("User-Agent", "Mozilla/5.0 (X11)")]);
    }
}

#[test]
fn a_directive_of_the_configuration_can_be_pasted() {
    let directive = r#"log_format main '$remote_addr [$time_iso8601] "$request" $status '
        '$host $scheme rt=$request_time urt="$upstream_response_time" $msec "$http_x_forwarded_for"';"#;
    let line = r#"10.0.0.1 [2026-03-01T12:00:05+00:00] "POST /x HTTP/2.0" 502 shop.test https rt=0.250 urt="0.100, 0.125 : -" 1772366405.250 "198.51.100.4, 10.0.0.9""#;
    let entry = parse(nginx(directive).unwrap(), line).unwrap();
    assert_eq!(entry.url, "https://shop.test/x");
    assert_eq!(entry.user.as_deref(), Some("198.51.100.4"));
    assert_eq!(entry.response_time, Some(Duration::from_millis(250)));
    // The finer time counts.
    assert_eq!(entry.at.map(|at| (at.micros, at.whole_second)), Some((1_772_366_405_250_000, false)));
    let apache_directive = r#"LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O %D %T %{X-Id}i" vhost"#;
    let line =
        r#"shop.test:443 10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "PUT /y HTTP/1.1" 201 512 125000 0 abc"#;
    let entry = parse(apache(apache_directive).unwrap(), line).unwrap();
    assert_eq!(
        (entry.url.as_str(), entry.response_time),
        ("http://shop.test/y", Some(Duration::from_millis(125)))
    );
    assert_eq!(entry.headers, [("X-Id".to_owned(), "abc".to_owned())]);
}

#[test]
fn a_path_and_a_query_make_a_target() {
    let entry = parse(nginx("$request_method $uri?$args $status").unwrap(), "GET /a?b=c 200").unwrap();
    assert_eq!(entry.url, "/a?b=c");
    let entry = parse(apache("%m %U%q %s").unwrap(), "HEAD /a?b=c 200").unwrap();
    assert_eq!((entry.method.as_str(), entry.url.as_str()), ("HEAD", "/a?b=c"));
    let entry = parse(apache("%m %U %q %s").unwrap(), "GET /a  200").unwrap();
    assert_eq!(entry.url, "/a");
}

#[test]
fn escapes_of_both_servers_are_undone() {
    let line = r#"h - - [10/Oct/2000:13:55:36 -0700] "GET /q=\x22\xC3\xA4\x22 HTTP/1.1" 200 1 "-" "a \"b\" \\ \x09c""#;
    let entry = parse(apache("combined").unwrap(), line).unwrap();
    assert_eq!(entry.url, "/q=\"%C3%A4\"");
    assert_eq!(entry.headers, [("User-Agent".to_owned(), r#"a "b" \  c"#.to_owned())]);
    let json = nginx(r#"{"t":"$time_iso8601","r":"$request","ua":"$http_user_agent"}"#).unwrap();
    let line = r#"{"t":"2026-03-01T12:00:05Z","r":"GET / HTTP/1.1","ua":"say \"\u0041\""}"#;
    assert_eq!(parse(json, line).unwrap().headers[0].1, "say \"A\"");
}

#[test]
fn patterns_that_cannot_be_used_are_told() {
    let nginx = [
        "$remote_addr $status",
        "$request$status",
        "$ $request",
        "'$request",
        "${request",
        "log_format x '$request' oops",
    ];
    let apache = ["%h %s", "%r%s", "%r %y", "%{x", "%r %{%Y}t", "%400r", "%r %"];
    let told: Vec<_> = nginx
        .iter()
        .map(|text| super::nginx(text).unwrap_err())
        .chain(apache.iter().map(|text| super::apache(text).unwrap_err()))
        .map(|error| error.to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn broken_lines_are_told() {
    let lines = [
        LINE.split_once(" \"Mozilla").unwrap().0,
        &LINE.replace("GET /a?b=1 HTTP/1.1", r"\x16\x03\x01\x02"),
        &LINE.replace("GET /a?b=1 HTTP/1.1", "-"),
        &LINE.replace("Oct", "Okt"),
        &LINE.replace(" 200 ", " ok "),
        &LINE.replace(" 2326 ", " 23x "),
        &LINE.replace("] \"GET", " \"GET"),
        &format!("{LINE} and more"),
        "{}",
    ];
    let told = lines.map(|line| parse(nginx("combined").unwrap(), line).unwrap_err());
    insta::assert_snapshot!(told.join("\n"));
}
