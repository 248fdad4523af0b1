//! An experiment on a gateway with its mirrors and its capture, and without them: the traffic is what is there.

use super::check::{
    BLOCK, BLOCK_MIN, BLOCKS, BLOCKS_MIN, DAY, EFFECT, HARM, MARGIN, TIME, TIME_MIN, WARM_UP, ends, share,
    span,
};
use super::file::ExperimentTable;
use super::{Ends, Primary};
use crate::check::admin::address;
use fields::{At, Place, Report, Text, check_name, word};
use gateway::settings::Admin;
use std::path::Path;
use std::time::Duration;

/// What mirroring costs a gateway.
#[derive(Debug, Clone, PartialEq)]
pub struct Mirroring {
    /// The name of the experiment.
    pub name: String,
    /// The admin listener of the gateway.
    pub gateway: Admin,
    /// The measure that decides; never [`Primary::Memory`].
    pub primary: Primary,
    /// Relative effects up to this are called the same.
    pub margin: f64,
    /// The experiment ends if the primary measure is worse by more than this with copies.
    pub harm: f64,
    /// The relative effect that the experiment is planned for.
    pub effect: f64,
    /// The longest time of the experiment, with the warm-up and the noise floor.
    pub time: Duration,
    /// How long the traffic is watched before anything is changed.
    pub warm_up: Duration,
    /// How long each of both is measured in a block.
    pub block: Duration,
    /// When the experiment ends.
    pub ends: Ends,
}

/// The experiment; only valid if there are no problems.
pub(super) fn mirroring(
    file: &ExperimentTable,
    at: &At<Text>,
    report: &mut Report,
    folder: &Path,
) -> Option<Mirroring> {
    if let Some(name) = &file.experiment.0 {
        check_name(&name.value.0, &name.place, report);
    }
    refuse_others(file, report);
    // Users copy the address with its scheme, as `curl` needs it.
    let text = at.value.0.strip_prefix("http://").unwrap_or(&at.value.0);
    let listen = address(text.trim_end_matches('/'), &at.place, report);
    let time = span(file.time.as_ref(), TIME, (TIME_MIN, DAY), report);
    let block = span(file.block.as_ref(), BLOCK.min(time / BLOCKS), (BLOCK_MIN, time / BLOCKS_MIN), report);
    Some(Mirroring {
        gateway: Admin {
            listen: listen?,
            token_file: file.token_file.as_ref().map(|at| folder.join(&at.value.0)),
        },
        primary: word(file.primary.as_ref(), &PRIMARIES, report),
        margin: share(file.margin.as_ref(), MARGIN, report),
        harm: share(file.harm.as_ref(), HARM, report),
        effect: share(file.effect.as_ref(), EFFECT, report),
        time,
        warm_up: span(file.warm_up.as_ref(), WARM_UP, (WATCH_MIN, time / 2), report),
        block,
        ends: ends(file, report),
        name: file.experiment.0.as_ref()?.value.0.clone(),
    })
}

/// Refuses the keys of services and of load.
fn refuse_others(file: &ExperimentTable, report: &mut Report) {
    fn place<T>(at: &Option<At<T>>) -> Option<&Place> {
        at.as_ref().map(|at| &at.place)
    }
    let others = [
        ("variable", place(&file.variable)),
        ("load", place(&file.load)),
        ("control", place(&file.control)),
        ("candidates", place(&file.candidates)),
        ("vary", place(&file.vary)),
        ("service", place(&file.service)),
        ("find", place(&file.find)),
        ("second_control", place(&file.second_control)),
        ("shared", place(&file.shared)),
        ("design", place(&file.design)),
        ("hypothesis", place(&file.hypothesis)),
        ("max_lag", place(&file.max_lag)),
        ("compare_answers", place(&file.compare_answers)),
        ("fleet", place(&file.fleet)),
        ("ready_within", place(&file.ready_within)),
    ];
    for (name, place) in others {
        if let Some(place) = place {
            let message = format!("`{name}` beside `mirroring`");
            let help = "remove it: with `mirroring`, a running gateway is compared with itself, with copies and without, \
                        under the traffic that is there";
            report.wrong(place, message, "no effect", help.to_owned());
        }
    }
}

/// The measures that may decide, the usual one first.
const PRIMARIES: [(&str, Primary); 6] = [
    ("processor_time", Primary::ProcessorTime),
    ("live_processor_time", Primary::LiveProcessorTime),
    ("p50", Primary::P50),
    ("p95", Primary::P95),
    ("p99", Primary::P99),
    ("errors", Primary::Errors),
];

/// The traffic has to be seen before it is compared.
const WATCH_MIN: Duration = Duration::from_secs(1);
