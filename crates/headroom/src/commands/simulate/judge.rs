//! Judges the rows of a case by what came out.

use config::case::Case;
use config::case::row::{Judged as Found, Row};
use documents::simulate::{Judged, Simulated, Verdict};
use units::Unit;

/// All rows of the case.
pub fn verdicts(case: &Case, simulated: &Simulated) -> Vec<Verdict> {
    let verdict = |row: &Row| Verdict {
        what: row.what.clone(),
        says: row.says.clone(),
        condition: row.text.clone(),
        reported: row.reported.clone(),
        judged: judged(case, row, simulated),
    };
    case.rows.iter().map(verdict).collect()
}

fn judged(case: &Case, row: &Row, simulated: &Simulated) -> Vec<Judged> {
    if row.references().iter().any(|reference| simulated.of(reference.stage).is_none()) {
        return Vec::new();
    }
    let of_seed = |seed: usize| {
        let Found { met, values, found } = row.judge(&|reference| {
            if simulated.withholds_costs() && reference.measure.unit() == Unit::Money {
                return None;
            }
            let outcome = simulated.of(reference.stage)?.outcomes.get(seed)?;
            reference.value(&case.stages[reference.stage], outcome)
        });
        Judged { met, values, found }
    };
    (0..simulated.seeds.len()).map(of_seed).collect()
}
