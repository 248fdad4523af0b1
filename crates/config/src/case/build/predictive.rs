//! Predictive scaling: its load, its target, and the hours before the simulated time.

use super::Builder;
use crate::case::calendar::micros;
use crate::case::counts;
use crate::case::scaling_file::PolicyTable;
use control::scaling::PredictiveScaling;
use control::scaling::predictive::{AboveMax, Load, Mode};
use fields::{At, Place, Text, suggestion, word};
use sim::settings::Metric;
use std::sync::Arc;
use std::time::Duration;

impl Builder<'_> {
    pub(super) fn predictive(&mut self, table: &PolicyTable, place: &Place) -> Option<PredictiveScaling> {
        let of = table.predict.as_ref()?;
        let loads = [("cpu", Load::Cpu), ("requests-per-target", Load::Requests)];
        let Some((_, load)) = loads.into_iter().find(|(name, _)| *name == of.value.0) else {
            let help = suggestion(&of.value.0, loads.iter().map(|(name, _)| *name));
            self.report.wrong(&of.place, format!("unknown load `{}`", of.value.0), "this value", help);
            return None;
        };
        if load == Load::Cpu && !self.knows_cpu(&of.place) {
            return None;
        }
        let Some(target) = &table.target else {
            let help = "write `target: 60%` for cpu, or requests a minute".to_owned();
            self.report.wrong(place, "`predict` needs a `target`".to_owned(), "in this policy", help);
            return None;
        };
        let target = self.amount(
            target,
            match load {
                Load::Cpu => Metric::CpuUtilization,
                Load::Requests => Metric::RequestCountPerTarget,
            },
        )?;
        let modes = [("forecast-and-scale", Mode::ForecastAndScale), ("forecast-only", Mode::ForecastOnly)];
        let above = [("honor", false), ("increase", true)];
        let increase = word(table.above_max.as_ref(), &above, self.report);
        if let Some(at) = table.max_buffer.as_ref().filter(|_| !increase) {
            let help = "write `above_max: increase`, or remove it".to_owned();
            self.report.wrong(
                &at.place,
                "`max_buffer` without `above_max: increase`".to_owned(),
                "no effect",
                help,
            );
        }
        // Shares are at most 100 %.
        let percent = table.max_buffer.as_ref().map_or(10, |at| (at.value.0.get() * 100.0).round() as u8);
        let starts = self.calendar.starts(self.warm_up);
        let history = match &table.history {
            Some(at) if load == Load::Cpu => {
                let message = "a history of requests does not say what processors did".to_owned();
                let help = "write `predict: requests-per-target`, or remove `history`: the forecast then begins after a \
                            simulated day";
                self.report.wrong(&at.place, message, "with `predict: cpu`", help.to_owned());
                return None;
            }
            Some(at) => self.history(at, starts)?,
            None => Vec::new(),
        };
        Some(PredictiveScaling {
            mode: word(table.mode.as_ref(), &modes, self.report),
            buffer: table.buffer.as_ref().map_or(Duration::from_secs(300), |at| at.value.0),
            above_max: if increase { AboveMax::Increase { percent } } else { AboveMax::Honor },
            history: Arc::from(history),
            into_hour: Duration::from_micros(u64::try_from(starts.rem_euclid(micros(HOUR))).unwrap_or(0)),
            ..PredictiveScaling::new(load, target)
        })
    }

    /// The whole hours before the one in which the simulated time begins.
    fn history(&mut self, file: &At<Text>, starts: i64) -> Option<Vec<Option<f64>>> {
        let name = &file.value.0;
        let read = match counts::read_hours(&self.folder.join(name)) {
            Ok(read) => read,
            Err(messages) => {
                let help =
                    "`headroom import traffic` makes a table of it; paths are relative to the case file";
                for message in messages {
                    self.report.wrong(&file.place, message, "this file", help.to_owned());
                }
                return None;
            }
        };
        let mut loads = read.loads;
        let hour = micros(HOUR);
        let first_simulated = starts - starts.rem_euclid(hour);
        let begins = match read.start {
            Some(_) if !self.calendar.is_dated() => {
                let help = "write `begins` with a date, or traffic with times".to_owned();
                let message = format!("{name} has dates, and the simulated time has none");
                self.report.wrong(&file.place, message, "this file", help);
                return None;
            }
            Some(begins) => begins,
            // It ends where the measured time begins.
            None => self.calendar.begins() - hour.saturating_mul(i64::try_from(loads.len()).unwrap_or(0)),
        };
        let known = usize::try_from((first_simulated - begins).div_euclid(hour)).unwrap_or(0);
        if known == 0 || known > loads.len() + MOST_PADDED {
            let shown = |at: i64| self.calendar.civil(at).strftime("%Y-%m-%d %H:%M").to_string();
            let ends = begins + hour.saturating_mul(i64::try_from(loads.len()).unwrap_or(0));
            let message = format!(
                "{name} covers {} to {}, and the simulated time begins at {}",
                shown(begins),
                shown(ends),
                shown(starts)
            );
            let help = "bring the days before: at most two may be missing in between".to_owned();
            self.report.wrong(&file.place, message, "no history", help);
            return None;
        }
        loads.resize(known, None);
        Some(loads)
    }
}

const HOUR: Duration = Duration::from_secs(3600);
/// Hours that may be missing between the history and the simulated time.
const MOST_PADDED: usize = 48;
