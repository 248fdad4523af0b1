//! The cases that ship with headroom.

/// A case: its name, and its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// As `--case` knows it.
    pub name: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),*) => {
        /// All of them.
        pub const SHIPPED: &[Shipped] = &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../../../../cases/", $name, ".yaml")),
        }),*];
    };
}
shipped!("accounts", "demo-fleet", "five-million", "ngin", "search-cgi", "stresstest");

/// The case of a name.
pub fn shipped(name: &str) -> Option<Shipped> {
    SHIPPED.iter().find(|case| case.name == name).copied()
}

/// Their names and what they are about, a line each.
pub fn list() -> String {
    let widest = SHIPPED.iter().map(|case| case.name.len()).max().unwrap_or(0);
    SHIPPED.iter().map(|case| format!("  {:widest$}  {}\n", case.name, about(case.text))).collect()
}

/// The value of `about:`, which is one line or a folded block.
fn about(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("about:"));
    let first = lines.next().map_or("", |line| line.trim_start_matches("about:").trim());
    if !first.starts_with('>') {
        return first.trim_matches(['"', '\'']).to_owned();
    }
    let block = lines.take_while(|line| line.starts_with(' ')).map(str::trim);
    block.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::case::{Given, parse};
    use std::path::Path;

    #[test]
    fn every_shipped_case_is_valid_and_says_what_it_is_about() {
        for Shipped { name, text } in SHIPPED {
            let case = parse(name, text, Path::new(""), Given::default());
            let case = case.unwrap_or_else(|problems| panic!("{}", problems.plain()));
            assert_eq!(case.name, *name);
            assert_eq!(case.about, about(text), "{name}");
            assert!(case.rows.iter().any(|row| row.reported.is_none()), "{name} requires nothing");
        }
    }
}
