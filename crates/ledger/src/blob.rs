//! Distributions and series as compact, lossless bytes.
//!
//! ## Why a format of our own
//! Only values that occurred are stored, each as the difference to the previous one, and all numbers as varints (seven
//! bits per byte, least significant first, as in Protocol Buffers). A distribution of a second takes some 200 bytes, a
//! hundredth of a dense one. The first byte is the version of the format.

use measure::{Accounting, Cell, Outcome, Second, Series, SparseHistogram};

/// The bytes of a distribution.
pub(crate) fn of_histogram(histogram: &SparseHistogram) -> Vec<u8> {
    let mut bytes = vec![HISTOGRAM];
    put_histogram(&mut bytes, histogram);
    bytes
}

/// The bytes of distributions by outcome.
pub(crate) fn of_outcomes(histograms: &[(Outcome, SparseHistogram)]) -> Vec<u8> {
    let mut bytes = vec![HISTOGRAM];
    put(&mut bytes, histograms.len() as u64);
    for (outcome, histogram) in histograms {
        put(&mut bytes, outcome.index() as u64);
        put_histogram(&mut bytes, histogram);
    }
    bytes
}

/// The bytes of a series.
pub(crate) fn of_series(series: &Series) -> Vec<u8> {
    let mut bytes = vec![SERIES];
    put(&mut bytes, series.seconds.len() as u64);
    for second in &series.seconds {
        let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent } =
            second.accounting;
        for count in [scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent, second.good] {
            put(&mut bytes, count);
        }
        put_histogram(&mut bytes, &second.good_response);
        put_histogram(&mut bytes, &second.response);
        put(&mut bytes, second.cells.len() as u64);
        for cell in &second.cells {
            put(&mut bytes, u64::from(cell.endpoint));
            put(&mut bytes, cell.outcome.index() as u64);
            put_histogram(&mut bytes, &cell.times);
        }
    }
    bytes
}

/// Decodes a distribution, or returns what is wrong with the bytes.
pub(crate) fn histogram(bytes: &[u8]) -> Result<SparseHistogram, String> {
    let (mut rest, _) = Reader::of(bytes, HISTOGRAM)?;
    let histogram = rest.histogram()?;
    rest.end()?;
    Ok(histogram)
}

/// Decodes distributions by outcome, or returns what is wrong with the bytes.
pub(crate) fn outcomes(bytes: &[u8]) -> Result<Vec<(Outcome, SparseHistogram)>, String> {
    let (mut rest, _) = Reader::of(bytes, HISTOGRAM)?;
    let mut histograms = Vec::new();
    for _ in 0..rest.number()? {
        histograms.push((rest.outcome()?, rest.histogram()?));
    }
    rest.end()?;
    Ok(histograms)
}

/// Decodes a series, or returns what is wrong with the bytes.
pub(crate) fn series(bytes: &[u8]) -> Result<Series, String> {
    let (mut rest, version) = Reader::of(bytes, SERIES)?;
    let count = rest.number()?;
    let mut seconds = Vec::new();
    // Nothing is allocated for a count, which may come from damaged bytes.
    for _ in 0..count {
        seconds.push(Second {
            accounting: Accounting {
                scheduled: rest.number()?,
                answered: rest.number()?,
                shed: rest.number()?,
                failed: rest.number()?,
                timed_out: rest.number()?,
                unsent: rest.number()?,
                in_flight: rest.number()?,
                // Not counted before the third version.
                resent: if version < 3 { 0 } else { rest.number()? },
            },
            good: rest.number()?,
            good_response: rest.histogram()?,
            response: rest.histogram()?,
            // The first version had no endpoints.
            cells: if version == 1 { Vec::new() } else { rest.cells()? },
        });
    }
    rest.end()?;
    Ok(Series { seconds })
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_histogram(bytes: &mut Vec<u8>, histogram: &SparseHistogram) {
    put(bytes, histogram.censored());
    put(bytes, histogram.counts().count() as u64);
    let mut before = 0_u64;
    for (value, count) in histogram.counts() {
        // Wrapping, so that values that do not ascend are restored as well.
        put(bytes, value.wrapping_sub(before));
        put(bytes, u64::from(count));
        before = value;
    }
}

struct Reader<'a> {
    rest: std::slice::Iter<'a, u8>,
}

impl<'a> Reader<'a> {
    /// Reads the version too, which is at most `known`.
    fn of(bytes: &'a [u8], known: u8) -> Result<(Self, u8), String> {
        let mut rest = bytes.iter();
        match rest.next() {
            Some(&version) if (1..=known).contains(&version) => Ok((Reader { rest }, version)),
            Some(other) => Err(format!("its form has version {other}, this headroom knows up to {known}")),
            None => Err("it is empty".to_owned()),
        }
    }

