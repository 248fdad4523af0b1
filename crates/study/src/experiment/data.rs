//! The blocks of an experiment as its document keeps them.

use super::measures::Chosen;
use control::trial::{Arm, Assignment, Block as Observed};
use documents::experiment::{Block, BlockPart, Column, Data};
use std::time::Duration;

/// Data without blocks yet.
pub(super) fn begin(arms: Vec<String>, measures: &[Chosen], routes: &[String]) -> Data {
    let column =
        |chosen: &Chosen| Column { route: route_of(chosen, routes), measure: chosen.name, unit: chosen.unit };
    Data { arms, measures: measures.iter().map(column).collect(), blocks: Vec::new() }
}

/// The route of a measure, as results name it.
pub(super) fn route_of(chosen: &Chosen, routes: &[String]) -> String {
    chosen.route.and_then(|route| routes.get(route)).map_or_else(|| "all".to_owned(), Clone::clone)
}

/// A block that ended after this time, whose arms are at these places.
pub(super) fn block(
    ended: Duration,
    void: Option<String>,
    assignment: &Assignment,
    observed: &Observed,
    place: impl Fn(Arm) -> usize,
) -> Block {
    let part = |(arm, seen): (&Arm, &control::trial::Seen)| BlockPart {
        arm: place(*arm),
        requests: seen.offered,
        values: seen.values.clone(),
    };
    Block {
        ended: ended.as_secs_f64(),
        void,
        parts: assignment.arms.iter().zip(&observed.arms).map(part).collect(),
    }
}
