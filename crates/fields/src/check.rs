//! Checks for files of every kind: a word, a bound, a name of the same file.

use crate::problem::Place;
use crate::suggest::suggestion;
use crate::table::{At, Names, Report};
use crate::value::{Count, Text};

/// One of a few words; the first where the key is absent or wrong.
pub fn word<T: Copy>(at: Option<&At<Text>>, words: &[(&str, T)], report: &mut Report) -> T {
    let Some(At { value: Text(found), place }) = at else { return words[0].1 };
    match words.iter().find(|(word, _)| word == found) {
        Some((_, value)) => *value,
        None => {
            let help = suggestion(found, words.iter().map(|(word, _)| *word));
            report.wrong(place, format!("unknown value `{found}`"), "this value", help);
            words[0].1
        }
    }
}

/// A count within bounds; outside, the report gets a problem with the usual value.
pub fn between(at: &At<Count>, least: u32, most: u32, usual: &str, report: &mut Report) -> u32 {
    let found = at.value.0;
    if !(least..=most).contains(&found) {
        let message = format!("{found} is outside {least} to {most}");
        report.wrong(&at.place, message, "outside the bounds", usual.to_owned());
    }
    found
}

/// The index of a name, or a problem with a suggestion.
pub fn find<T>(names: &Names<T>, kind: &str, wanted: &At<Text>, report: &mut Report) -> Option<usize> {
    let found = names.position(&wanted.value.0);
    if found.is_none() {
        let help = suggestion(&wanted.value.0, names.iter().map(|named| named.name.as_str()));
        report.wrong(&wanted.place, format!("unknown {kind} `{}`", wanted.value.0), "not in this file", help);
    }
    found
}

/// The place of an optional key, or of its table if it is absent.
pub fn place_or<'a, T>(key: Option<&'a At<T>>, table: &'a Place) -> &'a Place {
    key.map_or(table, |at| &at.place)
}
