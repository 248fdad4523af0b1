//! Phrases that stood in help texts, messages and comments and that nobody outside this project would write, each with the
//! words to use. The list grows: a phrase that a reader stumbles over is mended and added.

/// A phrase in lower case, and what to write instead.
const PHRASES: [(&str, &str); 91] = [
    ("a hair above", "slightly above"),
    ("a hair below", "slightly below"),
    ("a quantile means ", "quantiles are not meaningful"),
    ("acts up", "fails; as a heading: Troubleshooting"),
    ("after so long", "after this time"),
    ("also such that ", "including"),
    ("and the reader is told", "which headroom reports"),
    ("answered well", "with a good response"),
    ("are not said", "are omitted"),
    ("are to be had", "are available"),
    ("are told at once", "are reported together"),
    ("as it came", "unchanged"),
    ("as it was told", "on request"),
    ("as unkind as", "with faults of every kind"),
    ("asked for anew", "requested again"),
    ("begin anew", "start again"),
    ("begins anew", "starts again"),
    ("brings along", "has, sends"),
    ("brings home", "returns"),
    ("by its own word", "by its own header"),
    ("by so many", "by this many"),
    ("cannot be had", "is not available"),
    ("come to the same", "give the same result"),
    ("comes again with", "is repeated with"),
    ("conforms to nothing", "counts as a miss"),
    ("everything that is wrong", "all problems"),
    ("for so long", "for this long"),
    ("gives its place", "releases its slot"),
    ("goes on with", "continues with"),
    ("good answer", "good response"),
    ("has exactly one fate", "is counted exactly once"),
    ("has had enough", "times out"),
    ("has nobody before", "is first"),
    ("hears of", "is notified of"),
    ("his turn", "its turn"),
    ("in the words of another", "in the format of another"),
    ("is no json", "is not JSON"),
    ("is no yaml", "is not YAML"),
    ("is to be had", "is available"),
    ("is told of", "gets, is notified of"),
    ("leaves nobody", "requires, conflicts with"),
    ("leaves to taste", "does not prescribe"),
    ("let go of", "release, drop, close"),
    ("lets go of", "releases, drops, closes"),
    ("lets nobody", "rejects every request"),
    ("loading strangers", "sending load to hosts of others"),
    ("lose their breath", "slow down"),
    ("may be believed", "can be trusted"),
    ("nobody answers", "nothing responds"),
    ("nobody listens", "has no listener"),
    ("nobody waits", "no request waits"),
    ("of its own accord", "without a request, by itself"),
    ("on its way to", "being sent to, in transit to"),
    ("run goes on", "run continues"),
    ("said once", "reported once"),
    ("since this was last asked", "since the last call"),
    ("skips out loud", "reports that it was skipped"),
    ("so many a second", "requests a second"),
    ("so many days", "number of days"),
    ("somebody waits", "a request waits"),
    ("speaks against", "is available, unless"),
    ("stands beside", "is separate from, is next to"),
    ("stands in front of", "runs in front of"),
    ("stands in the file", "is in the file"),
    ("stands twice", "duplicate"),
    ("talk nonsense", "send invalid data"),
    ("talks nonsense", "sends invalid data"),
    ("teaches nothing", "gives no information"),
    ("tells how it is", "exposes its status"),
    ("the other way round", "vice versa"),
    ("torn apart", "split"),
    ("turned away", "refused"),
    ("vouch for themselves", "are self-signed"),
    ("vouches for itself", "is self-signed"),
    ("walk through a scenario", "execute a scenario"),
    ("walks through a scenario", "executes a scenario; iterations"),
    ("what becomes of", "the outcome of, the result of"),
    ("what came of", "the outcome of, the result of"),
    ("what is asked for", "the requested value"),
    ("what strangers send", "untrusted input"),
    ("what the system said", "the system's error"),
    ("where it stands", "its place"),
    ("who gets", "which request gets"),
    ("who is at it", "the requests in progress"),
    ("who is next", "the next request"),
    ("who may wait", "which requests may wait"),
    ("who waits", "the requests that wait"),
    ("whoever watches", "observers"),
    ("whose first byte", "time to first byte"),
    ("within so long", "within this time"),
    ("works as told", "works as configured"),
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
