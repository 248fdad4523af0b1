//! Prices: built-in tables with their date and source, and the file's own prices.
//!
//! Built-in tables are files of the same form as `prices:` in a case, so that users can copy and change them.

use super::file::PricesTable;
use super::words::Number;
use fields::{At, Named, Place, Read, Report, suggestion, tables};
use sim::settings::Price;
use std::time::Duration;
use units::Bytes;
use yaml::{Kind, Node, tree};

/// The price of a kind of host, in US dollars per hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum HourPrice {
    Whole(f64),
    /// For each processor and each GiB of memory.
    Parts {
        vcpu: f64,
        gb: f64,
    },
}

tables! {
    /// A price by processors and memory.
    PartsTable {
        /// US dollars for an hour of a processor.
        vcpu: At<Number>,
        /// US dollars for an hour of a GiB of memory.
        gb: At<Number>,
    }
}

/// A number, or a price by processors and memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriceWords(HourPrice);

impl Read for PriceWords {
    fn read(node: &Node, path: &str, report: &mut Report) -> Option<Self> {
        if let Kind::Table(_) = node.kind {
            let parts = PartsTable::read(node, path, report)?;
            return Some(PriceWords(HourPrice::Parts { vcpu: parts.vcpu.value.0, gb: parts.gb.value.0 }));
        }
        Number::read(node, path, report).map(|number| PriceWords(HourPrice::Whole(number.0)))
    }
}

fields::schema_of_word_or_table!(PriceWords, { "type": "number", "minimum": 0 }, PartsTable);

/// The built-in tables: their names and texts.
const BUILT_IN: [(&str, &str); 1] = [("aws-us-east-1", include_str!("prices/aws-us-east-1.yaml"))];

/// The prices of a case.
#[derive(Debug, Default)]
pub(super) struct Prices {
    entries: Vec<(String, HourPrice)>,
    minimum: Duration,
    place: Option<Place>,
    /// The table and its date.
    pub(super) words: Option<String>,
}

impl Prices {
    pub(super) fn of(found: Option<&At<PricesTable>>, report: &mut Report) -> Prices {
        let Some(At { value: table, place }) = found else { return Prices::default() };
        let mut prices = Prices { place: Some(place.clone()), minimum: MINIMUM, ..Prices::default() };
        let mut words = Vec::new();
        let own: Vec<&Named<At<PriceWords>>> = table.per_hour.iter().flat_map(|names| names.iter()).collect();
        if !own.is_empty() {
            let date = table.as_of.as_ref().map_or_else(String::new, |at| format!(" as of {}", at.value.0));
            words.push(format!("the file's own prices{date}"));
        }
        for named in own {
            if let Some(At { value: PriceWords(price), .. }) = &named.value {
                prices.entries.push((named.name.clone(), *price));
            }
        }
        if let Some(at) = &table.table {
            match BUILT_IN.iter().find(|(name, _)| *name == at.value.0) {
                Some((name, text)) => {
                    let built_in = built_in(text);
                    let date = built_in.as_of.map_or_else(String::new, |at| at.value.0);
                    words.push(format!("{name} as of {date}"));
                    for named in built_in.per_hour.iter().flat_map(|names| names.iter()) {
                        if let Some(At { value: PriceWords(price), .. }) = &named.value {
                            prices.entries.push((named.name.clone(), *price));
                        }
                    }
                    prices.minimum = built_in.minimum.map_or(MINIMUM, |at| at.value.0);
                }
                None => {
                    let help = suggestion(&at.value.0, BUILT_IN.iter().map(|(name, _)| *name));
                    let message = format!("unknown table of prices `{}`", at.value.0);
                    report.wrong(&at.place, message, "no built-in table", help);
                }
            }
        }
        if let Some(at) = &table.minimum {
            prices.minimum = at.value.0;
        }
        prices.words = Some(words.join(", and "));
        prices
    }

    /// The price of so many cores and so much memory; none if the case has no prices.
    pub(super) fn price(
        &self,
        name: &str,
        place: &Place,
        (cores, memory): (f64, Option<Bytes>),
        report: &mut Report,
    ) -> Price {
        let free = Price { per_hour: 0.0, minimum: Duration::ZERO };
        let Some(table) = &self.place else { return free };
        let Some((_, price)) = self.entries.iter().find(|(known, _)| known == name) else {
            if !report.knows_of(&table.path) {
                let known = self.entries.iter().map(|(known, _)| known.as_str());
                let message = format!("no price for `{name}`");
                let help = format!(
                    "add it to `prices.per_hour`, or name another with `price:`; {}",
                    suggestion(name, known)
                );
                report.wrong(place, message, "not in the table of prices", help);
            }
            return free;
        };
        let per_hour = match price {
            HourPrice::Whole(price) => *price,
            HourPrice::Parts { vcpu, gb } => {
                let Some(memory) = memory else {
                    let message = format!("`{name}` is paid by memory too, and its memory is not said");
                    report.wrong(place, message, "without `memory`", "add `memory: 2GiB`".to_owned());
                    return free;
                };
                vcpu * cores + gb * (memory.get() as f64 / GIB)
            }
        };
        Price { per_hour, minimum: self.minimum }
    }
}

/// Whether a built-in table has a price by the hour for this host.
pub(super) fn is_built_in(table: &str, host: &str) -> bool {
    let found = BUILT_IN.iter().find(|(name, _)| *name == table);
    found.is_some_and(|(_, text)| {
        built_in(text).per_hour.is_some_and(|names| names.iter().any(|named| named.name == host))
    })
}

fn built_in(text: &str) -> PricesTable {
    let mut report = Report::new("prices", text);
    let node = tree(text).expect("a built-in table is YAML");
    let table = PricesTable::read(&node, "", &mut report).expect("a built-in table is well-formed");
    debug_assert!(report.problems.is_empty(), "{:?}", report.problems);
    table
}

/// A minute, as Fargate and EC2 (Linux) bill.
const MINIMUM: Duration = Duration::from_secs(60);
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_tables_are_well_formed() {
        for (name, text) in BUILT_IN {
            let table = built_in(text);
            assert!(table.as_of.is_some(), "{name} has no date");
            assert!(table.per_hour.is_some_and(|names| names.iter().all(|named| named.value.is_some())));
        }
    }
}
