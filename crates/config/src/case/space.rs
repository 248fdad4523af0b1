//! The keys of a stage that can be tuned, with the values that are worth trying.
//!
//! A dimension is a key with its values. The values are those that people write: whole percentages, minutes, one more
//! instance. Today's value is always among them. A value that contradicts another key is refused when the variant is
//! read ([`Case::varied`]).

mod also;
mod ladder;
mod scaling;
mod schedule;

use super::Case;
use super::tree::{at, key_of};
use super::vary::{Edit, flow};
use sim::settings::MINUTE;
use std::str::FromStr;
use std::time::Duration;
use yaml::{Kind, Node};

/// A key that can be tuned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// The key as messages show it.
    pub key: String,
    /// Its values; if they are ordered, from the least to the greatest.
    pub choices: Vec<Choice>,
    /// The place of today's value.
    pub today: usize,
    /// Whether a value is close to the values beside it.
    pub ordered: bool,
    /// It has an effect only where this dimension has this value.
    pub when: Option<(usize, usize)>,
    /// Whether it changes more than scaling: the server, the balancer or the hosts.
    pub also: bool,
}

/// A value of a dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value as messages show it; none: the key is absent.
    pub text: Option<String>,
    /// How to set it.
    pub edits: Vec<Edit>,
}

/// What may change beside policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Also {
    /// Processes and threads of the application server.
    Server,
    /// The balancing algorithm.
    Balancing,
    /// Instance types and sizes.
    Hosts,
}

impl Also {
    /// Its name for users.
    pub const fn name(self) -> &'static str {
        match self {
            Also::Server => "server",
            Also::Balancing => "balancing",
            Also::Hosts => "hosts",
        }
    }
}

impl FromStr for Also {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Also::Server, Also::Balancing, Also::Hosts];
        let found = all.into_iter().find(|also| also.name() == text);
        found.ok_or_else(|| "expected server, balancing or hosts".to_owned())
    }
}

impl Case {
    /// The dimensions of a stage, in the order of the file; empty if nothing of it scales.
    pub fn dimensions(&self, stage: usize, also: &[Also]) -> Vec<Dimension> {
        // A forecast begins after a day.
        let forecasts = self.stages.get(stage).is_some_and(|stage| stage.system.measured > DAY);
        let row = self.stages.get(stage).map_or(MINUTE, |stage| stage.system.row);
        let mut finder = Finder { tree: self.tree(stage), when: None, forecasts, row, found: Vec::new() };
        let services = ["services".to_owned()];
        for name in finder.keys(&services) {
            let service = [services[0].clone(), name];
            finder.scaling(&service);
            let of_scaling = finder.found.len();
            finder.also(&service, also);
            finder.found[of_scaling..].iter_mut().for_each(|dimension| dimension.also = true);
        }
        self.tuning.narrowed(finder.found)
    }

    /// The value of a key in a stage, as YAML on one line.
    pub fn value(&self, stage: usize, path: &[String]) -> Option<String> {
        at(self.tree(stage), path).map(flow)
    }
}

/// Finds dimensions in the tree of a stage.
struct Finder<'a> {
    tree: &'a Node,
    /// The condition of what is found next.
    when: Option<(usize, usize)>,
    /// Whether predictive scaling has an effect.
    forecasts: bool,
    /// The length of a row of the result.
    row: Duration,
    found: Vec<Dimension>,
}

impl Finder<'_> {
    fn scalar(&self, path: &[String]) -> Option<String> {
        match &at(self.tree, path)?.kind {
            Kind::Scalar(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn has(&self, path: &[String]) -> bool {
        at(self.tree, path).is_some()
    }

    /// The keys of a table, or the places of a list.
    fn keys(&self, path: &[String]) -> Vec<String> {
        match at(self.tree, path).map(|node| &node.kind) {
            Some(Kind::Table(entries)) => entries.iter().map(|(key, _)| key.name.clone()).collect(),
            Some(Kind::List(items)) => (0..items.len()).map(|place| format!("[{place}]")).collect(),
            _ => Vec::new(),
        }
    }

    /// A key with numbers; `usual` is the value of an absent key. Without either the key is left alone.
    fn ladder(&mut self, path: &[String], usual: Option<&str>, values: &dyn Fn(&str) -> Vec<String>) {
        let today = self.scalar(path);
        let Some(known) = today.as_deref().or(usual) else { return };
        let Some(ladder) = ladder::ladder(known, values(known)) else { return };
        let choice = |(place, text): (usize, String)| {
            let text = (place != ladder.today || today.is_some()).then_some(text);
            Choice { edits: vec![Edit { path: path.to_vec(), value: text.clone() }], text }
        };
        let choices = ladder.values.into_iter().enumerate().map(choice).collect();
        self.add(path, choices, ladder.today, true);
    }

    /// A key with words.
    fn words(&mut self, path: &[String], usual: &str, values: &[&str]) {
        let today = self.scalar(path);
        let mut words: Vec<String> = values.iter().map(|word| (*word).to_owned()).collect();
        let known = today.clone().unwrap_or_else(|| usual.to_owned());
        let place = words.iter().position(|word| *word == known).unwrap_or_else(|| {
            words.push(known);
            words.len() - 1
        });
        let choice = |(at, word): (usize, String)| {
            let text = (at != place || today.is_some()).then_some(word);
            Choice { edits: vec![Edit { path: path.to_vec(), value: text.clone() }], text }
        };
        let choices = words.into_iter().enumerate().map(choice).collect();
        self.add(path, choices, place, false);
    }

    fn add(&mut self, path: &[String], choices: Vec<Choice>, today: usize, ordered: bool) {
        if choices.len() > 1 {
            let key = key_of(path);
            self.found.push(Dimension { key, choices, today, ordered, when: self.when, also: false });
        }
    }
}

/// The path of a key below.
fn below<S: AsRef<str>>(path: &[String], keys: &[S]) -> Vec<String> {
    path.iter().cloned().chain(keys.iter().map(|key| key.as_ref().to_owned())).collect()
}

const DAY: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests;
