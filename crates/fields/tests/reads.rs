//! A file of an unknown kind: its tables, all of its problems, and its schema.

use fields::{At, Count, Names, Needed, Problems, Report, Span, Text, between, read_tables, tables, word};

tables! {
    /// A shelf.
    Shelf {
        /// How many places it has.
        places: Needed<At<Count>>,
        /// `wood` or `steel`. Default: wood.
        of: Option<At<Text>>,
        /// Boxes by name.
        boxes: Option<Names<Crate>>,
    }

    /// A box.
    Crate {
        /// For how long it stays.
        stays: At<Span>,
    }
}

fn wrong(text: &str) -> String {
    let mut report = Report::new("shelf.yaml", text);
    if let Some(shelf) = read_tables::<Shelf>(text, &mut report) {
        if let Some(places) = &shelf.places.0 {
            between(places, 1, 9, "3 is usual", &mut report);
        }
        word(shelf.of.as_ref(), &[("wood", 1), ("steel", 2)], &mut report);
        shelf.boxes.iter().flat_map(Names::iter).for_each(|named| assert!(!named.name.is_empty()));
    }
    Problems::of(report.problems).map(|problems| problems.plain()).unwrap_or_default()
}

#[test]
fn a_file_without_a_mistake_has_no_problem() {
    assert_eq!(wrong("places: 3\nof: steel\nboxes: { books: { stays: 5m } }\n"), "");
}

#[test]
fn all_problems_are_told_in_the_order_of_the_file() {
    let text = "places: 12\nof: stele\nboxes: { books: { stays: long }, pens: { stay: 1s } }\n";
    assert_eq!(
        wrong(text),
        "shelf.yaml:1:9: error: `places`: 12 is outside 1 to 9\n  help: 3 is usual\n\
         shelf.yaml:2:5: error: `of`: unknown value `stele`\n  help: did you mean `steel`?\n\
         shelf.yaml:3:26: error: `boxes.books.stays`: expected a duration with its unit, found `long`\n  \
         help: write a duration with its unit, such as `50ms`, `10s` or `1m30s` (ns, us, ms, s, m, h, d)\n\
         shelf.yaml:3:42: error: `boxes.pens.stay`: unknown key `stay`\n  help: did you mean `stays`?\n"
    );
    assert!(wrong("of: steel\n").contains("`places` is missing"));
    assert!(wrong("places: [\n").contains("indent with spaces"));
}

#[test]
fn the_schema_has_the_descriptions_and_no_null() {
    let schema = fields::schema_of::<Shelf>("shelf");
    assert_eq!(schema["title"], "shelf");
    assert_eq!(schema["properties"]["of"]["description"], "`wood` or `steel`. Default: wood.");
    assert_eq!(schema["required"], serde_json::json!(["places"]));
    assert!(!schema.to_string().contains("null"));
}
