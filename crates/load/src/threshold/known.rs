//! The tags of a plan, so that a threshold on another tag is an error before the run and not a gate that is always
//! open.

use super::metric::Division;
use super::{Metric, Threshold};
use crate::Plan;
use std::collections::{BTreeMap, BTreeSet};

/// The tags of a plan: endpoints with their own tags, stages and checks.
#[derive(Debug, Clone, Default)]
pub struct Known {
    requests: BTreeMap<String, BTreeSet<String>>,
    checks: BTreeSet<String>,
}

/// A threshold on something that the plan does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// The metric is not divided by tags.
    #[error("threshold `{threshold}`: `{}` is not kept by tag; leave `{{{key}:...}}` out", .metric.name())]
    Undivided {
        /// The threshold.
        threshold: String,
        /// Its metric.
        metric: Metric,
        /// The key.
        key: String,
    },
    /// There is no such key.
    #[error("threshold `{threshold}`: there is no tag `{key}`; {}", suggestion(.key, .known.iter().map(String::as_str)))]
    Key {
        /// The threshold.
        threshold: String,
        /// The key.
        key: String,
        /// The existing keys.
        known: Vec<String>,
    },
    /// No request has this value.
    #[error("threshold `{threshold}`: no {key} is `{value}`; {}", suggestion(.value, .known.iter().map(String::as_str)))]
    Value {
        /// The threshold.
        threshold: String,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The existing values.
        known: Vec<String>,
    },
    /// Results are kept by stage and by endpoint, not by both at once.
    #[error(
        "threshold `{threshold}`: results are kept by stage or by endpoint and its tags, not by both; give two thresholds"
    )]
    StageAndOther {
        /// The threshold.
        threshold: String,
    },
}

impl Known {
    /// No tag yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an endpoint with its tags.
    pub fn endpoint<'a>(&mut self, name: &'a str, tags: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (key, value) in ENDPOINT.map(|key| (key, name)).into_iter().chain(tags) {
            self.requests.entry(key.to_string()).or_default().insert(value.to_string());
        }
    }

    /// Adds a stage.
    pub fn stage(&mut self, name: &str) {
        self.requests.entry(STAGE.to_string()).or_default().insert(name.to_string());
    }

    /// Adds a check.
    pub fn check(&mut self, name: &str) {
        self.checks.insert(name.to_string());
    }
}

