//! Access logs as counts in bins.
//!
//! A log of ten million lines is read once and no line is stored: memory depends on the time that the log covers, not
//! on its length. Lines are written when responses end and come from several machines, so being slightly out of order
//! is normal and not reported.

use super::bins::Filler;
use super::notice::{Notice, Place, Spot};
use super::tally::Tally;
use super::{BadLines, MOST_BINS, Traffic, TrafficError, TrafficOptions};
use crate::{Entries, Entry, LineError};
use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

/// Requests in bins, of one or several logs.
#[derive(Debug)]
pub(super) struct LogBins {
    bin: i64,
    counts: Tally,
    total: u64,
    /// The bin of the last line, which is probably also that of the next.
    current: (i64, u64),
    first: Option<(i64, Arc<str>)>,
    last: Option<(i64, Arc<str>)>,
}

impl LogBins {
    /// # Panics
    /// Never: a bin of less than a microsecond is taken as one.
    pub(super) fn new(bin: Duration) -> LogBins {
        let bin = i64::try_from(bin.as_micros()).unwrap_or(i64::MAX).max(1);
        LogBins { bin, counts: Tally::default(), total: 0, current: (i64::MIN, 0), first: None, last: None }
    }

    /// Counts the requests of a log.
    pub(super) fn add<R: BufRead>(
        &mut self,
        name: &str,
        format: &'static str,
        entries: Entries<R>,
        allowed: BadLines,
        notices: &mut Vec<Notice>,
        errors: &mut Vec<TrafficError>,
    ) {
        let file: Arc<str> = name.into();
        let (mut lines, mut broken, mut without_time, mut health) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut first: Vec<LineError> = Vec::new();
        for entry in entries {
            lines += 1;
            match entry {
                Ok(entry) => match entry.at {
                    Some(at) => {
                        health += u64::from(is_health_check(&entry));
                        self.count(at.start(entry.response_time), &file);
                    }
                    None => without_time += 1,
                },
                Err(error) => {
                    broken += 1;
                    if first.len() < TOLD {
                        first.push(error);
                    }
                }
            }
        }
        self.flush();
        let too_many = match allowed {
            BadLines::Refuse => broken > 0,
            BadLines::Few => broken > lines / 100,
            BadLines::Skip => broken > 0 && broken == lines,
        };
        if too_many {
            let told = first.into_iter().map(|error| TrafficError::Line { file: name.to_owned(), error });
            errors.extend(told);
            errors.push(TrafficError::BrokenLines { file: name.to_owned(), format, broken, lines });
        } else if broken > 0 {
            notices.push(Notice::BrokenLines { file: file.clone(), broken, lines, first, allowed });
        }
        let requests = lines - broken;
        if without_time > 0 && without_time == requests {
            errors.push(TrafficError::NoTimes { file: name.to_owned(), lines: requests });
        } else if without_time > 0 {
            notices.push(Notice::WithoutTime { file: file.clone(), requests: without_time });
        }
        if health > 0 {
            notices.push(Notice::HealthChecks { file, requests: health });
        }
    }

    /// Counts a request; [`LogBins::flush`] comes after the last of a file.
    pub(super) fn count(&mut self, at: i64, file: &Arc<str>) {
        let bin = at.div_euclid(self.bin);
        if bin != self.current.0 {
            self.flush();
            self.current.0 = bin;
        }
        self.current.1 += 1;
        if self.first.as_ref().is_none_or(|(first, _)| at < *first) {
            self.first = Some((at, file.clone()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| at > *last) {
            self.last = Some((at, file.clone()));
        }
    }

    pub(super) fn flush(&mut self) {
        let (bin, count) = self.current;
        if count > 0 {
            self.counts.add(bin, count);
            self.total += count;
        }
        self.current = (i64::MIN, 0);
    }

    /// The traffic. Stretches without requests where some are expected are filled as configured, and reported.
    pub(super) fn finish(
        self,
        options: &TrafficOptions,
        notices: &mut Vec<Notice>,
    ) -> Result<Traffic, Vec<TrafficError>> {
        let bin = Duration::from_micros(self.bin.unsigned_abs());
        let (Some((first, first_file)), Some((last, last_file))) = (self.first, self.last) else {
            return Err(vec![TrafficError::Empty]);
        };
        let begin = first.div_euclid(self.bin);
        let bins = last.div_euclid(self.bin).abs_diff(begin).saturating_add(1);
        if bins > MOST_BINS {
            let place = |file| Place { file, spot: Spot::Whole };
            let (first_place, last_place) = (place(first_file), place(last_file));
            return Err(vec![TrafficError::TooFar { first, first_place, last, last_place, bins, bin }]);
        }
        let mean = self.total as f64 / bins as f64;
        let mut filler = Filler::new(options.gaps, bins);
        let (mut errors, mut empty) = (Vec::new(), 0_u64);
        // The first and the last bin have a request.
        let mut silent = 0_u64;
        for place in begin..=last.div_euclid(self.bin) {
            let count = self.counts.get(place);
            if count == 0 {
                silent += 1;
                empty += 1;
                continue;
            }
            if silent > 0 && (silent < SHORT_SILENCE || mean * (silent as f64) < EXPECTED) {
                (0..silent).for_each(|_| filler.given(0.0));
            } else if silent > 0 {
                filler.missing(silent, count as f64);
                let from = place.saturating_sub_unsigned(silent).saturating_mul(self.bin);
                let span = bin.saturating_mul(u32::try_from(silent).unwrap_or(u32::MAX));
                if options.gaps == super::Gaps::Refuse {
                    errors.push(TrafficError::Silence { from, span });
                } else {
                    notices.push(Notice::Silence { from, span, filled: options.gaps });
                }
            }
            silent = 0;
            filler.given(count as f64);
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if empty > 0 && options.format == Some(super::TrafficFormat::Events) {
            notices.push(Notice::EmptyBins { empty, bins, bin });
        }
        Ok(Traffic { start: Some(begin.saturating_mul(self.bin)), bin, counts: filler.counts })
    }
}

/// Whether a request is a health check.
fn is_health_check(entry: &Entry) -> bool {
    let agents = entry.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
    agents.into_iter().any(|(_, agent)| HEALTH_CHECKS.iter().any(|check| agent.starts_with(check)))
}

const HEALTH_CHECKS: [&str; 4] =
    ["ELB-HealthChecker/", "kube-probe/", "GoogleHC/", "Amazon-Route53-Health-Check"];
/// The number of broken lines that are reported in full.
const TOLD: usize = 3;
/// Shorter silences are normal.
const SHORT_SILENCE: u64 = 5;
/// With this many expected requests, none at all is not due to chance: at a hundred its probability is e^-100.
const EXPECTED: f64 = 100.0;

#[cfg(test)]
mod tests;
