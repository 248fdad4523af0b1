//! Scenarios: what a user does, request after request.
//!
//! A [`Scenario`] is fixed before the run; a [`User`] executes it. For each iteration a user draws one of the flows by
//! weight and sends its steps in sequence, each with data, with values of earlier responses, and with its cookies.
//!
//! ## Why a state machine without I/O and clock
//! Every protocol and both load models, open and closed, can drive it, and a test can run a thousand users in a
//! millisecond. Time is an argument; all draws come from the seed, so that a user with the same number and seed makes
//! the same requests.
//!
//! ## Why a response without an expected value is data
//! A service under load responds with errors, and an error page has no cart number. That is a result of the run, so it
//! is a [`StepFailure`] to be counted by kind; it ends the iteration, because later steps depend on the value.
//!
//! Deliberately absent: conditions and loops. They would require a program; mixing by weight covers what reports need.

mod answer;
mod cookies;
mod date;
mod feed;
mod outcome;
mod template;
mod think;
mod url;
mod user;
mod value;

pub use answer::{Answer, Check, Demand, Extract, Part, Test};
pub use feed::{Feed, FeedError, OnEnd, Order};
pub use outcome::{Judged, Next, Rendered, StepFailure};
pub use template::{Place, Scope, Template, TemplateError};
pub use think::Think;
pub use url::{Origin, split as split_url};
pub use user::User;
pub use value::stands_in_url;

use std::collections::BTreeMap;

/// A step: a dense index over all steps of all flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(pub usize);

/// A check: a dense index over all checks of all steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckId(pub usize);

/// A request and the processing of its response.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// Its name in results; steps with the same name and tags are one endpoint.
    pub name: String,
    /// Tags of its results, including those of the scenario.
    pub tags: BTreeMap<String, String>,
    /// The method, a token.
    pub method: String,
    /// A path, which begins with `/`, or an absolute URL.
    pub url: Template,
    /// Header fields as lines `Name: value` with CR and LF, including those of the scenario; without `Host`,
    /// `Content-Length` and other fields that the protocol sets.
    pub headers: Template,
    /// The body; empty for none.
    pub body: Template,
    /// The values that later steps need from the response.
    pub extract: Vec<Extract>,
    /// The checks on the response.
    pub checks: Vec<Check>,
    /// The think time after the response.
    pub think: Think,
}

/// An item of a flow.
#[derive(Debug, Clone)]
pub enum Item {
    /// One step.
    Step(StepId),
    /// One of several, drawn by weight. Never empty, and one weight is above zero.
    Mix(Vec<(u32, StepId)>),
}

/// Steps in sequence.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its name in the file.
    pub name: String,
    /// How often it is drawn, in proportion to the weights of the others.
    pub weight: u32,
    /// Its steps.
    pub items: Vec<Item>,
}

/// How long a user keeps its cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cookies {
    /// Not at all.
    Off,
    /// Until the iteration ends: each arrival is a new visitor.
    Iteration,
    /// For the whole run: a returning user.
    #[default]
    User,
}

/// All parts of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Definition {
    /// Its name in results.
    pub name: String,
    /// The origin of steps whose URL is a path. A path of the base is a part of the steps' templates.
    pub base: Option<Origin>,
    /// Names of extracted values; their indexes are slots.
    pub names: Vec<String>,
    /// Data.
    pub feeds: Vec<Feed>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// The steps of all flows.
    pub steps: Vec<Step>,
    /// How long cookies are kept.
    pub cookies: Cookies,
    /// How many redirects a request may follow; 0 follows none.
    pub redirects: u32,
}

/// The key of results: a step's name and tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The name.
    pub name: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// A check as named in results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckName {
    /// The step whose responses it checks.
    pub step: StepId,
    /// The name.
    pub name: String,
}

/// What users do. The same for all users, and unchanged during a run.
#[derive(Debug, Clone)]
pub struct Scenario {
    definition: Definition,
    endpoints: Vec<Endpoint>,
    endpoint_of: Vec<usize>,
    checks: Vec<CheckName>,
    first_check: Vec<usize>,
}

