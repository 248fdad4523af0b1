//! The grid that is simulated instead of the stages.

use super::Error;
use config::case::{Grid, Vary};
use documents::simulate::Varied;

/// Flags of grids.
#[derive(Debug, clap::Args)]
pub struct GridArgs {
    /// Simulate a stage with each of several values of a key, such as traffic.rate=50/s,100/s; repeatable
    ///
    /// With several keys, every combination is simulated. KEY is the path of the key as messages show it, where the items
    /// of lists are counted from 0; a value is YAML, and ~ removes the key. The stage is that of --stage [default: the
    /// first].
    #[arg(long, value_name = "KEY=V1,V2", conflicts_with_all = ["compare", "activities"])]
    vary: Vec<Vary>,
}

impl GridArgs {
    /// Whether a key is varied.
    pub fn is_given(&self) -> bool {
        !self.vary.is_empty()
    }

    /// The grid; none without keys.
    pub fn of(&self, stages: &[String]) -> Result<Option<Grid>, Error> {
        match (self.vary.as_slice(), stages) {
            ([], _) => Ok(None),
            (_, [_, _, ..]) => Err(Error::StagesOfGrid(stages.len())),
            (keys, stages) => Ok(Some(Grid { stage: stages.first().cloned(), keys: keys.to_vec() })),
        }
    }
}

/// The keys and values of a grid, for the result.
pub fn varied(grid: &Grid) -> Varied {
    Varied {
        keys: grid.keys.iter().map(|vary| vary.key.clone()).collect(),
        values: grid.values().map(|values| values.into_iter().map(str::to_owned).collect()).collect(),
    }
}
