//! What limits the services of an experiment, in words: of a search what the values that lost lack, and what limits the best one
//! next.

use super::{Bottleneck, Examined, Experiment, Tried, shown_measure};
use crate::doctor;
use crate::words::{Rows, counted};
use serde_json::Value as Json;

impl Examined {
    /// The first finding of an examination.
    pub fn of(examined: &doctor::Examined) -> Self {
        let first = examined.findings().into_iter().next();
        Examined {
            seconds: (examined.seconds * 10.0).round() / 10.0,
            bottleneck: first.map(|found| Bottleneck { code: found.code, sentence: found.sentence }),
        }
    }

    /// For tables.
    pub(super) fn code(&self) -> &str {
        match &self.bottleneck {
            Some(found) => &found.code,
            None if self.seconds > 0.0 => "none",
            None => "-",
        }
    }
}

impl Bottleneck {
    fn in_words(&self) -> String {
        format!("{} [{}]", self.sentence, self.code)
    }
}

impl Tried {
    /// The processor time of a request beside that of the best value, if nothing was found that limits this one and it needs more.
    fn needs_more_than(&self, best: &Tried) -> Option<String> {
        let time = |tried: &Tried| tried.measures.get(PROCESSOR_TIME).copied();
        let (found, least) = time(self).filter(|_| self.examined.seconds > 0.0).zip(time(best))?;
        (found > MORE * least).then(|| {
            format!(
                "nothing is full, but a request needs {} of processor time, with the best {}",
                shown_measure(PROCESSOR_TIME, found),
                shown_measure(PROCESSOR_TIME, least)
            )
        })
    }
}

impl Experiment {
    pub(super) fn bottleneck_rows(&self, rows: &mut Rows) {
        match &self.search {
            Some(_) => self.rows_of_search(rows),
            None => self.rows_of_arms(rows),
        }
    }

    /// The best value and those that lost to it.
    fn rows_of_search(&self, rows: &mut Rows) {
        let Some(search) = &self.search else { return };
        let Some(best) = search.values.iter().find(|tried| search.best.as_ref() == Some(&tried.value)) else {
            return;
        };
        if best.examined.seconds > 0.0 {
            let limit = best.examined.bottleneck.as_ref().map(Bottleneck::in_words);
            let limit =
                limit.unwrap_or_else(|| "nothing was found that limits it under this load".to_owned());
            rows.row("bottleneck", format!("{}, the best: {limit}", best.value));
        }
        let lost = search.values.iter().filter(|tried| !search.remaining.contains(&tried.value));
        let why = |tried: &Tried| match &tried.examined.bottleneck {
            Some(found) => Some(found.in_words()),
            None => tried.needs_more_than(best),
        };
        let limited: Vec<String> =
            lost.filter_map(|tried| Some(format!("- {}: {}", tried.value, why(tried)?))).collect();
        let mut name = if best.examined.seconds > 0.0 { "" } else { "bottleneck" };
        for limit in limited.iter().take(SHOWN) {
            rows.row(std::mem::take(&mut name), limit.clone());
        }
        if let Some(more) = limited.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            rows.row("", format!("- {} (the table has them)", counted(more as u64, "more value")));
        }
    }

    fn rows_of_arms(&self, rows: &mut Rows) {
        if self.examined.is_empty() {
            return;
        }
        let limited = self.examined.iter().filter_map(|one| Some((&one.arm, one.bottleneck.as_ref()?)));
        let limited: Vec<String> =
            limited.map(|(arm, found)| format!("{arm}: {}", found.in_words())).collect();
        if limited.is_empty() {
            rows.row("bottleneck", "nothing was found that limits a service under this load");
        }
        for (place, limit) in limited.into_iter().enumerate() {
            rows.row(if place == 0 { "bottleneck" } else { "" }, limit);
        }
    }
}

/// The bottlenecks of an experiment in the ledger, by its JSON: each code with the services that it limits.
pub(crate) fn bottlenecks_of(found: &Json) -> Option<String> {
    let best = &found["search"]["best"];
    let values = found["search"]["values"].as_array().into_iter().flatten();
    let values = values.map(|tried| (&tried["value"], &tried["examined"]));
    let arms = found["examined"].as_array().into_iter().flatten().map(|one| (&one["arm"], one));
    let mut codes: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, examined) in values.chain(arms) {
        let Some((name, code)) = name.as_str().zip(examined["bottleneck"]["code"].as_str()) else { continue };
        let name = if best == name { format!("{name} (best)") } else { name.to_owned() };
        match codes.iter_mut().find(|(other, _)| *other == code) {
            Some((_, names)) => names.push(name),
            None => codes.push((code, vec![name])),
        }
    }
    let said: Vec<String> =
        codes.iter().map(|(code, names)| format!("{code} with {}", names.join(", "))).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

const PROCESSOR_TIME: &str = "processor_time";
/// So many times the processor time of the best is worth a sentence.
const MORE: f64 = 1.1;
/// Values whose bottlenecks are told as sentences.
const SHOWN: usize = 6;
