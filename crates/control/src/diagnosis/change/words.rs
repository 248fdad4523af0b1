//! Words of a command: its program, and the values of its options.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// An option with its value.
pub(super) struct Given {
    /// The words of both.
    place: Range<usize>,
    /// The value.
    pub(super) value: String,
    /// What is before the value in the same word.
    joined: String,
}

/// The place and the name of the program of a command: of the first known one among the first words, which may be an interpreter
/// and its options, else of the first word.
pub(super) fn program<'a>(words: &[String], known: impl Iterator<Item = &'a str> + Clone) -> (usize, String) {
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let found = words.iter().take(INTERPRETED).position(|word| {
        let name = name(word);
        known.clone().any(|known| !known.is_empty() && known == name)
    });
    // An interpreter runs its first argument.
    let script =
        || words.iter().take(2).position(|word| !INTERPRETERS.iter().any(|one| name(word).starts_with(one)));
    let place = found.or_else(script).unwrap_or(0);
    (place, words.get(place).map(|word| name(word)).unwrap_or_default())
}

/// The last one of these options, which is the one that holds: `-w 4`, `--workers=4`, `-w4`.
pub(super) fn given(words: &[String], names: &[&str]) -> Option<Given> {
    let of = |at: usize| {
        let word = &words[at];
        names.iter().find_map(|name| {
            let rest = word.strip_prefix(name)?;
            let short = name.len() == 2 && rest.starts_with(|first: char| first.is_ascii_digit());
            match rest.strip_prefix('=') {
                _ if rest.is_empty() => {
                    let value = words.get(at + 1)?.clone();
                    Some(Given { place: at..at + 2, value, joined: String::new() })
                }
                Some(value) => {
                    Some(Given { place: at..at + 1, value: value.to_owned(), joined: format!("{name}=") })
                }
                None if short => {
                    Some(Given { place: at..at + 1, value: rest.to_owned(), joined: (*name).to_owned() })
                }
                None => None,
            }
        })
    };
    (0..words.len()).rev().find_map(of)
}

/// The words with another value of an option.
pub(super) fn with(words: &[String], given: &Given, value: &str) -> Vec<String> {
    let mut changed = words.to_vec();
    changed[given.place.end - 1] = format!("{}{value}", given.joined);
    changed
}

/// The words with an option after the program.
pub(super) fn added(words: &[String], program: usize, option: [&str; 2]) -> Vec<String> {
    let mut changed = words.to_vec();
    let place = (program + 1).min(words.len());
    changed.splice(place..place, option.map(str::to_owned));
    changed
}

/// The words without some of them.
pub(super) fn without(words: &[String], place: Range<usize>) -> Vec<String> {
    let mut changed = words.to_vec();
    changed.drain(place);
    changed
}

/// A program is one of so many first words: `python3 -X dev -m gunicorn`.
const INTERPRETED: usize = 5;
/// Beginnings of the names of interpreters.
const INTERPRETERS: [&str; 4] = ["python", "ruby", "bundle", "node"];