impl From<&Plan> for Known {
    /// The divisions of a plan's results.
    fn from(plan: &Plan) -> Self {
        let layout = plan.layout();
        let mut known = Known::new();
        for (name, tags) in &layout.endpoints {
            known.endpoint(name, tags.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        }
        layout.stages.iter().for_each(|stage| known.stage(&stage.name));
        layout.checks.iter().for_each(|check| known.check(check));
        known
    }
}

impl Threshold {
    /// Checks its tags against those of the plan.
    ///
    /// # Errors
    /// There is no such key or value, the metric is not kept by tag, or the tags combine a stage with something else.
    pub fn check(&self, known: &Known) -> Result<(), TagError> {
        let threshold = || self.to_string();
        for (key, value) in &self.tags {
            let values = match self.metric.division() {
                Division::None => {
                    return Err(TagError::Undivided {
                        threshold: threshold(),
                        metric: self.metric,
                        key: key.clone(),
                    });
                }
                Division::Requests => known.requests.get(key),
                Division::Checks => (key == CHECK).then_some(&known.checks),
            };
            let Some(values) = values else {
                let known = match self.metric.division() {
                    Division::Checks => vec![CHECK.to_string()],
                    _ => known.requests.keys().cloned().collect(),
                };
                return Err(TagError::Key { threshold: threshold(), key: key.clone(), known });
            };
            if !values.contains(value) {
                return Err(TagError::Value {
                    threshold: threshold(),
                    key: key.clone(),
                    value: value.clone(),
                    known: values.iter().cloned().collect(),
                });
            }
        }
        let stages = self.tags.iter().filter(|(key, _)| key == STAGE).count();
        if self.metric.division() == Division::Requests && stages > 0 && self.tags.len() > 1 {
            return Err(TagError::StageAndOther { threshold: threshold() });
        }
        Ok(())
    }
}

/// The keys of an endpoint's name: headroom's, and k6's.
pub(super) const ENDPOINT: [&str; 2] = ["endpoint", "name"];
pub(super) const STAGE: &str = "stage";
pub(super) const CHECK: &str = "check";

/// The likely intended name, and all existing ones. Up to a third of the letters may be wrong; more is another word.
pub(super) fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |name: &str| strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase());
    let close = known.iter().filter(|name| distance(name) * 3 <= name.chars().count().max(3));
    let all = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match close.min_by_key(|name| distance(name)) {
        Some(name) => format!("did you mean `{name}`? there are {all}"),
        None if known.is_empty() => "the plan has none".to_string(),
        None => format!("there are {all}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Course, Model, StageText, Stages, Target};

    fn check(text: &str) -> Result<(), String> {
        let mut known = Known::new();
        known.endpoint("login", [("team", "accounts")]);
        known.endpoint("search", [("team", "catalogue")]);
        known.stage("200/s");
        known.check("has id");
        let threshold: Threshold = text.parse().unwrap_or_else(|error| panic!("{error}"));
        threshold.check(&known).map_err(|error| error.to_string())
    }

    #[test]
    fn takes_what_the_plan_has() {
        for text in [
            "p(95)<1s",
            "response_time{endpoint:login}: p(95)<1s",
            "response_time{name:login,team:accounts}: p(95)<1s",
            "http_reqs{stage:200/s}: count>1",
            "checks{check:has id}: rate>99%",
            "checks: rate>99%",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn names_what_the_plan_does_not_have() {
        for (text, message) in [
            (
                "response_time{endpoint:logn}: p(95)<1s",
                "no endpoint is `logn`; did you mean `login`? there are `login`, `search`",
            ),
            ("response_time{endpiont:login}: p(95)<1s", "no tag `endpiont`; did you mean `endpoint`?"),
            (
                "response_time{check:has id}: p(95)<1s",
                "no tag `check`; there are `endpoint`, `name`, `stage`, `team`",
            ),
            ("response_time{team:x}: p(95)<1s", "no team is `x`; there are `accounts`, `catalogue`"),
            ("checks{endpoint:login}: rate>1%", "no tag `endpoint`; there are `check`"),
            ("checks{check:has it}: rate>1%", "did you mean `has id`?"),
            (
                "iterations{endpoint:login}: count>1",
                "`iterations` is not kept by tag; leave `{endpoint:...}` out",
            ),
            ("shed{stage:200/s,team:accounts}: rate<1%", "give two thresholds"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let bare: Threshold = "checks{check:a}: rate>1%".parse().unwrap();
        assert!(bare.check(&Known::new()).unwrap_err().to_string().contains("the plan has none"));
    }

    #[test]
    fn knows_the_endpoints_and_stages_of_a_plan() {
        let mut target = Target::new("http://127.0.0.1/", "GET", &[], b"").unwrap();
        target.name = "home".to_string();
        let typed = ["1s:..10/s", "1s:10/s"].map(|text| text.parse::<StageText>().unwrap());
        let Ok(Stages::Rates(profile)) = Stages::new(&typed) else { panic!("rates") };
        let course = Course::Stages(profile.into());
        let plan = Plan::new(target, Model::Open { course, arrivals: Arrivals::Even, connections: None });
        let known = Known::from(&plan);
        for text in
            ["http_reqs{stage:1s:..10/s}: count>1", "p(95)<1s", "response_time{endpoint:home}: med<1s"]
        {
            text.parse::<Threshold>().unwrap().check(&known).unwrap_or_else(|error| panic!("{error}"));
        }
        let other: Threshold = "http_reqs{stage:1s:20/s}: count>1".parse().unwrap();
        assert!(other.check(&known).unwrap_err().to_string().contains("did you mean `1s:10/s`?"));
    }
}
