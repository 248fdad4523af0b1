//! Rows with times, put into bins: sorted, checked for duplicates and gaps, filled.
//!
//! Everything that is not as it should be is told once, with its first place and how often it is so: a table of
//! a hundred thousand rows can have a hundred thousand times the same problem.

use super::notice::{Gap, Notice, Place, Spot};
use super::{Duplicates, Gaps, MOST_BINS, Traffic, TrafficError, TrafficOptions};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// Microseconds since 1970, or an index.
    pub(super) at: i64,
    pub(super) amount: f64,
    /// Which of the files' names.
    pub(super) file: u32,
    pub(super) spot: Spot,
}

/// The rows of a file.
#[derive(Debug)]
pub(super) struct Series {
    name: Arc<str>,
    /// Files, or pages of one.
    files: Vec<Arc<str>>,
    /// Rows have times, not an index.
    calendar: bool,
    /// The order of rows says nothing.
    pub(super) any_order: bool,
    /// A row that is there twice with the same count is an overlap of pages.
    pub(super) pages: bool,
    /// Times are civil ones, and UTC is assumed.
    pub(super) without_zone: bool,
    /// How wide the source says that a row is.
    pub(super) row: Option<Duration>,
    /// Amounts are a rate.
    pub(super) per: Option<Duration>,
    pub(super) samples: Vec<Sample>,
}

impl Series {
    pub(super) fn new(name: &str, calendar: bool) -> Series {
        Series {
            name: name.into(),
            files: Vec::new(),
            calendar,
            any_order: false,
            pages: false,
            without_zone: false,
            row: None,
            per: None,
            samples: Vec::new(),
        }
    }

