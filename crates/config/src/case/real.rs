//! What a fleet really did on the days of a case: the scaling activities of the group that the case describes.
//!
//! The group is the one that was asked for, otherwise the one that the origins of the service name, otherwise the only
//! one of the file. Nothing is guessed from similar names.

use super::{Case, Stage};
use import::aws::activities::{Activities, Group, Series, SeriesError};
use sim::settings::Service;

/// What was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The group whose activities are compared.
    pub group: Option<&'a str>,
    /// The service of the case that is compared; none: the one where traffic enters.
    pub service: Option<&'a str>,
    /// The desired number before the first activity.
    pub size_before: Option<u32>,
}

/// The real desired number of a group, for each stage.
#[derive(Debug, Clone)]
pub struct Real {
    /// The group.
    pub group: Group,
    /// The service of the case, by name.
    pub service: String,
    /// The stages that are compared, by their places in the case, each with the desired number over its measured time.
    pub stages: Vec<(usize, Series)>,
}

/// Why a case cannot be compared with activities.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RealError {
    /// The time of the simulation is not known.
    #[error(
        "stage `{stage}` has no date, and activities have dates; set `begins` of the case, such as `begins: 2026-03-02T00:00`, or use a traffic file that has dates"
    )]
    NoDate {
        /// The stage.
        stage: String,
    },
    /// A service that the case does not have.
    #[error("stage `{stage}` has no service `{service}`; it has {known}")]
    NoService {
        /// The stage.
        stage: String,
        /// What was asked for.
        service: String,
        /// The services.
        known: String,
    },
    /// The group that was asked for is not in the file.
    #[error("the file has no activities of `{group}`; it has those of {known}")]
    NoGroup {
        /// What was asked for.
        group: String,
        /// The groups of the file.
        known: String,
    },
    /// The file has other groups than that of the case.
    #[error(
        "the scaling of service `{service}` comes from `{group}` (its `origin`), but the file has activities of {known}; give the file of `{group}`, or choose a group with --group NAME"
    )]
    OtherGroup {
        /// The service of the case.
        service: String,
        /// Its group.
        group: String,
        /// The groups of the file.
        known: String,
    },
    /// The file has several groups, and none was chosen.
    #[error("the file has activities of {known}; choose one with --group NAME")]
    SeveralGroups {
        /// The groups of the file.
        known: String,
    },
    /// The activities do not give the number over the time of a stage.
    #[error("stage `{stage}`")]
    Series {
        /// The stage.
        stage: String,
        /// The reason.
        source: SeriesError,
    },
}

impl Case {
    /// The real desired number for the stages at `places`.
    ///
    /// # Errors
    /// The case has no dates, no such service or another group, or the activities are from other days.
    pub fn real(
        &self,
        places: &[usize],
        activities: &Activities,
        wanted: Wanted<'_>,
    ) -> Result<Real, RealError> {
        let stages: Vec<(usize, &Stage)> =
            places.iter().filter_map(|&place| Some((place, self.stages.get(place)?))).collect();
        let service = service(&stages, wanted.service)?;
        let group = self.group(&service, activities, wanted.group)?;
        let of_stage = |&(place, stage): &(usize, &Stage)| {
            let begins = stage.begins.ok_or_else(|| RealError::NoDate { stage: stage.name.clone() })?;
            let series = group.series(begins, stage.system.measured, wanted.size_before);
            let failed = |source| RealError::Series { stage: stage.name.clone(), source };
            Ok((place, series.map_err(failed)?))
        };
        let stages = stages.iter().map(of_stage).collect::<Result<_, _>>()?;
        Ok(Real { group: group.clone(), service, stages })
    }

    /// The group of the file that belongs to a service.
    fn group<'a>(
        &self,
        service: &str,
        activities: &'a Activities,
        wanted: Option<&str>,
    ) -> Result<&'a Group, RealError> {
        let groups = &activities.groups;
        let named = |name: &str| groups.iter().find(|group| group.name == name);
        let known = || quoted(groups.iter().map(|group| group.name.as_str()));
        if let Some(group) = wanted {
            let of_arn = group.strip_prefix("service/").unwrap_or(group);
            let missing = || RealError::NoGroup { group: group.to_owned(), known: known() };
            return named(of_arn).ok_or_else(missing);
        }
        let prefix = format!("services.{service}.");
        let origins = self.stages.iter().flat_map(|stage| &stage.origins);
        let of_service = origins.filter(|sourced| sourced.path.starts_with(&prefix));
        let origins: Vec<&str> = of_service.filter_map(|sourced| sourced.origin.group()).collect();
        match (origins.iter().find_map(|name| named(name)), origins.first(), &groups[..]) {
            (Some(group), _, _) => Ok(group),
            (None, Some(&group), _) => {
                let (service, group) = (service.to_owned(), group.to_owned());
                Err(RealError::OtherGroup { service, group, known: known() })
            }
            (None, None, [only]) => Ok(only),
            (None, None, _) => Err(RealError::SeveralGroups { known: known() }),
        }
    }
}

/// The name of the service to compare, which all stages have.
fn service(stages: &[(usize, &Stage)], wanted: Option<&str>) -> Result<String, RealError> {
    let first = stages.first().and_then(|(_, stage)| stage.system.services.first());
    let name = wanted.or(first.map(|service| service.name.as_str())).unwrap_or_default();
    for (_, stage) in stages {
        let services: &[Service] = &stage.system.services;
        if !services.iter().any(|service| service.name == name) {
            let known = quoted(services.iter().map(|service| service.name.as_str()));
            let (stage, service) = (stage.name.clone(), name.to_owned());
            return Err(RealError::NoService { stage, service, known });
        }
    }
    Ok(name.to_owned())
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
