//! The scaling activities that a simulation is compared with.

use crate::commands::import;
use ::import::aws::activities::{self, Activities};
use config::case::{Case, Real, RealError, Wanted};
use documents::simulate::{RealScaling, Simulated};
use std::path::PathBuf;
use thiserror::Error;

/// Where the activities come from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Comparison with real scaling")]
pub struct RealArgs {
    /// Compare the desired number of instances with scaling activities: JSON of the AWS CLI; - for standard input
    ///
    /// FILE is the output of `aws autoscaling describe-scaling-activities` or `aws application-autoscaling
    /// describe-scaling-activities`. The case needs the same days: `begins` with a date, and traffic of these days. The
    /// result is a score from 0 to 1.
    #[arg(long, value_name = "FILE")]
    pub activities: Option<PathBuf>,

    /// Auto Scaling group or ECS service (CLUSTER/SERVICE) [default: the one that the case comes from, or the only one]
    #[arg(long, value_name = "NAME", requires = "activities")]
    group: Option<String>,

    /// Service of the case [default: the first one]
    #[arg(long, value_name = "NAME", requires = "activities")]
    service: Option<String>,

    /// Number of instances before the first activity, if the activities do not show it (ECS)
    #[arg(long, value_name = "COUNT", requires = "activities")]
    size_before: Option<u32>,
}

/// Why nothing can be compared.
#[derive(Debug, Error)]
pub enum ActivitiesError {
    /// The file cannot be read; all problems.
    #[error("{}", .0.join("\nerror: "))]
    File(Vec<String>),
    /// The file does not fit the case.
    #[error(transparent)]
    Case(#[from] RealError),
}

/// The activities with the real number of instances.
pub struct Read {
    activities: Activities,
    real: Real,
}

impl RealArgs {
    /// Reads the activities; none where no comparison was asked for.
    ///
    /// # Errors
    /// The file cannot be read, or does not fit the case.
    pub fn read(&self, case: &Case, stages: &[usize]) -> Result<Option<Read>, ActivitiesError> {
        let Some(path) = &self.activities else { return Ok(None) };
        let texts = import::read(std::slice::from_ref(path)).map_err(ActivitiesError::File)?;
        let [(name, text)] = &texts[..] else { return Ok(None) };
        let shown = |errors: Vec<_>| ActivitiesError::File(errors.iter().map(ToString::to_string).collect());
        let activities = activities::read(name, text).map_err(shown)?;
        let (group, service) = (self.group.as_deref(), self.service.as_deref());
        let wanted = Wanted { group, service, size_before: self.size_before };
        let real = case.real(stages, &activities, wanted)?;
        Ok(Some(Read { activities, real }))
    }
}

impl Read {
    /// The simulation beside it.
    pub fn compared(&self, simulated: &Simulated) -> RealScaling {
        let Real { group, service, stages } = &self.real;
        RealScaling::of(simulated, service, &self.activities, group, stages)
    }
}
