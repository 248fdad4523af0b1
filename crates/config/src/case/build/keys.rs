//! The keys of simulated requests, and which of them a limit or a balancer means.

use crate::case::file::{CaseTable, KeyTable, TrafficTable};
use crate::check::key;
use crate::file::FileKey;
use fields::{At, Names, Place, Report, Share, between, suggestion};
use gateway::settings::KeyBy;
use sim::settings::{CLIENT, Key, KeyId, VALUES_MAX, Values};

/// The keys of a case.
pub(super) struct Keys {
    pub(super) keys: Vec<Key>,
    /// The names of the values of each key; empty if they are only counted.
    names: Vec<Vec<String>>,
}

impl Keys {
    pub(super) fn of(table: &CaseTable, report: &mut Report) -> Self {
        let mut found = Keys { keys: Vec::new(), names: Vec::new() };
        let Some(At { value: traffic, .. }) = &table.traffic.0 else { return found };
        if traffic.users.is_some() {
            found.add(CLIENT, Values::Users, Vec::new());
        }
        for named in traffic.keys.iter().flat_map(Names::iter) {
            let Some(At { value: table, place }) = &named.value else { continue };
            if found.position(&named.name).is_some() {
                let users = traffic.users.is_some() && named.name.eq_ignore_ascii_case(CLIENT);
                let (message, help) = match users {
                    true => ("the clients are the users already", "remove it: each user is a client"),
                    false => ("duplicate key: names of header fields ignore case", "remove one of them"),
                };
                report.wrong(&named.place, message.to_owned(), "again", help.to_owned());
                continue;
            }
            let names = table.shares.iter().flat_map(|at| at.value.iter().map(|named| named.name.clone()));
            if let Some(values) = values(table, place, report) {
                found.add(&named.name, values, names.collect());
            }
        }
        found
    }

    fn add(&mut self, name: &str, values: Values, names: Vec<String>) {
        self.keys.push(Key { name: name.to_owned(), values });
        self.names.push(names);
    }

    fn position(&self, name: &str) -> Option<KeyId> {
        let found = self.keys.iter().position(|key| key.name.eq_ignore_ascii_case(name))?;
        Some(KeyId(found as u16))
    }

    /// The key of clients, if requests have clients.
    pub(super) fn client(&self) -> Option<KeyId> {
        self.position(CLIENT)
    }

    /// The key that a limit or a balancer groups requests by.
    pub(super) fn find(
        &self,
        at: &At<FileKey>,
        traffic: &TrafficTable,
        report: &mut Report,
    ) -> Option<KeyId> {
        let name = match key::key(at, report) {
            KeyBy::Client => CLIENT.to_owned(),
            KeyBy::Header(name) | KeyBy::Cookie(name) => name,
        };
        self.named(&name, COUNTED, &at.place, traffic, report)
    }

    /// The key with this name; `example` is what to write for it if there is none.
    pub(super) fn named(
        &self,
        name: &str,
        example: &str,
        place: &Place,
        traffic: &TrafficTable,
        report: &mut Report,
    ) -> Option<KeyId> {
        let found = self.position(name);
        // A key that could not be read is not missing.
        let said = traffic.keys.iter().flat_map(Names::iter).any(|key| key.name.eq_ignore_ascii_case(name));
        if found.is_none() && !said && !report.knows_of(&place.path) {
            let message = format!("simulated requests have no `{name}`");
            let help = format!("add `keys: {{ {name}: {{ {example} }} }}` to `traffic`");
            report.wrong(place, message, "not in `traffic.keys`", help);
        }
        found
    }

    /// The names of the values of a key.
    pub(super) fn names(&self, key: KeyId) -> &[String] {
        &self.names[usize::from(key.0)]
    }
}

/// Values that are only told apart.
pub(super) const COUNTED: &str = "count: 1000, zipf: 1";

fn values(table: &KeyTable, place: &Place, report: &mut Report) -> Option<Values> {
    let KeyTable { count, zipf, shares } = table;
    match (count, shares) {
        (Some(count), None) => {
            let count = between(count, 1, VALUES_MAX, "1000 is usual", report);
            let Some(zipf) = zipf else { return Some(Values::Even(count)) };
            if zipf.value.0 > ZIPF_MAX {
                let help = format!("1 is usual; at most {ZIPF_MAX}");
                let message = format!("an exponent of {}", zipf.value.0);
                report.wrong(&zipf.place, message, "too steep", help);
                return None;
            }
            Some(Values::Zipf { count, exponent: zipf.value.0 })
        }
        (None, Some(At { value: shares, place })) => {
            if let Some(zipf) = zipf {
                let help = "remove it, or write `count` instead of `shares`".to_owned();
                report.wrong(&zipf.place, "`zipf` only with `count`".to_owned(), "no effect", help);
            }
            named(shares, place, report)
        }
        _ => {
            if !report.knows_of(&place.path) {
                let message = "expected one of `count` and `shares`".to_owned();
                let help = "write `{ count: 1000, zipf: 1 }` or `{ shares: { gold: 10%, free: 90% } }`";
                report.wrong(place, message, "in this table", help.to_owned());
            }
            None
        }
    }
}

fn named(shares: &Names<At<Share>>, place: &Place, report: &mut Report) -> Option<Values> {
    let found: Option<Vec<f64>> =
        shares.iter().map(|named| named.value.as_ref().map(|at| at.value.0.get())).collect();
    let found = found?;
    let sum: f64 = found.iter().sum();
    if found.is_empty() || sum > 1.0 + 1e-9 {
        let message = match found.is_empty() {
            true => "a key without values".to_owned(),
            false => format!("the shares add up to {:.1} %, but at most 100 % is possible", sum * 100.0),
        };
        let help = "write the share of all requests that have each value; the rest has none".to_owned();
        report.wrong(place, message, "this table", help);
        return None;
    }
    Some(Values::Shares(found.into()))
}

/// The class of each value of a key, which is the name of the class.
pub(super) fn classes(
    names: &[String],
    classes: &[&str],
    key: &str,
    place: &Place,
    report: &mut Report,
) -> Vec<u8> {
    if names.is_empty() {
        let message = format!("the values of `{key}` have no names");
        let help = format!(
            "write `{key}: {{ shares: {{ {}: 100% }} }}` in `traffic.keys`",
            classes.first().unwrap_or(&"normal")
        );
        report.wrong(place, message, "which class is which?", help);
    }
    let class = |name: &String| {
        let index = classes.iter().position(|class| class.eq_ignore_ascii_case(name));
        if index.is_none() {
            let message = format!("the value `{name}` of `{key}` is no priority class");
            report.wrong(place, message, "not in `priorities`", suggestion(name, classes.iter().copied()));
        }
        index.unwrap_or(0) as u8
    };
    names.iter().map(class).collect()
}

const ZIPF_MAX: f64 = 10.0;
