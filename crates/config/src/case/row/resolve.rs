//! Resolves the names of a row to indexes, and checks its units.

use super::parse::{RowSyntax, Syntax};
use super::{Condition, Measure, Operator, Reference, Sum, Wrong};
use crate::case::Stage;
use fields::suggestion;
use std::time::Duration;
use units::Unit;

/// Resolves names to indexes, with units.
pub(super) fn condition(syntax: RowSyntax, stages: &[Stage]) -> Result<Condition, Vec<Wrong>> {
    let mut wrongs = Vec::new();
    let mut side = |syntax: Syntax| {
        let text = syntax.shown();
        resolve(syntax, stages, &mut wrongs).map(|(sum, unit)| (sum, unit, text))
    };
    let condition = match syntax {
        RowSyntax::Chain(first, rest) => {
            let mut sides = vec![side(first)];
            let mut beside = Vec::new();
            for (sign, syntax) in rest {
                beside.push(sign);
                sides.push(side(syntax));
            }
            let sides: Option<Vec<_>> = sides.into_iter().collect();
            sides.map(|sides| {
                for pair in sides.windows(2) {
                    comparable(&pair[0], &pair[1], &mut wrongs);
                }
                Condition::Chain { sides: sides.into_iter().map(|side| (side.0, side.1)).collect(), beside }
            })
        }
        RowSyntax::Range(found, low, high) => {
            let (found, low, high) = (side(found), side(low), side(high));
            found.zip(low).zip(high).map(|((found, low), high)| {
                comparable(&found, &low, &mut wrongs);
                comparable(&found, &high, &mut wrongs);
                if let (Sum::Number(least), Sum::Number(most)) = (&low.0, &high.0)
                    && least > most
                {
                    let message = format!("the range {}..{} is empty", low.2, high.2);
                    wrongs.push(Wrong::new(message, "write the lower bound first"));
                }
                Condition::Range { side: (found.0, found.1), low: low.0, high: high.0 }
            })
        }
    };
    let measures = condition.as_ref().is_some_and(|condition| !condition.references().is_empty());
    if wrongs.is_empty() && !measures {
        wrongs.push(Wrong::new("a row without a measure says nothing", "write as in `baseline.p95 < 600ms`"));
    }
    match condition {
        Some(condition) if wrongs.is_empty() => Ok(condition),
        _ => Err(wrongs),
    }
}

fn comparable(left: &(Sum, Unit, String), right: &(Sum, Unit, String), wrongs: &mut Vec<Wrong>) {
    if plain(left.1) != plain(right.1) {
        let message = format!("`{}` is {}, `{}` is {}", left.2, word(left.1), right.2, word(right.1));
        wrongs.push(Wrong::new(message, format!("write {}", example(left.1))));
    }
}

fn resolve(syntax: Syntax, stages: &[Stage], wrongs: &mut Vec<Wrong>) -> Option<(Sum, Unit)> {
    match syntax {
        Syntax::Number(value, unit, _) => Some((Sum::Number(value), unit)),
        Syntax::Measure { names, within } => {
            reference(&names, within, stages, wrongs).map(|found| (Sum::Measure(found), found.measure.unit()))
        }
        Syntax::Of(operator, left, right) => {
            let words = (left.shown(), right.shown());
            let left = resolve(*left, stages, wrongs);
            let right = resolve(*right, stages, wrongs);
            let ((left, left_unit), (right, right_unit)) = left.zip(right)?;
            let unit = match operator {
                Operator::Plus | Operator::Minus if plain(left_unit) == plain(right_unit) => left_unit,
                Operator::Over if plain(left_unit) == plain(right_unit) => Unit::Number,
                Operator::Over if plain(right_unit) == Unit::Number => left_unit,
                Operator::Times if plain(right_unit) == Unit::Number => left_unit,
                Operator::Times if plain(left_unit) == Unit::Number => right_unit,
                _ => {
                    let (left, right) = (word(left_unit), word(right_unit));
                    let message = format!("`{}` is {left}, `{}` is {right}", words.0, words.1);
                    wrongs.push(Wrong::new(message, "add and divide like with like, multiply by a number"));
                    return None;
                }
            };
            Some((Sum::Of(operator, Box::new(left), Box::new(right)), unit))
        }
    }
}

fn reference(
    names: &[String],
    within: Option<(Duration, Duration)>,
    stages: &[Stage],
    wrongs: &mut Vec<Wrong>,
) -> Option<Reference> {
    let (stage_name, service_name, measure_name) = match names {
        [stage, measure] => (stage, None, measure),
        [stage, service, measure] => (stage, Some(service), measure),
        _ => {
            let message = format!("`{}` is no measure", names.join("."));
            wrongs.push(Wrong::new(message, "write `stage.measure` or `stage.service.measure`"));
            return None;
        }
    };
    let before = wrongs.len();
    let stage = stages.iter().position(|stage| stage.name == *stage_name);
    if stage.is_none() {
        let help = suggestion(stage_name, stages.iter().map(|stage| stage.name.as_str()));
        wrongs.push(Wrong::new(format!("unknown stage `{stage_name}`"), help));
    }
    let mut service = None;
    if let (Some(stage), Some(name)) = (stage, service_name) {
        let services = &stages[stage].system.services;
        match services.iter().position(|service| service.name == *name) {
            Some(place) => service = Some(place),
            None => {
                let help = suggestion(name, services.iter().map(|service| service.name.as_str()));
                wrongs.push(Wrong::new(format!("stage `{stage_name}` has no service `{name}`"), help));
            }
        }
    }
    let measure = Measure::named(measure_name);
    if measure.is_none() {
        let help = suggestion(measure_name, Measure::names());
        wrongs.push(Wrong::new(format!("unknown measure `{measure_name}`"), help));
    }
    if let (Some(measure), Some(_)) = (measure, within)
        && !measure.by_minute()
    {
        let message = format!("`{measure_name}` is of the whole time, not of a part of the day");
        wrongs.push(Wrong::new(message, "leave the window out, or take a measure of minutes such as `p95`"));
    }
    if wrongs.len() > before {
        return None;
    }
    Some(Reference { stage: stage?, service, measure: measure?, within })
}

/// Shares are numbers.
fn plain(unit: Unit) -> Unit {
    if unit == Unit::Share { Unit::Number } else { unit }
}

fn word(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "a number",
        Unit::Share => "a share",
        Unit::Time => "a time",
        Unit::Rate => "a rate",
        Unit::Money => "an amount of money",
    }
}

fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "a number such as `15`",
        Unit::Share => "a share such as `20%`",
        Unit::Time => "a time such as `600ms`",
        Unit::Rate => "a rate such as `124.8/s`",
        Unit::Money => "US dollars such as `$0.44`",
    }
}
