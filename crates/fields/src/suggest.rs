//! "Did you mean": the known name that is closest to the written one.

/// A sentence with the closest name, or with all if none is close.
pub fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match closest(found, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "none is defined: define it, or remove this".to_owned(),
        None => {
            format!("known: {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The closest known name, if one is close.
pub fn closest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().filter(|name| close(found, name)).min_by_key(|name| distance(found, name))
}

/// Whether one may be a misspelling of the other: up to a third of the letters may differ.
pub fn close(found: &str, known: &str) -> bool {
    distance(found, known) * 3 <= known.chars().count().max(3)
}

fn distance(found: &str, known: &str) -> usize {
    strsim::damerau_levenshtein(&found.to_lowercase(), &known.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{closest, suggestion};

    #[test]
    fn names_the_closest_or_all() {
        assert_eq!(suggestion("instnaces", ["instances", "idle_timeout"]), "did you mean `instances`?");
        assert_eq!(
            suggestion("Search Timer", ["Search timer", "Search limit"]),
            "did you mean `Search timer`?"
        );
        assert_eq!(suggestion("zzz", ["rate", "burst"]), "known: `rate`, `burst`");
        assert_eq!(closest("zzz", ["rate", "burst"]), None);
        assert_eq!(suggestion("x", []), "none is defined: define it, or remove this");
    }
}