    /// The number of a file's name.
    pub(super) fn file(&mut self, name: &Arc<str>) -> u32 {
        let at = self.files.iter().position(|file| file == name).unwrap_or_else(|| {
            self.files.push(name.clone());
            self.files.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Tells of rows that are earlier than the one before.
    fn order(&self, notices: &mut Vec<Notice>) {
        let early = |pair: &[Sample]| pair[1].at < pair[0].at;
        let mut early = self.samples.windows(2).filter(|pair| early(pair));
        let Some(first) = early.next() else { return };
        let backwards = self.samples.windows(2).all(|pair| pair[1].at <= pair[0].at);
        if self.any_order || backwards {
            return;
        }
        let rows = 1 + early.count() as u64;
        let by = Duration::from_micros(first[1].at.abs_diff(first[0].at));
        notices.push(Notice::OutOfOrder { rows, first: self.place(&first[1]), by });
    }

    fn place(&self, sample: &Sample) -> Place {
        let file = self.files.get(sample.file as usize).unwrap_or(&self.name).clone();
        Place { file, spot: sample.spot }
    }

    /// The step that most rows are after the one before, in the order of time.
    fn step(&self, options: &TrafficOptions) -> Option<i64> {
        let given = options.row.or(self.row).map(micros);
        if given.is_some() {
            return given;
        }
        let mut times: Vec<i64> = self.samples.iter().map(|sample| sample.at).collect();
        times.sort_unstable();
        let mut steps: HashMap<i64, u64> = HashMap::new();
        for pair in times.windows(2) {
            *steps.entry(pair[1] - pair[0]).or_default() += 1;
        }
        steps.remove(&0);
        steps.into_iter().min_by_key(|(step, times)| (u64::MAX - times, *step)).map(|(step, _)| step)
    }
}

/// A bin, before gaps are filled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Filled {
    Given(f64),
    Missing,
}

/// Puts all rows together.
pub(super) fn assemble(
    all: Vec<Series>,
    options: &TrafficOptions,
    notices: &mut Vec<Notice>,
) -> Result<Traffic, Vec<TrafficError>> {
    let calendar = all.first().is_some_and(|series| series.calendar);
    if all.iter().any(|series| series.calendar != calendar) {
        return Err(vec![TrafficError::Mixed]);
    }
    for series in &all {
        series.order(notices);
    }
    let step = step(&all, calendar, options)?;
    let row = Duration::from_micros(step.unsigned_abs());
    let mut rows = Rows::of(all, if calendar { step } else { 1 }, row);
    rows.duplicates(options, notices)?;
    let (amounts, first) = rows.place_all(options, notices, calendar, row)?;
    let start = if calendar { Some(first) } else { options.start };
    rebin(fill(&amounts, options.gaps), start, row, options.bin, notices)
}

/// The width of rows in microseconds, of which all files have the same.
fn step(all: &[Series], calendar: bool, options: &TrafficOptions) -> Result<i64, Vec<TrafficError>> {
    let mut width: Option<(&Series, i64)> = None;
    let mut errors = Vec::new();
    for series in all {
        let step = match (calendar, options.row.or(series.row), options.bin) {
            (true, _, _) => series.step(options),
            (false, Some(row), _) | (false, None, Some(row)) => Some(micros(row)),
            (false, None, None) => {
                errors.push(TrafficError::NoRowWidth { file: series.name.to_string() });
                continue;
            }
        };
        let Some(step) = step else { continue };
        match width {
            None => width = Some((series, step)),
            Some((first, other)) if other != step => errors.push(TrafficError::Widths {
                first: first.name.to_string(),
                first_row: Duration::from_micros(other.unsigned_abs()),
                second: series.name.to_string(),
                second_row: Duration::from_micros(step.unsigned_abs()),
            }),
            Some(_) => {}
        }
    }
    match width {
        _ if !errors.is_empty() => Err(errors),
        Some((_, step)) if step > 0 => Ok(step),
        Some(_) => Err(vec![TrafficError::ZeroWidth]),
        None if all.iter().all(|series| series.samples.is_empty()) => Err(vec![TrafficError::Empty]),
        None => Err(vec![TrafficError::NoWidth]),
    }
}

/// The rows of all files in the order of time.
struct Rows {
    all: Vec<Series>,
    /// A row and which series it is of.
    sorted: Vec<(Sample, u32)>,
    step: i64,
}

impl Rows {
    fn of(mut all: Vec<Series>, step: i64, row: Duration) -> Rows {
        let mut sorted = Vec::with_capacity(all.iter().map(|series| series.samples.len()).sum());
        for (index, series) in all.iter_mut().enumerate() {
            let factor = series.per.map_or(1.0, |per| row.as_secs_f64() / per.as_secs_f64());
            let samples = std::mem::take(&mut series.samples).into_iter();
            let scaled = samples.map(|sample| Sample { amount: sample.amount * factor, ..sample });
            sorted.extend(scaled.map(|sample| (sample, u32::try_from(index).unwrap_or(u32::MAX))));
        }
        sorted.sort_by_key(|(sample, _)| sample.at);
        Rows { all, sorted, step }
    }

    fn series(&self, row: &(Sample, u32)) -> &Series {
        &self.all[row.1 as usize]
    }

    fn place(&self, row: &(Sample, u32)) -> Place {
        self.series(row).place(&row.0)
    }

    /// Leaves one row a time.
    fn duplicates(
        &mut self,
        options: &TrafficOptions,
        notices: &mut Vec<Notice>,
    ) -> Result<(), Vec<TrafficError>> {
        let mut kept: Vec<(Sample, u32)> = Vec::with_capacity(self.sorted.len());
        let (mut again, mut told, mut refused) = ((0_u64, None), (0_u64, None), (0_u64, None));
        for row in &self.sorted {
            let Some(before) = kept.last_mut().filter(|before| before.0.at == row.0.at) else {
                kept.push(*row);
                continue;
            };
            // Pages in files of their own overlap too; but where the caller adds, files are of several balancers.
            let one_source = row.1 == before.1 || options.duplicates != Duplicates::Add;
            let pages = self.all[row.1 as usize].pages && self.all[before.1 as usize].pages;
            let overlap = pages && one_source;
            if overlap && before.0.amount == row.0.amount {
                again.0 += 1;
                again.1.get_or_insert(*row);
                continue;
            }
            match options.duplicates {
                Duplicates::Refuse => {
                    refused.0 += 1;
                    refused.1.get_or_insert((*before, *row));
                    continue;
                }
                Duplicates::Add => before.0.amount += row.0.amount,
                Duplicates::First => {}
                Duplicates::Last => *before = *row,
            }
            told.0 += 1;
            told.1.get_or_insert(*row);
        }
        if let (count, Some((first, second))) = refused {
            let hour = self.series(&second).without_zone && self.hour_back(second.1);
            return Err(vec![TrafficError::Duplicate {
                time: first.0.at,
                first: self.place(&first),
                first_value: first.0.amount,
                second: self.place(&second),
                second_value: second.0.amount,
                count: count - 1,
                hour_back: hour,
            }]);
        }
        if let (rows, Some(first)) = again {
            notices.push(Notice::SameAgain { rows, first: self.place(&first) });
        }
        if let (rows, Some(first)) = told {
            notices.push(Notice::Duplicates { policy: options.duplicates, rows, first: self.place(&first) });
        }
        self.sorted = kept;
        Ok(())
    }

    /// Whether rows of a table, in their own order, go back by an hour once.
    fn hour_back(&self, series: u32) -> bool {
        let mut rows: Vec<_> = self.sorted.iter().filter(|row| row.1 == series).map(|row| row.0).collect();
        rows.sort_by_key(|row| match row.spot {
            Spot::Line(line) => line,
            _ => 0,
        });
        rows.windows(2).any(|pair| pair[1].at - pair[0].at == self.step - HOUR)
    }

    /// One amount a bin, and when the first begins.
    fn place_all(
        &self,
        options: &TrafficOptions,
        notices: &mut Vec<Notice>,
        calendar: bool,
        row: Duration,
    ) -> Result<(Vec<Filled>, i64), Vec<TrafficError>> {
        let (Some(first), Some(last)) = (self.sorted.first(), self.sorted.last()) else {
            return Err(vec![TrafficError::Empty]);
        };
        let bin_of = |at: i64| at.abs_diff(first.0.at) / self.step.unsigned_abs();
        let bins = bin_of(last.0.at).saturating_add(1);
        if bins > MOST_BINS {
            return Err(vec![if calendar {
                TrafficError::TooFar {
                    first: first.0.at,
                    first_place: self.place(first),
                    last: last.0.at,
                    last_place: self.place(last),
                    bins,
                    bin: row,
                }
            } else {
                TrafficError::TooLong { bins, bin: row }
            }]);
        }
        let mut amounts = vec![Filled::Missing; usize::try_from(bins).unwrap_or(0)];
        let mut between = (0_u64, None);
        let mut gaps = (Vec::new(), 0_u64, 0_u64);
        let mut before: Option<(u64, &(Sample, u32))> = None;
        for found in &self.sorted {
            let bin = bin_of(found.0.at);
            if found.0.at.abs_diff(first.0.at) % self.step.unsigned_abs() != 0 {
                between.0 += 1;
                between.1.get_or_insert(found);
            }
            if let Some((earlier, last)) = before.filter(|(earlier, _)| bin > earlier + 1) {
                let rows = bin - earlier - 1;
                gaps.1 += 1;
                gaps.2 += rows;
                if gaps.0.len() < TOLD {
                    let from = earlier.saturating_add(1).saturating_mul(self.step.unsigned_abs());
                    gaps.0.push(Gap {
                        from: first.0.at.saturating_add_unsigned(from),
                        rows,
                        row,
                        after: self.place(last),
                        an_hour: self.series(last).without_zone
                            && rows.saturating_mul(self.step.unsigned_abs()) == HOUR.unsigned_abs(),
                        indexed: !calendar,
                    });
                }
            }
            let index = usize::try_from(bin).unwrap_or(usize::MAX);
            if let Some(slot) = amounts.get_mut(index) {
                *slot = match *slot {
                    Filled::Given(amount) => Filled::Given(amount + found.0.amount),
                    Filled::Missing => Filled::Given(found.0.amount),
                };
            }
            before = Some((bin, found));
        }
        if let (rows, Some(first)) = between {
            notices.push(Notice::BetweenBins { rows, first: self.place(first), bin: row });
        }
        let (gaps, count, rows) = gaps;
        if count > 0 {
            if options.gaps == Gaps::Refuse {
                return Err(gaps.into_iter().map(TrafficError::Gap).collect());
            }
            notices.push(Notice::Gaps { gaps, count, rows, filled: options.gaps });
        }
        Ok((amounts, first.0.at))
    }
}

/// Fills what is missing. Gaps lie between rows, so there is one on either side; where none is, nothing is known.
pub(super) fn fill(amounts: &[Filled], gaps: Gaps) -> Vec<u64> {
    let mut out = Vec::with_capacity(amounts.len());
    let mut before = 0.0;
    let mut at = 0;
    while at < amounts.len() {
        if let Filled::Given(amount) = amounts[at] {
            out.push(amount.round() as u64);
            before = amount;
            at += 1;
            continue;
        }
        let length = amounts[at..].iter().take_while(|amount| **amount == Filled::Missing).count();
        let after = match amounts.get(at + length) {
            Some(Filled::Given(after)) => *after,
            _ => before,
        };
        out.extend((1..=length).map(|step| {
            let share = step as f64 / (length + 1) as f64;
            match gaps {
                Gaps::Zero | Gaps::Refuse => 0,
                Gaps::Hold => before.round() as u64,
                Gaps::Interpolate => (before + (after - before) * share).round() as u64,
            }
        }));
        at += length;
    }
    out
}

/// Brings rows to wider bins.
fn rebin(
    counts: Vec<u64>,
    start: Option<i64>,
    row: Duration,
    bin: Option<Duration>,
    notices: &mut Vec<Notice>,
) -> Result<Traffic, Vec<TrafficError>> {
    let bin = bin.unwrap_or(row);
    if bin.is_zero() {
        return Err(vec![TrafficError::ZeroWidth]);
    }
    let rows = bin.as_nanos() / row.as_nanos().max(1);
    if rows == 0 || !bin.as_nanos().is_multiple_of(row.as_nanos().max(1)) {
        return Err(vec![TrafficError::Bin { row, bin }]);
    }
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    if rows == 1 {
        return Ok(Traffic { start, bin, counts });
    }
    let whole = counts.chunks_exact(rows);
    let left = whole.remainder().len();
    let sums: Vec<u64> =
        whole.map(|chunk| chunk.iter().fold(0_u64, |sum, count| sum.saturating_add(*count))).collect();
    if left > 0 {
        notices.push(Notice::Remainder { rows: left as u64, bin });
    }
    if sums.is_empty() {
        Err(vec![TrafficError::Short { bin }])
    } else {
        Ok(Traffic { start, bin, counts: sums })
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

const HOUR: i64 = 3_600_000_000;
/// As many gaps are told one by one.
const TOLD: usize = 5;
