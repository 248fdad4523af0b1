//! Every format: good lines give the requests that their tools would send, broken ones are reported, nothing panics.

use flate2::{Compression, write::GzEncoder};
use import::{At, Edge, Entry, Format, LineError, Options, detect, open, read};
use proptest::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

fn options() -> Options {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/targets");
    Options { folder: Some(folder), ..Options::default() }
}

fn all(format: Format, text: impl AsRef<[u8]>) -> Vec<Result<Entry, LineError>> {
    read(format, text.as_ref(), &options()).expect("the format has requests").collect()
}

fn good(format: Format, text: impl AsRef<[u8]>) -> Vec<Entry> {
    all(format, text).into_iter().map(Result::unwrap).collect()
}

/// `GET /path [Name: value] body`, or the message.
fn told(items: impl IntoIterator<Item = Result<Entry, LineError>>) -> String {
    let line = |item: Result<Entry, LineError>| match item {
        Err(error) => error.to_string(),
        Ok(entry) => {
            let headers = entry.headers.iter().map(|(name, value)| format!(" [{name}: {value}]"));
            let body = String::from_utf8_lossy(&entry.body).escape_debug().to_string();
            format!("{} {}{} {body}", entry.method, entry.url, headers.collect::<String>())
        }
    };
    items.into_iter().map(line).map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn reads_vegeta_targets() {
    let text = "# two in a row\nGET http://h/1\nGET http://h/2\nX-A: b:c\n# between\nx-a: d\n\n\nPOST https://h/3\nContent-Type: application/json\n@body.json\n\nDELETE /4\r\nA: b\r\n\r\n PUT http://h/5";
    insta::assert_snapshot!(told(all(Format::Vegeta, text)));
}

#[test]
fn a_vegeta_target_that_is_wrong_is_left_out_whole() {
    let text = "GET\n\nget http://h/\nA: b\n\nGET http://h/a b\nA: b\n\nGET http://h/1\nno header\nA: b\n@body.json\n\nGET http://h/2\nBad Name: x\n\nGET http://h/3\n@missing.json\nGET http:///\n\nGET ftp://h/\n\nGET http://h/4\n@\n\nGET http://h/ok";
    insta::assert_snapshot!(told(all(Format::Vegeta, text)));
    let without = read(Format::Vegeta, &b"GET http://h/\n@body.json"[..], &Options::default()).unwrap();
    insta::assert_snapshot!("body_without_a_folder", told(without));
}

#[test]
fn reads_vegeta_json() {
    let text = r#"{"method":"POST","url":"http://h/","header":{"B":["2","3"],"A":["1"]},"body":"eyJhIjoxfQ=="}
{"method":"GET","url":"/x","header":null}

{"url":"http://h/"}
{"method":"GET","url":"http://h/","headers":{}}
{"method":"GET","url":"http://h/","body":"%%%"}
{"method":"GET","url":"http://h/ x"}
{"method":"G T","url":"http://h/"}
{"method":"GET","url":"http://h/","header":{"A":["x\r\nB: y"]}}
{"method":"GET","url":"http://h/","header":{"A":"x"}}
[1]
{"method":"GET","#;
    insta::assert_snapshot!(told(all(Format::VegetaJson, text)));
}

#[test]
fn reads_urls() {
    let text = "\u{feff}http://h/1\n# no\n\n  https://h:8443/2?a=b#c  \n/3\nHTTP://h\nhttp://h/ä\nwww.example.org\nhttp://\nhttp://h/a b\nmailto:x\n";
    insta::assert_snapshot!(told(all(Format::Urls, text)));
}

#[test]
fn reads_curl_as_people_type_it() {
    let text = r#"curl example.test
curl -sSL -XPUT https://h/1 -d a=1 -d b=2 --data-urlencode 'c=x y&z' --data-urlencode =ä --data-urlencode plain
curl -G 'https://h/2?x=1#top' -d a=1 --data-urlencode 'q=a b'
curl -I https://h/3 -u me:secret -A first -A agent -e http://from/ -b 'a=1' -b b=2
curl --json '{"a":1}' https://h/4 --oauth2-bearer tok
curl https://h/5 -H 'Content-Type: text/plain' -d hello -H 'X-Empty;' -H 'Content-Length: 5'
curl https://h/6 -d x -H 'Content-Type:' -o /dev/null -w '%{http_code}' -m5 -k
curl https://h/7a https://h/7b --data-binary @lines.txt
curl https://h/8 -d @lines.txt # a comment
$ curl https://h/9 -o x; /usr/bin/curl https://h/10 --url https://h/11
curl -d "two \"words\" \$5 \a" https://h/12 --data-raw @raw -- https://h/13
curl $'https://h/\u00e4\x21\041' -d $'a\'b\n\tc\\'
curl "https://h/long" \
  -H 'A: 1' \
  --data-raw 'line one
line two'\''s' \
  --compressed"#;
    insta::assert_snapshot!(told(all(Format::Curl, text)));
}

#[test]
fn reads_curl_as_browsers_copy_it() {
    let text = "curl 'https://shop.test/api' \\\r\n  -H 'accept: */*' \\\r\n  -H 'content-type: application/json' \\\r\n  -b 'id=1; theme=dark' \\\r\n  --data-raw $'{\"q\":\"it\\'s\\u0021\"}' \\\r\n  --compressed ;\r\ncurl 'https://shop.test/b' -H 'accept-encoding: gzip' --compressed";
    insta::assert_snapshot!(told(all(Format::Curl, text)));
}

#[test]
fn curl_commands_that_cannot_be_repeated_are_told() {
    let text = r#"wget http://h/
curl
curl http://h/ -F file=@x
curl http://h/ --dat x
curl http://h/ -y
curl http://h/ -X
curl http://h/ -X 'a b'
curl http://h/ | jq .
curl "http://h/$PATH"
curl http://h/`id`
curl http://h/ -H 'no colon'
curl http://h/ -b jar.txt
curl http://h/ -d @missing
curl ftp://h/
curl http://h/ -K conf \
  -H 'A: b'
curl http://h/ > out \
  -H 'A: b' \
  -H 'C: d'
curl "http://h/" ^
  -H "A: b"
curl http://h/ -H $'A: b\r\nC: d'
curl http://h/ok
curl 'http://h/ -H A
curl http://h/never"#;
    insta::assert_snapshot!(told(all(Format::Curl, text)));
}

/// Based on the examples of AWS's documentation, with other names and addresses.
const ALB: &str = r#"https 2026-03-01T12:00:05.250000Z app/shop/50dc6c495c0c9188 192.0.2.7:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://shop.test:443/a?b=c HTTP/1.1" "curl/8.5.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:x "Root=1-58337281" "shop.test" "arn:aws:y" 1 2026-03-01T12:00:05.079000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_1 "a new field"#;

#[test]
fn reads_alb_logs() {
    let entry = good(Format::Alb, ALB).remove(0);
    assert_eq!(entry.url, "https://shop.test/a?b=c");
    assert_eq!(entry.at, Some(At { micros: 1_772_366_405_079_000, whole_second: false, edge: Edge::Start }));
    assert_eq!(entry.response_time, Some(Duration::from_millis(171)));
    assert_eq!((entry.status, entry.bytes, entry.user.as_deref()), (Some(200), Some(57), Some("192.0.2.7")));
    // Without the time of creation, which was added later; a target that was never reached; IPv6; a WebSocket.
    let old = ALB.split(" ECDHE").next().unwrap();
    let old = old
        .replace("0.086 0.048 0.037 200 200", "-1 -1 -1 502 -")
        .replace("192.0.2.7:2817", "2001:db8::7:2817");
    let entry = good(
        Format::Alb,
        old.replacen("https", "ws", 1).replace("https://shop.test:443", "ws://shop.test:80"),
    )
    .remove(0);
    assert_eq!(entry.at.map(|at| at.edge), Some(Edge::End));
    assert_eq!((entry.status, entry.response_time), (Some(502), None));
    assert_eq!((entry.url.as_str(), entry.user.as_deref()), ("http://shop.test/a?b=c", Some("2001:db8::7")));
}

#[test]
fn broken_alb_lines_are_told() {
    let lines = [
        ALB.replacen("https", "tcp", 1),
        ALB.replacen("2026-03-01T12", "2026-03-01 12", 1),
        ALB.replace("GET https://shop.test:443/a?b=c HTTP/1.1", "- http://shop.test:80- -"),
        ALB.replace("0.048", "0,048"),
        ALB.replace(" 200 200 ", " 2000000 200 "),
        ALB.replace("2026-03-01T12:00:05.079000Z", "today"),
        ALB[..150].to_owned(),
        ALB[..180].to_owned(),
        "https".to_owned(),
    ];
    insta::assert_snapshot!(told(all(Format::Alb, lines.join("\n"))));
}

#[test]
fn broken_captures_are_told() {
    let text = r#"{"at_us":5,"method":"GET","url":"/a","headers":[["A","b"],["A","c"]],"body_base64":"aGk=","user":"7","later":true}
{"at_us":"5","method":"GET","url":"/a"}
{"method":"GET"}
{"method":"GET","url":"/a","body_base64":"a"}
{"method":"GET","url":"/a","headers":[["A"]]}
{"method":"GET","url":"/a","headers":[["A b","c"]]}
{"method":"GET","url":"a"}
{"method":"GET","url":"/cut"#;
    insta::assert_snapshot!(told(all(Format::Capture, text)));
}

#[test]
fn formats_are_known_by_their_first_telling_line() {
    let apache = r#"::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1"#;
    let nginx = format!("{apache} \"-\" \"agent\"");
    for (text, want) in [
        ("GET http://h/\n", Some(Format::Vegeta)),
        ("\u{feff}# targets\n\nPOST /x\nA: b", Some(Format::Vegeta)),
        (r#"{"method":"GET","url":"http://h/"}"#, Some(Format::VegetaJson)),
        (r#"{"at_us":1,"method":"GET","url":"/"}"#, Some(Format::Capture)),
        ("https://h/\nhttps://h/2", Some(Format::Urls)),
        ("curl 'http://h/' \\\n -H 'a: b'", Some(Format::Curl)),
        (ALB, Some(Format::Alb)),
        (apache, Some(Format::Apache)),
        (&nginx, Some(Format::Nginx)),
        ("minute_utc,requests\n1998-04-30 21:30:00,2\n", Some(Format::Traffic)),
        ("226166\n1796940\n", Some(Format::Traffic)),
        ("1772366400;5\n", Some(Format::Traffic)),
        ("hello world\n", None),
        ("{}", None),
        ("", None),
    ] {
        assert_eq!(detect(text.as_bytes()), want, "{text}");
    }
}

#[test]
fn names_of_formats_are_read_back_and_others_are_told() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let unknown = ["ngnix", "har"].map(|name| name.parse::<Format>().unwrap_err().to_string());
    let table = read(Format::Traffic, &b""[..], &options()).err().unwrap().to_string();
    insta::assert_snapshot!([&unknown[..], &[table]].concat().join("\n"));
}

#[test]
fn a_compressed_log_is_recognised_and_read() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    writeln!(encoder, "{ALB}\r\n{ALB}").unwrap();
    let bytes = encoder.finish().unwrap();
    let input = open(&bytes[..]).unwrap();
    let format = detect(&input.head).unwrap();
    let read: Vec<_> = read(format, input.text, &options()).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 2);
    // Truncated in the middle: the lines before are kept, and the end is reported.
    let cut = open(&bytes[..bytes.len() - 9])
        .map(|input| import::read(format, input.text, &options()).unwrap().filter(Result::is_err).count());
    assert!(matches!(cut, Err(_) | Ok(1)), "{cut:?}");
}

#[test]
fn a_line_over_the_bound_is_told_and_ends_what_it_broke() {
    let options = Options { limit: 30, ..options() };
    let text = format!("GET http://h/1\nA: {}\nB: c\n\nGET http://h/2\n", "x".repeat(1_000));
    insta::assert_snapshot!(told(read(Format::Vegeta, text.as_bytes(), &options).unwrap()));
    let text = "curl 'http://h/\nand no quote\never closes\nhere\ncurl http://h/ok\n";
    insta::assert_snapshot!(
        "an_endless_command",
        told(read(Format::Curl, text.as_bytes(), &options).unwrap())
    );
}

proptest! {
    #[test]
    fn no_bytes_panic_in_any_format(bytes: Vec<u8>, limit in 0_usize..100) {
        let options = Options { limit, folder: None, log_format: None };
        for format in Format::ALL {
            if let Ok(entries) = read(format, &bytes[..], &options) {
                entries.for_each(drop);
            }
        }
        detect(&bytes);
        if let Ok(input) = open(&bytes[..]) {
            detect(&input.head);
        }
    }

    #[test]
    fn no_mutilated_line_panics(which in 0_usize..9, at: prop::sample::Index, put in prop::collection::vec(any::<u8>(), 0..4), cut in 0_usize..6) {
        let lines = [
            ALB.to_owned(),
            r#"1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /\x22 HTTP/1.1" 200 1 "-" "a""#.to_owned(),
            r#"{"at_us":1,"method":"GET","url":"/","headers":[["a","b"]],"body_base64":"aGk=","response_us":5}"#.to_owned(),
            r#"{"method":"GET","url":"/","header":{"a":["b"]},"body":"aGk="}"#.to_owned(),
            "GET http://h/\nA: b\n@body.json".to_owned(),
            "curl -sXPOST \"http://h/\\\"\" -d $'\\u00e4\\x1' \\\n -H 'a: b' --data-urlencode a@lines.txt; curl x".to_owned(),
            "https://h/ä?x#y".to_owned(),
            "time,count\n2026-03-01 12:00:00,5".to_owned(),
            "1772366400.5;5".to_owned(),
        ];
        let mut bytes = lines[which].clone().into_bytes();
        let from = at.index(bytes.len());
        let to = (from + cut).min(bytes.len());
        bytes.splice(from..to, put);
        for format in Format::ALL {
            if let Ok(entries) = read(format, &bytes[..], &options()) {
                for entry in entries.flatten() {
                    // Every accepted input can be sent as one request.
                    prop_assert!(entry.url.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", entry.url);
                    let headers = entry.headers.iter().flat_map(|(name, value)| [name, value]);
                    prop_assert!(headers.into_iter().all(|text| !text.contains(['\r', '\n', '\0'])));
                }
            }
        }
        import::Rows::new(&bytes[..]).for_each(drop);
        detect(&bytes);
    }

    #[test]
    fn no_log_format_panics(text in "[$%{}<>!a-z'\" \\\\]{0,30}", line: Vec<u8>) {
        for format in [Format::Nginx, Format::Apache] {
            let options = Options { log_format: Some(text.clone()), ..Options::default() };
            if let Ok(entries) = read(format, &line[..], &options) {
                entries.for_each(drop);
            }
        }
    }
}
