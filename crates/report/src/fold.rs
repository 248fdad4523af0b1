//! Text in lines of a width.

/// The text in lines of at most `width` characters, broken at spaces; a word that is longer than a line is broken too.
/// At least one line, which may be empty.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    lines(text.split(' '), width)
}

/// The same for numbers: a number stays with its unit, and only a list of them is broken, after its commas. The width
/// has room for the longest of them: [`longest_number`].
pub(crate) fn fold_numbers(text: &str, width: usize) -> Vec<String> {
    lines(numbers(text), width)
}

/// The length of the longest number of a list, with its unit and comma.
pub(crate) fn longest_number(text: &str) -> usize {
    numbers(text).map(|number| number.chars().count()).max().unwrap_or(0)
}

/// The numbers of a list, each with its comma.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(", ").map(|number| number.trim_end_matches(' '))
}

fn lines<'a>(words: impl Iterator<Item = &'a str>, width: usize) -> Vec<String> {
    let width = width.max(1);
    let length = |text: &str| text.chars().count();
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if width - length(line).min(width) > length(word) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                let mut rest = word;
                while let Some((end, _)) = rest.char_indices().nth(width) {
                    let (line, more) = rest.split_at(break_of(&rest[..end]));
                    lines.push(line.to_owned());
                    rest = more;
                }
                lines.push(rest.to_owned());
            }
        }
    }
    lines
}

/// Where a line of a long word ends: after the last separator, as in URLs, where that leaves at least half a line.
fn break_of(line: &str) -> usize {
    let after = line.rfind(['/', '?', '&', ',']).map(|place| place + 1);
    after.filter(|&place| place >= line.len() / 2).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_spaces() {
        assert_eq!(fold("one two three", 7), ["one two", "three"]);
        assert_eq!(fold("one two three", 6), ["one", "two", "three"]);
        assert_eq!(fold("one two three", usize::MAX), ["one two three"]);
        assert_eq!(fold("", 5), [""]);
    }

    #[test]
    fn no_line_is_wider_and_nothing_is_lost() {
        let text = "GET http://127.0.0.1:8080/päth?and=query of a long name";
        for width in 0..70 {
            let lines = fold(text, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width.max(1)), "{width}: {lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""), "{width}");
        }
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(fold_numbers("~155 ms, 4 above", 10), ["~155 ms,", "4 above"]);
        assert_eq!(fold_numbers("18.6 ms", 20), ["18.6 ms"]);
    }
}
