//! The squeeze file: which pool of which gateway, what an instance has to hold, and what must not happen meanwhile.
//!
//! ```text
//! text --yaml--> tree with spans --table--> SqueezeTable --check--> Squeeze
//! ```
//!
//! The traffic is named, not read: the command reads it.

pub(crate) mod file;

use crate::check::admin::address;
use crate::check::span_between;
use control::search::{Condition, Goal};
use control::squeeze::Guards;
use fields::{At, Place, Problems, Report, Share, check_name};
use file::{GuardsTable, SqueezeTable};
use gateway::settings::Admin;
use serde_json::Value;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::Ratio;

/// The contents of a squeeze file.
#[derive(Debug, Clone, PartialEq)]
pub struct Squeeze {
    /// Its name.
    pub name: String,
    /// The admin listener of the gateway.
    pub gateway: Admin,
    /// The pool.
    pub pool: String,
    /// What an instance has to hold.
    pub goal: Goal,
    /// How many instances get the larger share.
    pub instances: NonZeroU32,
    /// How much their rate grows in a step; above 0.
    pub step: Ratio,
    /// The interval is narrow enough at this width; above 0.
    pub precision: Ratio,
    /// The longest time.
    pub time: Duration,
    /// What must hold for all requests of the pool.
    pub guards: Guards,
    /// The traffic to count instances for.
    pub traffic: Option<PathBuf>,
}

/// Reads a squeeze file. Paths are relative to its own directory.
///
/// # Errors
/// All problems of the file, or it cannot be read.
pub fn read(path: &Path) -> Result<Squeeze, Problems> {
    let text = fields::text_of(path, "a squeeze file is UTF-8 text; see examples/squeeze.yaml")?;
    parse(&path.display().to_string(), &text, path.parent().unwrap_or(Path::new("")))
}

/// Parses the text of a squeeze file. `name` is its name in messages; paths in it are relative to `base_dir`.
///
/// # Errors
/// See [`read`]; if it is not valid YAML, only the first problem.
pub fn parse(name: &str, text: &str, base_dir: &Path) -> Result<Squeeze, Problems> {
    let mut report = Report::new(name, text);
    let file = fields::read_tables::<SqueezeTable>(text, &mut report);
    match file.and_then(|file| checked(&file, &mut report, base_dir)) {
        Some(squeeze) if report.problems.is_empty() => Ok(squeeze),
        _ => Err(Problems::of(report.problems).unwrap_or_else(|| unreachable!("the report says why not"))),
    }
}

/// The JSON Schema of a squeeze file, as draft 2020-12.
pub fn schema() -> Value {
    fields::schema_of::<SqueezeTable>("headroom squeeze file")
}

/// The schema as it is stored in the repository, with a final newline.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// The squeeze; only valid if there are no problems.
fn checked(file: &SqueezeTable, report: &mut Report, folder: &Path) -> Option<Squeeze> {
    if let Some(name) = &file.squeeze.0 {
        check_name(&name.value.0, &name.place, report);
    }
    let listen = file.gateway.0.as_ref().and_then(|at| {
        // Users copy the address with its scheme, as `curl` needs it.
        let text = at.value.0.strip_prefix("http://").unwrap_or(&at.value.0);
        address(text.trim_end_matches('/'), &at.place, report)
    });
    let goal = file.goal.0.as_ref().and_then(|at| {
        let conditions = at.value.0.iter().map(|goal| goal.0).collect();
        let refused = |error: control::search::GoalError| {
            report.wrong(&at.place, error.to_string(), "this goal", "write `p(95)<100ms`".to_owned());
        };
        Goal::new(conditions).map_err(refused).ok()
    });
    let instances = match &file.instances {
        None => Some(NonZeroU32::MIN),
        Some(at) => {
            if at.value.0 == 0 {
                let help = "1 is usual: the fewer there are, the more load each gets".to_owned();
                report.wrong(&at.place, "no instance".to_owned(), "zero", help);
            }
            NonZeroU32::new(at.value.0)
        }
    };
    let step = share(file.step.as_ref(), STEP, STEPS, report);
    let precision = share(file.precision.as_ref(), PRECISION, PRECISIONS, report);
    let time = span_between(file.time.as_ref(), TIME, TIMES, report);
    let guards = guards(file.guards.as_ref(), report);
    let path = |at: &At<fields::Text>| folder.join(&at.value.0);
    Some(Squeeze {
        name: file.squeeze.0.as_ref()?.value.0.clone(),
        gateway: Admin { listen: listen?, token_file: file.token_file.as_ref().map(path) },
        pool: file.pool.0.as_ref()?.value.0.clone(),
        goal: goal?,
        instances: instances?,
        step,
        precision,
        time,
        guards,
        traffic: file.traffic.as_ref().map(path),
    })
}

fn guards(at: Option<&At<GuardsTable>>, report: &mut Report) -> Guards {
    let table = at.map(|at| &at.value);
    let response_time = table.and_then(|table| table.response_time.as_ref()).map(|at| {
        if matches!(at.value.0, Condition::Failed { .. }) {
            let help = "write a condition such as `p(99)<1s`; failures are those of `errors`".to_owned();
            report.wrong(&at.place, "not a condition on response times".to_owned(), "this value", help);
        }
        at.value.0
    });
    let processor = table.and_then(|table| table.processor.as_ref());
    Guards {
        errors: share(
            table.and_then(|table| table.errors.as_ref()),
            ERRORS,
            (Ratio::ZERO, Ratio::ONE),
            report,
        ),
        response_time,
        processor: processor.map(|at| share(Some(at), Ratio::ONE, (SOME, Ratio::ONE), report)),
    }
}

fn share(at: Option<&At<Share>>, usual: Ratio, (least, most): (Ratio, Ratio), report: &mut Report) -> Ratio {
    let Some(At { value: Share(share), place }) = at else { return usual };
    if *share < least || *share > most {
        outside(place, *share, (least, most), usual, report);
    }
    *share
}

fn outside(place: &Place, found: Ratio, (least, most): (Ratio, Ratio), usual: Ratio, report: &mut Report) {
    let message = format!("{found} is outside {least} to {most}");
    report.wrong(place, message, "this value", format!("{usual} is usual"));
}

const STEP: Ratio = Ratio::new(0.1).expect("a share");
/// With larger steps, the first one above the limit would overload the instance.
const STEPS: (Ratio, Ratio) = (SOME, Ratio::new(0.5).expect("a share"));
const PRECISION: Ratio = Ratio::new(0.03).expect("a share");
const PRECISIONS: (Ratio, Ratio) = (Ratio::new(0.005).expect("a share"), Ratio::new(0.5).expect("a share"));
const ERRORS: Ratio = Ratio::new(0.01).expect("a share");
const SOME: Ratio = Ratio::new(0.01).expect("a share");
const TIME: Duration = Duration::from_secs(600);
/// A baseline and a trial are the least; a day is more than anyone waits for.
const TIMES: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(86_400));
