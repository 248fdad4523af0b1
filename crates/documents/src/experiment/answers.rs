//! How the answers of candidates differ from those of the control, or of another service, in sentences.

use super::{Answers, Difference, Part};
use crate::words::{Rows, counted};
use report::{Tone, grouped};

/// `other` is the value with which the others are compared, in place of a control.
pub(super) fn rows(answers: &Answers, other: Option<&str>, rows: &mut Rows) {
    if !answers.wanted {
        return;
    }
    let whose = other.unwrap_or("the control");
    let mut name = "answers";
    let mut row = |text: String, rows: &mut Rows| rows.row(std::mem::take(&mut name), text);
    if answers.control_pairs < PAIRS_MIN && answers.differences.is_empty() {
        let text =
            format!("{} compared: too few to tell whether they differ", counted(answers.compared, "answer"));
        return row(text, rows);
    }
    let mut candidates: Vec<&str> = answers.differences.iter().map(|one| one.candidate.as_str()).collect();
    candidates.dedup();
    for candidate in candidates {
        let of_it = || answers.differences.iter().filter(|one| one.candidate == candidate);
        let what = if other.is_some() { "" } else { "candidate " };
        row(format!("DIFFERENT: {what}{candidate} does not answer as {whose} does"), rows);
        rows.stress_until(':', Tone::Bad);
        for difference in of_it().take(SHOWN) {
            rows.row("", format!("- {}", sentence(difference, other.unwrap_or("control"))));
        }
        if let Some(more) = of_it().count().checked_sub(SHOWN).filter(|more| *more > 0) {
            rows.row("", format!("- {} (--json has them)", counted(more as u64, "more difference")));
        }
    }
    if answers.differences.is_empty() {
        let text = format!("the same as those of {whose} in {} comparisons", grouped(answers.compared));
        row(text, rows);
    }
    // A field tells more than the size that changes with it.
    let field = answers.ignored.iter().find(|part| part.path.is_some());
    if let Some(first) = field.or(answers.ignored.first()) {
        let parts = counted(answers.ignored.len() as u64, "part");
        let (differ, are) = if answers.ignored.len() == 1 { ("differs", "is") } else { ("differ", "are") };
        let text = format!(
            "{parts} that {differ} between answers of {whose} too {are} ignored, such as {}",
            place(first)
        );
        row(text, rows);
    }
    if answers.undecided > 0 {
        let parts = counted(answers.undecided as u64, "part");
        row(format!("{parts} differed so rarely that it may be chance"), rows);
    }
    if !answers.complete {
        row("more parts differ than are listed".to_owned(), rows);
    }
}

fn sentence(difference: &Difference, other: &str) -> String {
    let Difference { route, what, path, count, of, examples, .. } = difference;
    let part = Part { route: route.clone(), what, path: path.clone() };
    let often = format!("({} of {})", grouped(*count), grouped(*of));
    let Some(example) = examples.first() else { return format!("{} {often}", place(&part)) };
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
    let (candidate, control) = (shown(&example.candidate), shown(&example.control));
    let values = if candidate == control {
        format!("other values of the form {control}")
    } else {
        format!("{candidate}, {other} {control}")
    };
    format!("{}: {values} {often}", place(&part))
}

fn place(part: &Part) -> String {
    let what = match (part.what, &part.path) {
        // The number of lines, which contains the lines.
        ("field", Some(path)) if path == "line" => "length".to_owned(),
        ("field", Some(path)) => path.clone(),
        (what, _) => what.replace('_', " "),
    };
    format!("{} {what}", part.route)
}

/// Differences of a candidate that are shown.
const SHOWN: usize = 5;
/// With fewer answers of the control, no difference can be told.
const PAIRS_MIN: u64 = 7;

#[cfg(test)]
mod tests {
    use super::super::Example;
    use super::*;
    use report::Terminal;

    fn text(answers: Answers) -> String {
        let mut all = Rows::default();
        rows(&Answers { wanted: true, complete: true, ..answers }, None, &mut all);
        all.text(Terminal { width: 110, colours: false })
    }

    fn difference(
        what: &'static str,
        path: Option<&str>,
        control: &str,
        candidate: Option<&str>,
    ) -> Difference {
        let example = Example { control: Some(control.to_owned()), candidate: candidate.map(str::to_owned) };
        Difference {
            candidate: "4".to_owned(),
            route: "/items".to_owned(),
            what,
            path: path.map(str::to_owned),
            count: 31,
            of: 40,
            examples: vec![example],
        }
    }

    #[test]
    fn differences_are_sentences_and_equal_answers_are_one() {
        let ignored = Part { route: "/items".to_owned(), what: "field", path: Some(".now".to_owned()) };
        let equal =
            Answers { compared: 1_200, control_pairs: 600, ignored: vec![ignored], ..Answers::default() };
        assert_eq!(
            text(equal.clone()),
            "answers    the same as those of the control in 1,200 comparisons\n\
             \x20          1 part that differs between answers of the control too is ignored, such as /items .now\n"
        );
        let differences = vec![
            difference("status", None, "200", Some("500")),
            difference("media_type", None, "text/html", Some("none")),
            difference("field", Some(".items[].price"), "99.9", Some("9")),
            difference("field", Some(".name"), "\"Aaa\"", None),
            difference("field", Some(".id"), "999", Some("999")),
            difference("size", None, "10 bytes", Some("11 bytes")),
        ];
        let lines = difference("field", Some("line"), "6 lines", Some("86 lines"));
        assert_eq!(sentence(&lines, "control"), "/items length: 86 lines, control 6 lines (31 of 40)");
        assert_eq!(
            text(Answers { differences, undecided: 2, ignored: Vec::new(), ..equal }),
            "answers    DIFFERENT: candidate 4 does not answer as the control does\n\
             \x20          - /items status: 500, control 200 (31 of 40)\n\
             \x20          - /items media type: none, control text/html (31 of 40)\n\
             \x20          - /items .items[].price: 9, control 99.9 (31 of 40)\n\
             \x20          - /items .name: absent, control \"Aaa\" (31 of 40)\n\
             \x20          - /items .id: other values of the form 999 (31 of 40)\n\
             \x20          - 1 more difference (--json has them)\n\
             \x20          2 parts differed so rarely that it may be chance\n"
        );
    }

    #[test]
    fn too_few_answers_say_nothing() {
        let few = Answers { compared: 3, control_pairs: 3, ..Answers::default() };
        assert_eq!(text(few.clone()), "answers    3 answers compared: too few to tell whether they differ\n");
        let mut all = Rows::default();
        rows(&Answers { wanted: false, ..few }, None, &mut all);
        assert!(all.into_rows().is_empty());
    }
}
