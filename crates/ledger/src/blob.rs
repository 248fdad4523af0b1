//! Distributions and series as compact, lossless bytes.
//!
//! ## Why our own form
//! Only values that occurred are kept, each as the step from the one before, and all numbers as varints (seven bits a
//! byte, least significant first, as in Protocol Buffers). A second of a run takes some 200 bytes, a hundredth of
//! a dense histogram. The first byte is the version of the form, so that a later one can be told apart.

use measure::{Accounting, Second, Series, SparseHistogram};

/// The bytes of a distribution.
pub(crate) fn of_histogram(histogram: &SparseHistogram) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    put_histogram(&mut bytes, histogram);
    bytes
}

/// The bytes of a series.
pub(crate) fn of_series(series: &Series) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    put(&mut bytes, series.seconds.len() as u64);
    for second in &series.seconds {
        let Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight } =
            second.accounting;
        for count in [scheduled, answered, shed, failed, timed_out, unsent, in_flight, second.good] {
            put(&mut bytes, count);
        }
        put_histogram(&mut bytes, &second.good_response);
        put_histogram(&mut bytes, &second.response);
    }
    bytes
}

/// The distribution that these bytes are, or what is wrong with them.
pub(crate) fn histogram(bytes: &[u8]) -> Result<SparseHistogram, String> {
    let mut rest = Reader::of(bytes)?;
    let histogram = rest.histogram()?;
    rest.end()?;
    Ok(histogram)
}

/// The series that these bytes are, or what is wrong with them.
pub(crate) fn series(bytes: &[u8]) -> Result<Series, String> {
    let mut rest = Reader::of(bytes)?;
    let count = rest.number()?;
    let mut seconds = Vec::new();
    // Nothing is reserved for a count that damaged bytes may claim.
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
            },
            good: rest.number()?,
            good_response: rest.histogram()?,
            response: rest.histogram()?,
            cells: Vec::new(),
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
    put(bytes, histogram.counts().len() as u64);
    let mut before = 0_u64;
    for &(value, count) in histogram.counts() {
        // Wrapping, so that values that do not ascend come back all the same.
        put(bytes, value.wrapping_sub(before));
        put(bytes, u64::from(count));
        before = value;
    }
}

struct Reader<'a> {
    rest: std::slice::Iter<'a, u8>,
}

impl<'a> Reader<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let mut rest = bytes.iter();
        match rest.next() {
            Some(&VERSION) => Ok(Reader { rest }),
            Some(other) => Err(format!("its form has version {other}, this headroom knows {VERSION}")),
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

    fn end(self) -> Result<(), String> {
        let left = self.rest.len();
        if left == 0 { Ok(()) } else { Err(format!("{left} bytes follow its end")) }
    }
}

const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_histogram() -> impl Strategy<Value = SparseHistogram> {
        let counts = prop::collection::btree_map(any::<u64>(), any::<u32>(), 0..20);
        (counts, any::<u64>()).prop_map(|(counts, censored)| {
            SparseHistogram::from_counts(counts.into_iter().collect(), censored)
        })
    }

    fn any_second() -> impl Strategy<Value = Second> {
        (any::<[u64; 8]>(), any_histogram(), any_histogram()).prop_map(|(n, good_response, response)| {
            let [scheduled, answered, shed, failed, timed_out, unsent, in_flight, good] = n;
            let accounting = Accounting { scheduled, answered, shed, failed, timed_out, unsent, in_flight };
            Second { accounting, good, good_response, response, cells: Vec::new() }
        })
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
        fn damaged_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let versioned: Vec<u8> = std::iter::once(VERSION).chain(bytes).collect();
            let _ = (histogram(&versioned), series(&versioned));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(histogram(&[]).unwrap_err().contains("empty"));
        assert!(histogram(&[9]).unwrap_err().contains("version 9"));
        assert!(histogram(&[VERSION, 0, 5, 1]).unwrap_err().contains("too early"));
        assert!(histogram(&[VERSION, 0, 0, 7]).unwrap_err().contains("1 bytes follow"));
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
