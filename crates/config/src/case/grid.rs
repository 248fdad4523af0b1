//! Grids: one stage with every combination of the values of some keys.
//!
//! A value takes the place of the key's value in the tree of the stage, so it is read and checked like the key itself,
//! and a message shows the line of the key that was varied.

use super::Tree;
use super::tree::{Absent, path_of, set};
use fields::{Problem, Report, suggestion};
use std::str::FromStr;
use thiserror::Error;
use yaml::Kind;

/// A key of a case, and the values that it takes in turn: `services.shop.instances=2,4,8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vary {
    /// The path of the key, such as `services.shop.hosts.node.cores` or `services.shop.failures[0].every`.
    pub key: String,
    /// The values as in the file; at least one. `~` removes the key.
    pub values: Vec<String>,
}

/// Keys that are varied, and the stage that they are varied in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grid {
    /// The name of the stage; none: the first.
    pub stage: Option<String>,
    /// The keys.
    pub keys: Vec<Vary>,
}

/// Why a text is not a key with values.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotVary {
    /// Not of the form.
    #[error("expected KEY=VALUE,VALUE, such as services.shop.instances=2,4,8")]
    Form,
    /// Not a value of YAML.
    #[error("`{0}` is not a YAML value; write lists as [a, b] and mappings as {{ key: value }}")]
    Value(String),
}

impl FromStr for Vary {
    type Err = NotVary;

    fn from_str(text: &str) -> Result<Self, NotVary> {
        let (key, values) = text.split_once('=').ok_or(NotVary::Form)?;
        let values: Vec<String> =
            separated(values).into_iter().map(|value| value.trim().to_owned()).collect();
        if path_of(key).is_none() || values.iter().any(String::is_empty) {
            return Err(NotVary::Form);
        }
        match values.iter().find(|value| yaml::tree(value).is_err()) {
            Some(value) => Err(NotVary::Value(value.clone())),
            None => Ok(Vary { key: key.to_owned(), values }),
        }
    }
}

/// Splits at commas that are not inside brackets or quotes.
fn separated(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

impl Grid {
    /// The number of combinations.
    pub fn points(&self) -> usize {
        self.keys.iter().fold(1, |points, vary| points.saturating_mul(vary.values.len()))
    }

    /// The values of the keys at each point, in the order of the keys; those of the last key change first.
    pub fn values(&self) -> impl Iterator<Item = Vec<&str>> {
        (0..self.points()).map(|point| {
            let mut rest = point;
            let mut values: Vec<&str> = Vec::new();
            for vary in self.keys.iter().rev() {
                values.push(&vary.values[rest % vary.values.len()]);
                rest /= vary.values.len();
            }
            values.reverse();
            values
        })
    }

    /// The stage as it is, then with each combination.
    pub(super) fn trees(&self, stages: &[Tree], report: &mut Report) -> Vec<Tree> {
        let found = match &self.stage {
            None => stages.first(),
            Some(name) => stages.iter().find(|stage| stage.0 == *name),
        };
        let Some(stage) = found else {
            let name = self.stage.as_deref().unwrap_or_default();
            self.refuse(
                report,
                0..0,
                format!("no stage is called `{name}`"),
                suggestion(name, stages.iter().map(|stage| stage.0.as_str())),
            );
            return Vec::new();
        };
        if let Some(twice) = self
            .keys
            .iter()
            .enumerate()
            .find(|(at, vary)| self.keys[..*at].iter().any(|earlier| earlier.key == vary.key))
        {
            let message = format!("--vary {} is given twice", twice.1.key);
            self.refuse(
                report,
                0..0,
                message,
                "give all values of a key at once, such as KEY=1,2,3".to_owned(),
            );
            return Vec::new();
        }
        if self.points() > POINTS_MAX {
            let message =
                format!("--vary makes {} combinations; at most {POINTS_MAX} are simulated", self.points());
            self.refuse(report, 0..0, message, "use fewer values".to_owned());
            return Vec::new();
        }
        let mut trees = vec![stage.clone()];
        for values in self.values() {
            let mut tree = stage.4.clone();
            for (vary, value) in self.keys.iter().zip(&values) {
                let value = yaml::tree(value).expect("parsed when the key was read");
                let path = path_of(&vary.key).expect("parsed when the key was read");
                let removes = matches!(value.kind, Kind::Empty) && !vary.key.ends_with(']');
                let value = Some(value).filter(|_| !removes);
                if let Err(wrong) = set(&mut tree, &path, value, Absent::Refused) {
                    self.refuse(
                        report,
                        wrong.span,
                        format!("--vary {}: {}", vary.key, wrong.message),
                        wrong.help,
                    );
                    return Vec::new();
                }
            }
            trees.push((self.name(&values), String::new(), None, false, tree));
        }
        trees
    }

    /// The combination, such as `services.shop.instances=2 traffic.rate=50/s`.
    fn name(&self, values: &[&str]) -> String {
        let pairs = self.keys.iter().zip(values).map(|(vary, value)| format!("{}={value}", vary.key));
        pairs.collect::<Vec<_>>().join(" ")
    }

    fn refuse(&self, report: &mut Report, span: std::ops::Range<usize>, message: String, help: String) {
        let place = fields::Place { path: String::new(), span };
        report.problems.push(Problem::error(&report.source, &place, message).help(help));
    }
}

/// The most combinations of a grid: each is a simulation.
const POINTS_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_separated() {
        for (text, key, values) in [
            ("traffic.rate=10/s,20/s", "traffic.rate", &["10/s", "20/s"][..]),
            ("a.b[0].c=1", "a.b[0].c", &["1"]),
            ("a={ b: 1, c: [2, 3] }, { b: 2 }", "a", &["{ b: 1, c: [2, 3] }", "{ b: 2 }"]),
            ("goal='p(95)<1s, or so',~", "goal", &["'p(95)<1s, or so'", "~"]),
        ] {
            let found: Vary = text.parse().unwrap();
            assert_eq!(
                (found.key.as_str(), found.values),
                (key, values.iter().map(|v| (*v).to_owned()).collect())
            );
        }
        for text in ["", "a", "a=", "a=1,,2", "=1", "a..b=1", "a[=1", "a[x]=1", "a[0]b=1"] {
            assert_eq!(text.parse::<Vary>(), Err(NotVary::Form), "{text}");
        }
        assert_eq!("a=[1".parse::<Vary>(), Err(NotVary::Value("[1".to_owned())));
    }

    #[test]
    fn the_last_key_changes_first() {
        let keys = ["a=1,2", "b=x,y,z"].map(|text| text.parse().unwrap()).to_vec();
        let grid = Grid { stage: None, keys };
        let all: Vec<String> = grid.values().map(|values| values.concat()).collect();
        assert_eq!(all, ["1x", "1y", "1z", "2x", "2y", "2z"]);
    }
}
