//! Every kind of problem of a scenario file has its place, what was found, the bound and the way out.

use proptest::prelude::*;
use std::path::Path;

/// A valid file, in which parts are replaced.
const BASE: &str = "\
scenario: shop
base: http://127.0.0.1:8080
load: { rate: 100/s, duration: 1m }
variables: { region: eu }
headers: { Accept: text/html }
cookies: user
redirects: 2
flows:
  - name: browse
    weight: 3
    steps:
      - get: /products
        extract: { product: { json: /0/id } }
        check: [{ status: 200 }]
        think: 1s..3s
      - post: /cart
        json: { product: \"${product}\" }
thresholds:
  http_req_duration: ['p(95)<500ms']
";

fn parsed(text: &str, folder: &Path) -> Result<config::scenario::ScenarioFile, fields::Problems> {
    config::scenario::parse("scenario.yaml", text, folder, None)
}

/// The plain lines for each change of the valid file.
fn told_in(folder: &Path, changes: &[(&str, &str)]) -> String {
    let mut told = String::new();
    for (from, to) in changes {
        assert!(BASE.contains(from), "{from}");
        let text = BASE.replacen(from, to, 1);
        match parsed(&text, folder) {
            Ok(_) => panic!("accepted:\n{text}"),
            Err(problems) => told += &format!("--- {to}\n{}", problems.plain()),
        }
    }
    told
}

fn told(changes: &[(&str, &str)]) -> String {
    told_in(Path::new(""), changes)
}

#[test]
fn the_base_is_valid() {
    parsed(BASE, Path::new("")).unwrap_or_else(|problems| panic!("{problems}"));
}

#[test]
fn keys_and_words() {
    insta::assert_snapshot!(told(&[
        ("scenario: shop", "scenaro: shop"),
        ("extract:", "extrakt:"),
        ("get: /products", "gett: /products"),
        ("status: 200", "staus: 200"),
        ("cookies: user", "cookies: usr"),
        ("redirects: 2", "redirects: 51"),
        ("http_req_duration: ['p(95)<500ms']", "http_req_duration: [{ threshold: x, abortOnFail: true }]"),
        ("'p(95)<500ms'", "{ threshold: x, after: 10s }"),
        ("'p(95)<500ms'", "{ threshold: x, abort: maybe }"),
        ("['p(95)<500ms']", "[]"),
    ]));
}

#[test]
fn names_in_texts() {
    insta::assert_snapshot!(told(&[
        ("${product}", "${prodct}"),
        ("${product}", "${nothing.like.it}"),
        ("${product}", "${product"),
        ("${product}", "${random.int(3,1)}"),
        ("get: /products", "get: '/products/${product}'"),
        ("variables: { region: eu }", "variables: { product: eu }"),
        ("variables: { region: eu }", "variables: { uuid: eu }"),
        ("{ product: { json: /0/id } }", "{ 'a b': { json: /0/id }, product: { json: /1 } }"),
        ("text/html", "'${regoin}'"),
        // Within braces, YAML itself requires quotes.
        ("get: /products", "mix: [{ get: /products/${region} }]"),
    ]));
}

#[test]
fn requests() {
    insta::assert_snapshot!(told(&[
        ("base: http://127.0.0.1:8080\n", ""),
        ("base: http://127.0.0.1:8080", "base: 127.0.0.1:8080"),
        ("base: http://127.0.0.1:8080", "base: http://me@host/?q"),
        ("get: /products", "get: products"),
        ("get: /products", "get: /my products"),
        ("get: /products", "get: '/products/{id}'"),
        ("get: /products", "get: http://"),
        ("get: /products", "get: /products\n        put: /x"),
        ("get: /products", "name: nothing"),
        ("post: /cart", "post: /cart\n        body: x"),
        ("Accept: text/html", "'Acc ept': text/html"),
        ("Accept: text/html", "Content-Length: 5"),
        ("Accept: text/html", "cookie: a=b"),
        ("Accept: text/html", "Accept: \"a\\nb\""),
    ]));
}

#[test]
fn extraction_checks_and_waits() {
    insta::assert_snapshot!(told(&[
        ("json: /0/id", "json: 0.id"),
        ("json: /0/id", "json: /0/id, header: ETag"),
        ("{ json: /0/id }", "{}"),
        ("json: /0/id", "regex: '(a'"),
        ("json: /0/id", "regex: '(?<=a)b'"),
        ("status: 200", "status: 20"),
        ("status: 200", "status: [200, 2x]"),
        ("{ status: 200 }", "{ status: 200, within: 5s }"),
        ("{ status: 200 }", "{}"),
        ("status: 200", "within: 5"),
        ("status: 200", "size_max: big"),
        ("status: 200", "json: /a, equals: 5, contains: 6"),
        ("status: 200", "contains: '${region}'"),
        ("status: 200", "matches: '['"),
        ("think: 1s..3s", "think: 3s..1s"),
        ("think: 1s..3s", "think: {}"),
        ("think: 1s..3s", "think: { lognormal: { median: 2s, p95: 1s } }"),
    ]));
}

#[test]
fn flows_and_load() {
    insta::assert_snapshot!(told(&[
        ("weight: 3", "weight: 0"),
        ("  - name: browse", "  - { name: browse, steps: [{ get: / }] }\n  - name: browse"),
        ("  - name: browse", "  - { name: empty, steps: [] }\n  - name: browse"),
        ("post: /cart", "weight: 2\n        post: /cart"),
        ("      - post: /cart", "      - { mix: [], get: / }\n      - post: /cart"),
        (
            "      - post: /cart",
            "      - { mix: [{ get: /, weight: 0 }, { mix: [{ get: / }] }] }\n      - post: /cart"
        ),
        ("rate: 100/s", "rate: 100"),
        ("rate: 100/s", "rate: 0/s"),
        ("rate: 100/s", "rate: 100/s, users: 5"),
        ("rate: 100/s, duration: 1m", "users: 0"),
        ("rate: 100/s", "stages: ['30s:200/s']"),
        ("rate: 100/s, duration: 1m", "stages: ['30s:200/s', '30s:5']"),
        ("rate: 100/s, duration: 1m", "stages: ['30s', '0s:5']"),
        ("rate: 100/s, duration: 1m", "stages: []"),
    ]));
}

#[test]
fn data() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).unwrap();
    write("good.csv", b"name,email\nann,a@b\n");
    write("short.csv", b"name,email\nann,a@b\nbob\n");
    write("broken.ndjson", b"{\"a\":1}\n{\"a\" 1}\n");
    write("empty.csv", b"name\n");
    let data = |data: &str| format!("variables: {{ region: eu }}\ndata: {{ people: {data} }}");
    let used = |data: &str, name: &str| {
        format!("data: {{ people: {data} }}\nvariables: {{ r: eu }}\nheaders: {{ X: '${{{name}}}' }}\n#")
    };
    let changes = [
        ("variables: { region: eu }", data("{ file: none.csv }")),
        ("variables: { region: eu }", data("{ file: short.csv }")),
        ("variables: { region: eu }", data("{ file: broken.ndjson }")),
        ("variables: { region: eu }", data("{ file: empty.csv }")),
        ("variables: { region: eu }", data("{ file: good.xlsx }")),
        ("variables: { region: eu }", data("{ file: good.csv, order: shuffled }")),
        ("variables: { region: eu }", data("{ file: good.csv, order: random, on_end: stop }")),
        ("variables: { region: eu }\n", used("{ file: good.csv }", "people.emial")),
        // A problem of the data is reported once, and not again for each of its columns.
        ("variables: { region: eu }\n", used("{ file: none.csv }", "people.email")),
    ];
    let changes: Vec<(&str, &str)> = changes.iter().map(|(from, to)| (*from, to.as_str())).collect();
    insta::assert_snapshot!(told_in(folder.path(), &changes));
}

#[test]
fn all_problems_are_told_with_pictures() {
    let text = "# größe\nscenario: shop\nbase: nowhere\nload: { rate: 5/fortnight }\nflows:\n  - name: a\n    \
                steps:\n      - { get: '/${prodct}', check: [{ status: 99 }] }\n      - { post: /x, thnk: 1s }\n";
    let pictures: String = match parsed(text, Path::new("")) {
        Ok(_) => panic!("accepted"),
        Err(problems) => problems.iter().map(fields::Problem::monochrome).collect(),
    };
    insta::assert_snapshot!(pictures);
}

proptest! {
    #[test]
    fn no_change_of_a_valid_file_panics(
        at in 0..BASE.len(),
        len in 0_usize..30,
        word in "(\\$\\{[a-z.(),0-9]{0,9}\\}?|mix: |- |: |[{}\\[\\]]|\n +|steps:|check:|[a-zö0-9/]{1,9}){0,4}",
    ) {
        let end = (at + len).min(BASE.len());
        let text = format!("{}{word}{}", &BASE[..at], &BASE[end..]);
        if let Err(problems) = parsed(&text, Path::new("nowhere")) {
            prop_assert!(!problems.graphical().is_empty());
        }
    }
}
