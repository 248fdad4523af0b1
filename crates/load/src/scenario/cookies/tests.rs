use super::super::url::split;
use super::*;
use proptest::prelude::*;

const DATE: &[u8] = b"Sat, 21 Nov 2026 12:00:00 GMT";

fn set(jar: &mut Jar, url: &str, line: &str) {
    let (origin, path) = split(url).unwrap();
    jar.set(Timestamp::from_secs(100), &origin, path, line.as_bytes(), Some(DATE));
}

fn sent(jar: &Jar, at_s: u64, url: &str) -> String {
    let (origin, path) = split(url).unwrap();
    let mut out = Vec::new();
    jar.write(Timestamp::from_secs(at_s), &origin, path, &mut out);
    String::from_utf8(out).unwrap().trim_end().trim_start_matches("Cookie: ").to_owned()
}

#[test]
fn a_cookie_goes_where_it_belongs() {
    for (line, url, expected) in [
        // Host only, unless it names a domain.
        ("a=b", "http://shop.example.com/x/z", "a=b"),
        ("a=b", "http://www.shop.example.com/x/z", ""),
        ("a=b; Domain=.Example.com", "http://other.example.com/x/z", "a=b"),
        ("a=b; Domain=example.com", "http://badexample.com/x/", ""),
        ("a=b; Domain=other.com", "http://other.com/x/", ""),
        ("a=b; Domain=com", "http://shop.example.com/x/", ""),
        // The folder of the request, unless it names a path.
        ("a=b", "http://shop.example.com/x", "a=b"),
        ("a=b", "http://shop.example.com/", ""),
        ("a=b", "http://shop.example.com/xy", ""),
        ("a=b; Path=/", "http://shop.example.com/q?r", "a=b"),
        ("a=b; Path=/x/", "http://shop.example.com/x/y", "a=b"),
        ("a=b; Path=no", "http://shop.example.com/x/y", "a=b"),
        ("a=b; Secure; HttpOnly; SameSite=Lax", "http://shop.example.com/x/", ""),
        ("a=b; Secure", "https://shop.example.com/x/", "a=b"),
        (" a = b c ; Path=/", "http://shop.example.com/", "a=b c"),
        ("=b", "http://shop.example.com/x/", ""),
        ("novalue", "http://shop.example.com/x/", ""),
        ("a=", "http://shop.example.com/x/", "a="),
        ("a=b\r\nX: y", "http://shop.example.com/x/", ""),
    ] {
        let mut jar = Jar::default();
        set(&mut jar, "http://shop.example.com/x/y?z", line);
        assert_eq!(sent(&jar, 101, url), expected, "{line} {url}");
    }
}

#[test]
fn a_cookie_expires_as_it_says() {
    let url = "http://127.0.0.1/";
    for (line, at_s, expected) in [
        ("a=b; Max-Age=10", 109, "a=b"),
        ("a=b; Max-Age=10", 110, ""),
        ("a=b; Max-Age=-1", 100, ""),
        ("a=b; Max-Age=99999999999999999999", 1_000_000, "a=b"),
        ("a=b; Max-Age=x", 1_000_000, "a=b"),
        // Relative to the date of the response.
        ("a=b; Expires=Sat, 21 Nov 2026 12:00:10 GMT", 109, "a=b"),
        ("a=b; expires=Sat, 21-Nov-26 12:00:10 GMT", 110, ""),
        ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT", 100, ""),
        ("a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5", 104, "a=b"),
        ("a=b; Expires=soon", 1_000_000, "a=b"),
    ] {
        let mut jar = Jar::default();
        set(&mut jar, url, line);
        assert_eq!(sent(&jar, at_s, url), expected, "{line} {at_s}");
    }
}

#[test]
fn without_a_date_only_an_expiry_long_ago_means_something() {
    let (origin, path) = split("http://127.0.0.1/").unwrap();
    for (expires, expected) in
        [("Sat, 21 Nov 2026 12:00:00 GMT", "a=b"), ("Thu, 01 Jan 1970 00:00:00 GMT", "")]
    {
        let mut jar = Jar::default();
        let line = format!("a=b; Expires={expires}");
        jar.set(Timestamp::ZERO, &origin, path, line.as_bytes(), None);
        assert_eq!(sent(&jar, 1_000_000, "http://127.0.0.1/"), expected);
    }
}

#[test]
fn a_later_cookie_replaces_or_deletes_the_same_one() {
    let url = "http://127.0.0.1/a/b";
    let mut jar = Jar::default();
    set(&mut jar, url, "a=1; Path=/");
    set(&mut jar, url, "b=2; Path=/a");
    set(&mut jar, url, "c=3; Path=/");
    assert_eq!(sent(&jar, 101, url), "b=2; a=1; c=3", "longer paths first, then older ones");
    set(&mut jar, url, "a=9; Path=/");
    set(&mut jar, url, "c=; Path=/; Max-Age=0");
    assert_eq!(sent(&jar, 101, url), "b=2; a=9");
}

#[test]
fn the_jar_is_bounded() {
    let mut jar = Jar::default();
    for index in 0..500 {
        set(&mut jar, "http://127.0.0.1/", &format!("a{index}=b"));
    }
    set(&mut jar, "http://127.0.0.1/", &format!("big={}", "x".repeat(COOKIE_BYTES_MAX)));
    assert_eq!(jar.0.len(), COOKIES_MAX);
    assert!(sent(&jar, 101, "http://127.0.0.1/").ends_with("a499=b"), "the oldest go first");
}

proptest! {
    #[test]
    fn no_line_panics_or_breaks_out_of_its_header(line in any::<Vec<u8>>(), date in any::<Vec<u8>>()) {
        let (origin, path) = split("http://127.0.0.1/").unwrap();
        let mut jar = Jar::default();
        jar.set(Timestamp::ZERO, &origin, path, &line, Some(&date));
        let mut out = Vec::new();
        jar.write(Timestamp::ZERO, &origin, path, &mut out);
        let breaks = out.iter().filter(|byte| matches!(byte, b'\r' | b'\n')).count();
        prop_assert!(breaks == 0 || breaks == 2 && out.ends_with(b"\r\n"));
    }
}