    fn number(&mut self) -> Result<u64, String> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.rest.next().ok_or("it ends too early")?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number in it has more than 64 bits".to_owned())
    }

    fn histogram(&mut self) -> Result<SparseHistogram, String> {
        let censored = self.number()?;
        let mut counts = Vec::new();
        let mut value = 0_u64;
        for _ in 0..self.number()? {
            value = value.wrapping_add(self.number()?);
            let count = u32::try_from(self.number()?).map_err(|_| "a count in it has more than 32 bits")?;
            counts.push((value, count));
        }
        Ok(SparseHistogram::from_counts(counts, censored))
    }

    fn outcome(&mut self) -> Result<Outcome, String> {
        let number = self.number()?;
        let index = usize::try_from(number).ok().and_then(|index| Outcome::ALL.get(index));
        index.copied().ok_or_else(|| format!("{number} in it is no outcome"))
    }

    fn cells(&mut self) -> Result<Vec<Cell>, String> {
        let mut cells = Vec::new();
        for _ in 0..self.number()? {
            let endpoint =
                u32::try_from(self.number()?).map_err(|_| "an endpoint in it has more than 32 bits")?;
            cells.push(Cell { endpoint, outcome: self.outcome()?, times: self.histogram()? });
        }
        Ok(cells)
    }

    fn end(self) -> Result<(), String> {
        let left = self.rest.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} bytes follow its end")) }
    }
}

/// The version of the format of distributions.
const HISTOGRAM: u8 = 1;
/// The version of the format of series; the first had no cells, the second no resent requests.
const SERIES: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_histogram() -> impl Strategy<Value = SparseHistogram> {
        let counts = prop::collection::btree_map(any::<u64>(), any::<u32>(), 0..20);
        (counts, any::<u64>()).prop_map(|(counts, censored)| SparseHistogram::from_counts(counts, censored))
    }

    fn any_second() -> impl Strategy<Value = Second> {
        let cells = prop::collection::vec((any::<u32>(), 0..Outcome::ALL.len(), any_histogram()), 0..4);
        (any::<[u64; 9]>(), any_histogram(), any_histogram(), cells).prop_map(
            |(n, good_response, response, cells)| {
                let [scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent, good] = n;
                let accounting =
                    Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight, resent };
                let cell =
                    |(endpoint, outcome, times)| Cell { endpoint, outcome: Outcome::ALL[outcome], times };
                let cells = cells.into_iter().map(cell).collect();
                Second { accounting, good, good_response, response, cells }
            },
        )
    }

    proptest! {
        #[test]
        fn a_histogram_comes_back_equal(histogram in any_histogram()) {
            prop_assert_eq!(super::histogram(&of_histogram(&histogram)), Ok(histogram));
        }

        #[test]
        fn a_series_comes_back_equal(seconds in prop::collection::vec(any_second(), 0..6)) {
            let there = Series { seconds };
            let back = series(&of_series(&there)).unwrap();
            prop_assert_eq!(format!("{there:?}"), format!("{back:?}"));
        }

        #[test]
        fn damaged_bytes_never_panic(version in 0..4_u8, bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let versioned: Vec<u8> = std::iter::once(version).chain(bytes).collect();
            let _ = (histogram(&versioned), outcomes(&versioned), series(&versioned));
        }
    }

    #[test]
    fn the_first_version_of_a_series_is_still_read() {
        // One second: eight counts, no good response, a response of 300 µs, twice.
        let bytes = [1, 1, 2, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0xac, 2, 2];
        let Series { seconds } = series(&bytes).unwrap();
        assert_eq!((seconds[0].accounting.scheduled, seconds[0].good), (2, 2));
        assert_eq!(seconds[0].response, SparseHistogram::from_counts(vec![(300, 2)], 0));
        assert!(seconds.len() == 1 && seconds[0].cells.is_empty());
    }

    #[test]
    fn the_second_version_of_a_series_is_still_read() {
        // The same second with one cell: endpoint 3, success.
        let bytes = [2, 1, 2, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0xac, 2, 2, 1, 3, 0, 0, 1, 0xac, 2, 2];
        let Series { seconds } = series(&bytes).unwrap();
        assert_eq!(
            (seconds[0].accounting.scheduled, seconds[0].accounting.resent, seconds[0].good),
            (2, 0, 2)
        );
        let times = SparseHistogram::from_counts(vec![(300, 2)], 0);
        assert_eq!(seconds[0].cells, [Cell { endpoint: 3, outcome: Outcome::Success, times }]);
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(outcomes(&[HISTOGRAM, 1, 7, 0, 0]).unwrap_err().contains("7 in it is no outcome"));
        assert!(histogram(&[]).unwrap_err().contains("empty"));
        assert!(histogram(&[9]).unwrap_err().contains("version 9"));
        assert!(histogram(&[HISTOGRAM, 0, 5, 1]).unwrap_err().contains("too early"));
        assert!(histogram(&[HISTOGRAM, 0, 0, 7]).unwrap_err().contains("1 bytes follow"));
    }

    #[test]
    fn a_typical_second_is_small() {
        let mut histogram = measure::Histogram::new();
        for i in 0..1_000_u64 {
            histogram.record(std::time::Duration::from_micros(10_000 + i * i % 9_000));
        }
        assert!(of_histogram(&histogram.sparse()).len() < 2_000);
    }
}
