use super::super::feed::{OnEnd, Order};
use super::*;
use proptest::prelude::*;
use stats::Rng;

fn feeds() -> Vec<Feed> {
    vec![Feed::csv("people", b"name,age\nJo \"X\"&\xc3\xb6,7\n", Order::InOrder, OnEnd::Repeat).unwrap()]
}

fn scope(feeds: &[Feed]) -> Scope<'_> {
    Scope {
        variables: [("region".to_owned(), "eu west".to_owned())].into(),
        feeds,
        extracted: [("cart".to_owned(), 0), ("gone".to_owned(), 1)].into(),
    }
}

fn rendered(text: &str, place: Place) -> Result<String, Unrendered> {
    let feeds = feeds();
    let template = Template::compile(text, place, &scope(&feeds)).unwrap();
    let slots = [Some(Value::json("7")), None];
    let values = Values { feeds: &feeds, rows: &[0], slots: &slots, user: 3, iteration: 4, arrival: 5 };
    let mut out = Vec::new();
    template.render(&values, &mut Rng::new(1, "test"), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn each_place_escapes_in_its_own_way() {
    for (text, place, expected) in [
        ("/a/${region}?q=x&y", Place::Url, "/a/eu%20west?q=x&y"),
        ("/a/${people.name}", Place::Url, "/a/Jo%20%22X%22&%C3%B6"),
        ("a b=${people.name}", Place::Form, "a+b%3DJo+%22X%22%26%C3%B6"),
        ("\"${people.name}\"", Place::JsonText, "\\\"Jo \\\"X\\\"&ö\\\""),
        ("${people.name}", Place::JsonValue, "\"Jo \\\"X\\\"&ö\""),
        // A number in a response stays a number; a column of a CSV file is a string.
        ("${cart}", Place::JsonValue, "7"),
        ("${people.age}", Place::JsonValue, "\"7\""),
        ("${cart}", Place::Raw, "7"),
        ("${user} ${ iteration } ${arrival}", Place::Raw, "3 4 5"),
        ("$${user} $ $$ ${user}", Place::Raw, "${user} $ $$ 3"),
    ] {
        assert_eq!(rendered(text, place).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_was_not_extracted_is_missing() {
    assert_eq!(rendered("${gone}", Place::Raw), Err(Unrendered::Missing(1)));
}

#[test]
fn random_numbers_keep_their_bounds_and_uuids_their_form() {
    for _ in 0..50 {
        let text = rendered("${random.int(-2, 3)} ${random.int(5,5)} ${uuid}", Place::Raw).unwrap();
        let parts: Vec<&str> = text.split(' ').collect();
        assert!((-2..=3).contains(&parts[0].parse::<i64>().unwrap()));
        assert_eq!(parts[1], "5");
        assert_eq!(parts[2].len(), 36);
        assert_eq!(&parts[2][14..15], "4");
        assert!("89ab".contains(&parts[2][19..20]));
    }
    let widest = format!("${{random.int({},{})}}", i64::MIN, i64::MAX);
    assert!(rendered(&widest, Place::Raw).unwrap().parse::<i64>().is_ok());
}

#[test]
fn a_placeholder_that_means_nothing_is_named_with_its_place() {
    let feeds = feeds();
    let told = |text: &str| Template::compile(text, Place::Raw, &scope(&feeds)).unwrap_err();
    assert_eq!(told("ab ${crat} c"), TemplateError::Unknown { name: "crat".into(), at: 3..10 });
    assert_eq!(told("ö${x"), TemplateError::Unclosed { at: 2..5 });
    for text in ["${random.int(2,1)}", "${random.int}", "${random.int(1,x)}", "${random.int(1,2}"] {
        assert!(matches!(told(text), TemplateError::Random { .. }), "{text}");
    }
}

#[test]
fn a_line_break_never_reaches_a_header() {
    let scope = Scope { extracted: [("x".to_owned(), 0)].into(), ..Scope::default() };
    let template = Template::compile("A: ${x}\r\n", Place::Header, &scope).unwrap();
    for (value, ok) in [("plain", true), ("a\r\nB: c", false), ("a\0", false)] {
        let slots = [Some(Value::text(value.to_owned()))];
        let values = Values { feeds: &[], rows: &[], slots: &slots, user: 0, iteration: 0, arrival: 0 };
        let outcome = template.render(&values, &mut Rng::new(1, "test"), &mut Vec::new());
        assert_eq!(outcome.is_ok(), ok, "{value:?}");
    }
}

proptest! {
    #[test]
    fn an_escaped_text_renders_to_itself(text in prop_oneof![any::<String>(), "[${}a]{0,12}"]) {
        let escaped = text.replace("${", "$${");
        let template = Template::compile(&escaped, Place::Raw, &Scope::default()).unwrap();
        prop_assert_eq!(template.as_fixed(), Some(text.as_bytes()));
    }

    #[test]
    fn a_value_comes_back_out_of_the_text_that_holds_it(value in any::<String>()) {
        let scope = Scope { extracted: [("x".to_owned(), 0)].into(), ..Scope::default() };
        let slots = [Some(Value::text(value.clone()))];
        let values = Values { feeds: &[], rows: &[], slots: &slots, user: 0, iteration: 0, arrival: 0 };
        let render = |text: &str, place| {
            let mut out = Vec::new();
            let template = Template::compile(text, place, &scope).unwrap();
            template.render(&values, &mut Rng::new(1, "test"), &mut out).unwrap();
            out
        };
        let quoted: String = serde_json::from_slice(&render("${x}", Place::JsonValue)).unwrap();
        prop_assert_eq!(&quoted, &value);
        let raw = render("<${x}>", Place::Raw);
        prop_assert_eq!(raw, format!("<{value}>").into_bytes());
        let url = render("/${x}", Place::Url);
        prop_assert!(url.iter().all(|byte| byte.is_ascii_graphic()));
    }

    #[test]
    fn no_text_panics(text in "[${}a.(), 0-9-]{0,30}") {
        let _ = Template::compile(&text, Place::Url, &Scope::default());
    }
}
