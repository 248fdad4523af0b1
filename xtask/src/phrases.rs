//! Phrases that stood in help texts, messages and comments and that nobody outside this project would write, each with the
//! words to use. The list grows: a phrase that a reader stumbles over is mended and added.

/// A phrase in lower case, and what to write instead.
const PHRASES: [(&str, &str); 15] = [
    ("a quantile means ", "quantiles are not meaningful"),
    ("acts up", "fails; as a heading: Troubleshooting"),
    ("also such that ", "including"),
    ("are not said", "are omitted"),
    ("as it was told", "on request"),
    ("conforms to nothing", "counts as a miss"),
    ("has nobody before", "is first"),
    ("leaves nobody", "requires, conflicts with"),
    ("lets nobody", "rejects every request"),
    ("so many days", "number of days"),
    ("stands twice", "duplicate"),
    ("tells how it is", "exposes its status"),
    ("the other way round", "vice versa"),
    ("who waits", "the requests that wait"),
    ("whose first byte", "time to first byte"),
];

/// Names the lines that have one.
pub fn check(path: &str, text: &str, wrong: &mut Vec<String>) {
    let is_text = [".rs", ".md", ".yaml"].iter().any(|ending| path.ends_with(ending));
    if !is_text || path.ends_with("xtask/src/phrases.rs") {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        let lower = line.to_lowercase();
        for (phrase, instead) in PHRASES.iter().filter(|(phrase, _)| lower.contains(phrase)) {
            wrong.push(format!("{path}:{}: `{}`: write `{instead}`", index + 1, phrase.trim()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_named_with_its_line_and_the_words_to_use() {
        let mut wrong = Vec::new();
        check("docs/a.md", "one\nThe key Stands twice here.\n", &mut wrong);
        check("data.csv", "stands twice", &mut wrong);
        assert_eq!(wrong, ["docs/a.md:2: `stands twice`: write `duplicate`"]);
    }

    #[test]
    fn phrases_are_in_lower_case_and_in_order() {
        assert!(PHRASES.is_sorted());
        assert!(PHRASES.iter().all(|(phrase, _)| phrase.to_lowercase() == *phrase));
    }
}
