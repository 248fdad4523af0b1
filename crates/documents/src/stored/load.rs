//! What load a run of the ledger had, from its configuration.

use super::Run;
use serde_json::Value as Json;

/// Load that was the same during the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Users of the closed model, without think time.
    Users(u32),
    /// A rate of the open model, in requests a second.
    Rate {
        /// The rate.
        rate: f64,
        /// Whether arrivals were at equal distances, and not random.
        even: bool,
    },
}

impl Run {
    /// The load of the run; none if it varied or is not known. Trials of a search have their arrivals from `parent`, the
    /// search.
    pub fn load(&self, parent: Option<&Run>) -> Option<Load> {
        let config: Json = serde_json::from_str(&self.config).ok()?;
        let number = |name: &str| config.get(name).and_then(Json::as_f64);
        match (config.get("model").and_then(Json::as_str), number("rate")) {
            (Some("closed"), _) => users(&config),
            (Some("open"), Some(rate)) => {
                Some(Load::Rate { rate, even: config.get("arrivals").and_then(Json::as_str) == Some("even") })
            }
            (None, Some(rate)) => Some(Load::Rate { rate, even: is_even(parent?)? }),
            (None, None) if config.get("purpose").and_then(Json::as_str) == Some("closed loop") => {
                users(&config)
            }
            _ => None,
        }
    }
}

fn users(config: &Json) -> Option<Load> {
    let users = config.get("connections")?.as_u64()?;
    u32::try_from(users).ok().filter(|users| *users > 0).map(Load::Users)
}

/// Whether the arrivals of the trials of a search are even: it has no seed for random ones then.
fn is_even(search: &Run) -> Option<bool> {
    let config: Json = serde_json::from_str(&search.config).ok()?;
    config.get("poisson_seed").map(Json::is_null)
}
