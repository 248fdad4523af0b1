//! Puts rows with times into bins: sorted, checked for duplicates and gaps, filled.
//!
//! Rows are kept packed, and the result is made in one pass, so that a table of millions of rows takes little more
//! memory than its counts.
//!
//! Each kind of problem is reported once, with its first place and its number: a table of a hundred thousand rows can
//! have a hundred thousand times the same problem.

use super::notice::{Gap, Notice, Place, Spot};
use super::packed::{Merged, Packed};
use super::{Duplicates, Gaps, MOST_BINS, Traffic, TrafficError, TrafficOptions};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// One row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// Microseconds since 1970, or an index.
    pub(super) at: i64,
    pub(super) amount: f64,
    /// The index of the file's name.
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
    /// The order of rows has no meaning.
    pub(super) any_order: bool,
    /// A repeated row with the same count is an overlap of pages.
    pub(super) pages: bool,
    /// Times have no zone, and UTC is assumed.
    pub(super) without_zone: bool,
    /// The width of a row according to the source.
    pub(super) row: Option<Duration>,
    /// Amounts are a rate.
    pub(super) per: Option<Duration>,
    rows: Packed,
    last: Option<Sample>,
    /// The earliest and the latest row.
    ends: Option<(Sample, Sample)>,
    /// Rows earlier than the previous one: how many, the first, and by how much.
    early: (u64, Option<(Sample, u64)>),
    /// Whether there was a row later than the previous one.
    forwards: bool,
    /// The steps back from row to row, while they are few.
    back: BTreeSet<i64>,
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
            rows: Packed::default(),
            last: None,
            ends: None,
            early: (0, None),
            forwards: false,
            back: BTreeSet::new(),
        }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, sample: Sample) {
        if let Some(before) = self.last {
            self.forwards |= sample.at > before.at;
            if sample.at < before.at {
                self.early.0 += 1;
                self.early.1.get_or_insert((sample, sample.at.abs_diff(before.at)));
                if self.back.len() < MOST_STEPS_BACK {
                    self.back.insert(sample.at.saturating_sub(before.at));
                }
            }
        }
        self.last = Some(sample);
        let (first, last) = self.ends.get_or_insert((sample, sample));
        if sample.at < first.at {
            *first = sample;
        }
        if sample.at > last.at {
            *last = sample;
        }
        self.rows.push(sample);
    }

    pub(super) fn len(&self) -> u64 {
        self.rows.len()
    }

    pub(super) fn calendar(&self) -> bool {
        self.calendar
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of a file's name.
    pub(super) fn file(&mut self, name: &Arc<str>) -> u32 {
        let at = self.files.iter().position(|file| file == name).unwrap_or_else(|| {
            self.files.push(name.clone());
            self.files.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Reports rows earlier than the previous one.
    fn order(&self, notices: &mut Vec<Notice>) {
        let (rows, Some((first, by))) = self.early else { return };
        // Newest first is an order too.
        if !self.any_order && self.forwards {
            let by = Duration::from_micros(by);
            notices.push(Notice::OutOfOrder { rows, first: self.place(&first), by });
        }
    }

    fn place(&self, sample: &Sample) -> Place {
        let file = self.files.get(sample.file as usize).unwrap_or(&self.name).clone();
        Place { file, spot: sample.spot }
    }

    /// The most common step between rows, in the order of time.
    fn step(&self, options: &TrafficOptions) -> Result<Option<i64>, TrafficError> {
        let given = options.row.or(self.row).map(micros);
        if given.is_some() {
            return Ok(given);
        }
        let mut steps: HashMap<i64, u64> = HashMap::new();
        let mut before: Option<i64> = None;
        for (sample, _) in Merged::of([&self.rows]) {
            let step = before.map_or(0, |before| sample.at.saturating_sub(before));
            before = Some(sample.at);
            if step != 0 {
                *steps.entry(step).or_default() += 1;
            }
            if steps.len() > MOST_STEPS {
                return Err(TrafficError::NoStep { file: self.name.to_string() });
            }
        }
        let commonest = steps.into_iter().min_by_key(|(step, times)| (u64::MAX - times, *step));
        Ok(commonest.map(|(step, _)| step))
    }
}

/// Combines all rows.
pub(super) fn assemble(
    mut all: Vec<Series>,
    options: &TrafficOptions,
    notices: &mut Vec<Notice>,
) -> Result<Traffic, Vec<TrafficError>> {
    let calendar = all.first().is_some_and(|series| series.calendar);
    if all.iter().any(|series| series.calendar != calendar) {
        return Err(vec![TrafficError::Mixed]);
    }
    for series in &mut all {
        series.order(notices);
        series.rows.close();
    }
    let step = step(&all, calendar, options)?;
    let row = Duration::from_micros(step.unsigned_abs());
    let rows = Rows { all: &all, options, step: if calendar { step } else { 1 }, row, calendar };
    let (counts, first) = rows.counts(notices)?;
    let start = if calendar { Some(first) } else { options.start };
    rebin(counts, start, row, options.bin, notices)
}

/// The width of rows in microseconds, which must be the same for all files.
fn step(all: &[Series], calendar: bool, options: &TrafficOptions) -> Result<i64, Vec<TrafficError>> {
    let mut width: Option<(&Series, i64)> = None;
    let mut errors = Vec::new();
    for series in all {
        let step = match (calendar, options.row.or(series.row), options.bin) {
            (true, _, _) => series.step(options).map_err(|error| vec![error])?,
            (false, Some(row), _) | (false, None, Some(row)) => Some(micros(row)),
            (false, None, None) if options.usual_row.is_some() => options.usual_row.map(micros),
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
        None if all.iter().all(Series::is_empty) => Err(vec![TrafficError::Empty]),
        None => options.usual_row.map(micros).ok_or_else(|| vec![TrafficError::NoWidth]),
    }
}

/// The rows of all files, and how they are combined.
struct Rows<'a> {
    all: &'a [Series],
    options: &'a TrafficOptions,
    step: i64,
    row: Duration,
    calendar: bool,
}

/// A row and its series.
type Of = (Sample, u32);

impl Rows<'_> {
    fn series(&self, row: &Of) -> &Series {
        &self.all[row.1 as usize]
    }

    fn place(&self, row: &Of) -> Place {
        self.series(row).place(&row.0)
    }

    /// The rows in the order of time, with rates converted to counts.
    fn sorted(&self) -> impl Iterator<Item = Of> {
        let of_rate = |per: Duration| self.row.as_secs_f64() / per.as_secs_f64();
        let factor = |series: &Series| match series.per {
            _ if self.options.values => THOUSANDTHS,
            Some(per) => of_rate(per),
            None => 1.0,
        };
        let factors: Vec<f64> = self.all.iter().map(factor).collect();
        Merged::of(self.all.iter().map(|series| &series.rows)).map(move |(sample, series)| {
            (Sample { amount: sample.amount * factors[series as usize], ..sample }, series)
        })
    }

    /// The number of bins, if it is within the maximum.
    fn bins(&self) -> Result<(u64, i64), TrafficError> {
        let ends =
            || self.all.iter().zip(0_u32..).filter_map(|(series, number)| Some((series.ends?, number)));
        let first = ends().map(|((first, _), number)| (first, number)).min_by_key(|row| row.0.at);
        let last = ends().map(|((_, last), number)| (last, number)).max_by_key(|row| row.0.at);
        let (Some(first), Some(last)) = (first, last) else { return Err(TrafficError::Empty) };
        let bins = (last.0.at.abs_diff(first.0.at) / self.step.unsigned_abs()).saturating_add(1);
        if bins <= MOST_BINS {
            return Ok((bins, first.0.at));
        }
        Err(match self.calendar {
            true => TrafficError::TooFar {
                first: first.0.at,
                first_place: self.place(&first),
                last: last.0.at,
                last_place: self.place(&last),
                bins,
                bin: self.row,
            },
            false => TrafficError::TooLong { bins, bin: self.row },
        })
    }

    /// One count per bin, and the time of the first.
    fn counts(&self, notices: &mut Vec<Notice>) -> Result<(Vec<u64>, i64), Vec<TrafficError>> {
        let mut duplicates = Found::default();
        let bins = match self.bins() {
            Ok(bins) => Ok(bins),
            // The effect of a wrong time on the bins is reported after duplicates.
            Err(error @ (TrafficError::TooFar { .. } | TrafficError::TooLong { .. })) => Err(error),
            Err(error) => return Err(vec![error]),
        };
        let (most, first) = *bins.as_ref().unwrap_or(&(0, 0));
        let mut placed = Placed::new(self, first, most);
        let mut current: Option<Of> = None;
        for row in self.sorted() {
            match &mut current {
                Some(before) if before.0.at == row.0.at => self.same_time(before, row, &mut duplicates),
                _ => {
                    if let Some(whole) = current.replace(row).filter(|_| bins.is_ok()) {
                        placed.row(&whole);
                    }
                }
            }
        }
        duplicates.told(self, notices)?;
        bins.map_err(|error| vec![error])?;
        if let Some(whole) = current {
            placed.row(&whole);
        }
        Ok((placed.told(notices)?, first))
    }

    /// Combines two rows with the same time.
    fn same_time(&self, before: &mut Of, row: Of, found: &mut Found) {
        // Pages in separate files overlap too; but if the caller adds duplicates, files belong to several balancers.
        let one_source = row.1 == before.1 || self.options.duplicates != Duplicates::Add;
        let pages = self.series(&row).pages && self.series(before).pages;
        if pages && one_source && before.0.amount == row.0.amount {
            found.again.0 += 1;
            found.again.1.get_or_insert(row);
            return;
        }
        match self.options.duplicates {
            Duplicates::Refuse => {
                found.refused.0 += 1;
                found.refused.1.get_or_insert((*before, row));
                return;
            }
            Duplicates::Add => before.0.amount += row.0.amount,
            Duplicates::First => {}
            Duplicates::Last => *before = row,
        }
        found.told.0 += 1;
        found.told.1.get_or_insert(row);
    }

    /// Whether rows of a table, in their own order, go back by an hour once.
    fn hour_back(&self, row: &Of) -> bool {
        self.series(row).back.contains(&(self.step - HOUR))
    }
}

/// Rows with the same time as another one, with the first of them.
#[derive(Default)]
struct Found {
    again: (u64, Option<Of>),
    told: (u64, Option<Of>),
    refused: (u64, Option<(Of, Of)>),
}

impl Found {
    fn told(self, rows: &Rows<'_>, notices: &mut Vec<Notice>) -> Result<(), Vec<TrafficError>> {
        if let (count, Some((first, second))) = self.refused {
            return Err(vec![TrafficError::Duplicate {
                time: first.0.at,
                first: rows.place(&first),
                first_value: first.0.amount,
                second: rows.place(&second),
                second_value: second.0.amount,
                count: count - 1,
                hour_back: rows.series(&second).without_zone && rows.hour_back(&second),
            }]);
        }
        if let (count, Some(first)) = self.again {
            notices.push(Notice::SameAgain { rows: count, first: rows.place(&first) });
        }
        if let (count, Some(first)) = self.told {
            let policy = rows.options.duplicates;
            notices.push(Notice::Duplicates { policy, rows: count, first: rows.place(&first) });
        }
        Ok(())
    }
}

/// Rows in order of time while they are put into bins.
struct Placed<'a> {
    rows: &'a Rows<'a>,
    first: i64,
    filler: Filler,
    /// The bin that is being filled, with its last row.
    open: Option<(u64, f64, Of)>,
    between: (u64, Option<Of>),
    gaps: (Vec<Gap>, u64, u64),
    missing: Vec<Range<u64>>,
}

impl<'a> Placed<'a> {
    fn new(rows: &'a Rows<'a>, first: i64, bins: u64) -> Self {
        let filler = Filler::new(rows.options.gaps, bins);
        Placed {
            rows,
            first,
            filler,
            open: None,
            between: (0, None),
            gaps: (Vec::new(), 0, 0),
            missing: Vec::new(),
        }
    }

    fn row(&mut self, row: &Of) {
        let (off, step) = (row.0.at.abs_diff(self.first), self.rows.step.unsigned_abs());
        let bin = off / step;
        if off % step != 0 {
            self.between.0 += 1;
            self.between.1.get_or_insert(*row);
        }
        self.open = Some(match self.open {
            Some((open, amount, _)) if open == bin => (bin, amount + row.0.amount, *row),
            Some((open, amount, last)) => {
                self.filler.given(amount);
                if bin > open + 1 {
                    self.gap(open, bin - open - 1, &last);
                    self.filler.missing(bin - open - 1, row.0.amount);
                }
                (bin, row.0.amount, *row)
            }
            None => (bin, row.0.amount, *row),
        });
    }

    fn gap(&mut self, after: u64, missing: u64, last: &Of) {
        self.gaps.1 += 1;
        self.gaps.2 += missing;
        self.missing.push(after + 1..after + 1 + missing);
        if self.gaps.0.len() >= TOLD {
            return;
        }
        let step = self.rows.step.unsigned_abs();
        self.gaps.0.push(Gap {
            from: self.first.saturating_add_unsigned(after.saturating_add(1).saturating_mul(step)),
            rows: missing,
            row: self.rows.row,
            after: self.rows.place(last),
            an_hour: self.rows.series(last).without_zone
                && missing.saturating_mul(step) == HOUR.unsigned_abs(),
            indexed: !self.rows.calendar,
        });
    }

    fn told(mut self, notices: &mut Vec<Notice>) -> Result<Vec<u64>, Vec<TrafficError>> {
        if let Some((_, amount, _)) = self.open {
            self.filler.given(amount);
        }
        if let (count, Some(first)) = self.between {
            let first = self.rows.place(&first);
            notices.push(Notice::BetweenBins { rows: count, first, bin: self.rows.row });
        }
        let (gaps, count, rows) = self.gaps;
        if count > 0 {
            if self.rows.options.gaps == Gaps::Refuse {
                return Err(gaps.into_iter().map(TrafficError::Gap).collect());
            }
            notices.push(Notice::Gaps {
                gaps,
                count,
                rows,
                filled: self.rows.options.gaps,
                missing: self.missing,
            });
        }
        Ok(self.filler.counts)
    }
}

/// Counts in the order of their bins, with filled gaps. Gaps are between bins with a count.
pub(super) struct Filler {
    gaps: Gaps,
    before: f64,
    pub(super) counts: Vec<u64>,
}

impl Filler {
    pub(super) fn new(gaps: Gaps, bins: u64) -> Filler {
        Filler { gaps, before: 0.0, counts: Vec::with_capacity(usize::try_from(bins).unwrap_or(0)) }
    }

    pub(super) fn given(&mut self, amount: f64) {
        self.counts.push(amount.round() as u64);
        self.before = amount;
    }

    /// This many bins without a count, before one of `after`.
    pub(super) fn missing(&mut self, length: u64, after: f64) {
        let (gaps, before) = (self.gaps, self.before);
        self.counts.extend((1..=length).map(|step| {
            let share = step as f64 / (length + 1) as f64;
            match gaps {
                Gaps::Zero | Gaps::Refuse => 0,
                Gaps::Hold => before.round() as u64,
                Gaps::Interpolate => (before + (after - before) * share).round() as u64,
            }
        }));
    }
}

/// Converts rows to wider bins.
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
/// Values at a time keep three digits after the point, as in Kubernetes.
pub(super) const THOUSANDTHS: f64 = 1000.0;
/// The number of gaps that are reported individually.
const TOLD: usize = 5;
/// Tables have few different steps from row to row; events may have any number.
const MOST_STEPS: usize = 100_000;
/// A clock goes back by an hour once or twice a year; unordered times say nothing about a clock.
const MOST_STEPS_BACK: usize = 1_000;