impl Scenario {
    /// Completes a definition.
    ///
    /// # Panics
    /// A flow or mix has no weight or steps, or names a step or slot that does not exist: the code that makes a
    /// definition checks it, so that no user can panic.
    pub fn new(definition: Definition) -> Self {
        assert!(total(definition.flows.iter().map(|flow| flow.weight)) > 0, "some flow has a weight");
        for item in definition.flows.iter().flat_map(|flow| &flow.items) {
            let steps = match item {
                Item::Step(step) => std::slice::from_ref(step).to_vec(),
                Item::Mix(mix) => {
                    assert!(total(mix.iter().map(|&(weight, _)| weight)) > 0, "some step has a weight");
                    mix.iter().map(|&(_, step)| step).collect()
                }
            };
            assert!(steps.iter().all(|step| step.0 < definition.steps.len()), "the step is defined");
        }
        let (mut endpoints, mut endpoint_of): (Vec<Endpoint>, _) = (Vec::new(), Vec::new());
        let (mut checks, mut first_check) = (Vec::new(), Vec::new());
        for (index, step) in definition.steps.iter().enumerate() {
            let slots = step.extract.iter().map(|extract| extract.slot);
            assert!(slots.clone().all(|slot| slot < definition.names.len()), "the slot has a name");
            let endpoint = Endpoint { name: step.name.clone(), tags: step.tags.clone() };
            let known = endpoints.iter().position(|known| *known == endpoint);
            endpoint_of.push(known.unwrap_or(endpoints.len()));
            if known.is_none() {
                endpoints.push(endpoint);
            }
            first_check.push(checks.len());
            let names = step.checks.iter().map(|check| check.name.clone());
            checks.extend(names.map(|name| CheckName { step: StepId(index), name }));
        }
        Scenario { definition, endpoints, endpoint_of, checks, first_check }
    }

    /// Its parts.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// A step.
    pub fn step(&self, id: StepId) -> &Step {
        &self.definition.steps[id.0]
    }

    /// The keys of results, in the order of the file.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The index of the endpoint of a step.
    pub fn endpoint(&self, step: StepId) -> usize {
        self.endpoint_of[step.0]
    }

    /// The method of an endpoint: that of the first step with it.
    pub(crate) fn method_of(&self, endpoint: usize) -> Option<&str> {
        let step = self.endpoint_of.iter().position(|of| *of == endpoint)?;
        Some(&self.definition.steps[step].method)
    }

    /// All checks; a [`CheckId`] is an index of them.
    pub fn checks(&self) -> &[CheckName] {
        &self.checks
    }

    fn check(&self, step: StepId, index: usize) -> CheckId {
        CheckId(self.first_check[step.0] + index)
    }

    /// Whether anything reads the bodies of a step's responses.
    pub fn needs_body(&self, step: StepId) -> bool {
        self.parts(step).any(|part| matches!(part, Part::Body | Part::Json(_)))
    }

    /// Whether anything reads the header fields of a step's responses.
    pub fn needs_head(&self, step: StepId) -> bool {
        let followed = self.definition.cookies != Cookies::Off || self.definition.redirects > 0;
        followed || self.parts(step).any(|part| matches!(part, Part::Header(_)))
    }

    fn parts(&self, step: StepId) -> impl Iterator<Item = &Part> {
        let step = self.step(step);
        let checked = step.checks.iter().filter_map(|check| match &check.demand {
            Demand::Part(part, _) => Some(part),
            Demand::Status(_) | Demand::SizeMax(_) | Demand::Within(_) => None,
        });
        step.extract.iter().map(|extract| &extract.part).chain(checked)
    }

    /// The description of a failure for people, with the name of the missing value.
    pub fn describe(&self, failure: StepFailure) -> String {
        match failure {
            StepFailure::NotExtracted { slot } => {
                format!("the response does not contain `{}`", self.definition.names[slot])
            }
            StepFailure::Missing { slot } => {
                format!("no earlier response contained `{}`", self.definition.names[slot])
            }
            other => other.kind().to_owned(),
        }
    }
}

fn total(weights: impl Iterator<Item = u32>) -> u64 {
    weights.map(u64::from).sum()
}

#[cfg(test)]
mod tests;
