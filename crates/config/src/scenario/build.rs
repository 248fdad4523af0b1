//! Builds the scenario from the tables of the file: flows, names, and which names each text may use.

use super::data;
use super::file::{FlowTable, ScenarioTable, StepTable};
use super::request::{Common, check_placeholder};
use fields::{At, Count, Names, Place, Report, Text, check_name, word};
use load::scenario::{Cookies, Definition, Flow, Item, Origin, Scope, Step, StepId, split_url};
use std::collections::BTreeMap;
use std::path::Path;

/// More redirects than this are a loop.
const REDIRECTS_MAX: u32 = 50;

/// The state while the flows are read.
pub(super) struct Builder<'a> {
    pub(super) report: &'a mut Report,
    pub(super) common: Common<'a>,
    /// The names that a text may use at this place of a flow.
    pub(super) scope: Scope<'a>,
    /// All extracted names; their indexes are slots.
    pub(super) names: Vec<String>,
    steps: Vec<Step>,
}

/// The parts of the scenario; only valid if there are no problems.
pub(super) fn definition(
    file: &ScenarioTable,
    report: &mut Report,
    folder: &Path,
    base: Option<&str>,
) -> Option<Definition> {
    let kept = [("user", Cookies::User), ("iteration", Cookies::Iteration), ("off", Cookies::Off)];
    let cookies = match &file.cookies {
        // YAML 1.1 reads an unquoted off as a boolean; its text arrives here.
        Some(at) if matches!(at.value.0.as_str(), "false" | "no") => Cookies::Off,
        cookies => word(cookies.as_ref(), &kept, report),
    };
    let redirects = file.redirects.as_ref().map_or(0, |at| redirects(at, report));
    let base = base_of(file.base.as_ref(), base, report);
    let feeds = data::feeds(file.data.as_ref(), report, folder);
    let declared = file.data.iter().flat_map(Names::iter).count();
    let mut scope = Scope { feeds: &feeds, ..Scope::default() };
    for named in file.variables.iter().flat_map(Names::iter) {
        check_placeholder(&named.name, &named.place, report);
        let value = named.value.as_ref().map_or_else(String::new, |text| text.0.clone());
        scope.variables.insert(named.name.clone(), value);
    }
    let common = Common {
        base: base.as_ref(),
        headers: file.headers.as_ref(),
        tags: texts(file.tags.as_ref()),
        cookies,
        // If data could not be read, its columns are unknown; that was reported once.
        data_known: feeds.len() == declared,
    };
    let mut builder = Builder { report, common, scope, names: Vec::new(), steps: Vec::new() };
    let flows = builder.flows(file.flows.0.as_ref()?);
    let Builder { names, steps, .. } = builder;
    Some(Definition {
        name: file.scenario.0.as_ref()?.value.0.clone(),
        base: base.map(|(origin, _)| origin),
        names,
        flows,
        steps,
        cookies,
        redirects,
        feeds,
    })
}

fn redirects(at: &At<Count>, report: &mut Report) -> u32 {
    fields::between(at, 0, REDIRECTS_MAX, "10 is usual; 0 follows none", report)
}

/// Origin and path of the base, without a trailing slash.
fn base_of(file: Option<&At<Text>>, flag: Option<&str>, report: &mut Report) -> Option<(Origin, String)> {
    let whole = Place { path: "base".to_owned(), span: 0..0 };
    let (text, place) = match flag {
        Some(flag) => (flag, &whole),
        None => file.map(|at| (at.value.0.as_str(), &at.place))?,
    };
    match split_url(text) {
        Some((origin, path)) if !path.contains('?') => Some((origin, path.trim_end_matches('/').to_owned())),
        _ => {
            let message = format!("`{text}` is no address that requests can be sent to");
            let help = "write it as `http://host:port` or `https://host/path`, without query or credentials";
            report.wrong(place, message, "this value", help.to_owned());
            None
        }
    }
}

pub(super) fn texts(names: Option<&Names<Text>>) -> BTreeMap<String, String> {
    let found = names.into_iter().flat_map(Names::iter);
    found.filter_map(|named| Some((named.name.clone(), named.value.as_ref()?.0.clone()))).collect()
}

impl Builder<'_> {
    fn flows(&mut self, list: &At<Vec<At<FlowTable>>>) -> Vec<Flow> {
        let mut flows: Vec<Flow> = Vec::new();
        for at in &list.value {
            let FlowTable { name, weight, steps } = &at.value;
            check_name(&name.value.0, &name.place, self.report);
            if flows.iter().any(|earlier| earlier.name == name.value.0) {
                let message = format!("another flow is called `{}` too", name.value.0);
                self.report.wrong(&name.place, message, "again", "give it another name".to_owned());
            }
            self.scope.extracted.clear();
            let mut items = Vec::new();
            for step in &steps.value {
                match &step.value.mix {
                    Some(mix) => items.extend(self.mix(step, mix)),
                    None => {
                        if let Some(weight) = &step.value.weight {
                            let help = "put the steps of which one is drawn into a `mix`".to_owned();
                            let message = "a step of a sequence has no weight".to_owned();
                            self.report.wrong(&weight.place, message, "outside a mix", help);
                        }
                        items.push(Item::Step(self.add(step)));
                    }
                }
            }
            self.not_empty(steps, "a flow without steps does nothing");
            flows.push(Flow { name: name.value.0.clone(), weight: count(weight.as_ref()), items });
        }
        self.not_empty(list, "a scenario without flows does nothing");
        self.weighted(list, flows.iter().map(|flow| flow.weight));
        flows
    }

    /// One of several steps. Later steps may use everything that one of them extracts; in a run it may be missing.
    fn mix(&mut self, at: &At<StepTable>, mix: &At<Vec<At<StepTable>>>) -> Option<Item> {
        if super::step::is_request(&at.value) {
            let help = "put everything into the steps of the mix".to_owned();
            self.report.wrong(&at.place, "a mix has no other key".to_owned(), "in this step", help);
        }
        let before = self.scope.extracted.clone();
        let mut after = before.clone();
        let mut choices = Vec::new();
        for step in &mix.value {
            self.scope.extracted.clone_from(&before);
            if let Some(inner) = &step.value.mix {
                let help = "write its steps into this mix".to_owned();
                self.report.wrong(&inner.place, "a mix within a mix".to_owned(), "again", help);
                continue;
            }
            choices.push((count(step.value.weight.as_ref()), self.add(step)));
            after.append(&mut self.scope.extracted);
        }
        self.scope.extracted = after;
        self.not_empty(mix, "a mix without steps does nothing");
        self.weighted(mix, choices.iter().map(|&(weight, _)| weight));
        (!choices.is_empty()).then_some(Item::Mix(choices))
    }

    fn add(&mut self, at: &At<StepTable>) -> StepId {
        let step = self.step(at);
        self.steps.push(step);
        StepId(self.steps.len() - 1)
    }

    fn not_empty<T>(&mut self, list: &At<Vec<T>>, message: &str) {
        if list.value.is_empty() && !self.report.knows_of(&list.place.path) {
            self.report.wrong(&list.place, message.to_owned(), "empty", "add one".to_owned());
        }
    }

    fn weighted<T>(&mut self, list: &At<Vec<T>>, weights: impl Iterator<Item = u32>) {
        if !list.value.is_empty() && weights.map(u64::from).sum::<u64>() == 0 {
            let help = "give one a `weight` above 0".to_owned();
            self.report.wrong(&list.place, "all weights are 0".to_owned(), "never drawn", help);
        }
    }
}

fn count(weight: Option<&At<Count>>) -> u32 {
    weight.map_or(1, |at| at.value.0)
}
