//! `.hlog`: the distributions of a run by second, for HistogramLogAnalyzer and similar tools.
//!
//! The format is HdrHistogram's interval log 1.3 with compressed V2 histograms. Times are in ns although headroom keeps
//! µs, because readers expect ns. The interval of all requests has no tag; if there are several endpoints, each has
//! lines of its own, tagged with its name. The warm-up is left out, as in the summary.

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};
use measure::{Measurement, Second, SparseHistogram, steady};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Writes the run, which began at `began`.
///
/// # Errors
/// Those of `out`.
pub fn write(measured: &Measurement, began: SystemTime, out: &mut impl Write) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Logged with headroom]")
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(NANOS_IN_MS)
        .begin_log_with(out, &mut serializer)?;
    let mut line = |at: u64, tag: Option<&str>, times: &SparseHistogram| {
        let tag = tag.and_then(Tag::new);
        log.write_histogram(
            &crate::hdr::of(times, 1_000),
            Duration::from_secs(at),
            Duration::from_secs(1),
            tag,
        )
        .map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => error,
            error => io::Error::other(error),
        })
    };
    let tags: Vec<String> = measured.endpoints.iter().map(|endpoint| tag(&endpoint.name)).collect();
    let from = steady(&measured.stages, measured.elapsed).start;
    for (at, second) in (0..).zip(&measured.series.seconds).skip(from) {
        line(at, None, &second.response)?;
        if tags.len() > 1 {
            for (endpoint, tag) in (0..).zip(&tags) {
                line(at, Some(tag), &responses(second, endpoint))?;
            }
        }
    }
    Ok(())
}

fn responses(second: &Second, endpoint: u32) -> SparseHistogram {
    let cells = second.cells.iter().filter(|cell| cell.endpoint == endpoint && cell.outcome.is_response());
    cells.fold(SparseHistogram::default(), |sum, cell| sum.plus(&cell.times))
}

/// A name without the characters that end a tag.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

/// Readers show the largest value of an interval in ms.
const NANOS_IN_MS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use hdrhistogram::Histogram as Hdr;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use std::collections::BTreeMap;

    #[test]
    fn is_read_back_by_its_own_reader() {
        let measured = sample();
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_772_366_400);
        let mut bytes = Vec::new();
        write(&measured, began, &mut bytes).unwrap();
        let mut sums: BTreeMap<Option<String>, Hdr<u64>> = BTreeMap::new();
        let (mut starts, mut header) = (Vec::new(), 0);
        for entry in IntervalLogIterator::new(&bytes) {
            match entry.unwrap() {
                LogEntry::StartTime(time) | LogEntry::BaseTime(time) => {
                    assert_eq!(time, Duration::from_secs(1_772_366_400));
                    header += 1;
                }
                LogEntry::Interval(interval) => {
                    let packed = base64(interval.encoded_histogram());
                    let hdr: Hdr<u64> = Deserializer::new().deserialize(&mut packed.as_slice()).unwrap();
                    assert!((interval.max() - hdr.max() as f64 / 1e6).abs() < 1e-3);
                    let tag = interval.tag().map(|tag| tag.as_str().to_owned());
                    if tag.is_none() {
                        starts.push(interval.start_timestamp().as_secs());
                    }
                    let sum = sums.entry(tag).or_insert_with(|| Hdr::new(3).unwrap());
                    sum.add(hdr).unwrap();
                }
            }
        }
        assert_eq!((header, starts), (2, (2..32).collect::<Vec<u64>>()), "without the warm-up");
        let counts: Vec<_> = sums.iter().map(|(tag, sum)| (tag.as_deref(), sum.len())).collect();
        assert_eq!(counts, [(None, 30 * 91), (Some("get_item"), 30 * 61), (Some("list"), 30 * 30)]);
        let p50 = sums[&None].value_at_quantile(0.5) as f64 / 1e9;
        let ours = measured.response.quantile(units::Quantile::P50).unwrap().at.as_secs_f64();
        assert!((p50 - ours).abs() < 0.002 * ours, "{p50} {ours}");
    }

    /// The crate reads the log without decoding this field.
    fn base64(text: &str) -> Vec<u8> {
        let digit = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let text = text.trim_end_matches('=').as_bytes();
        let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
        for &c in text {
            bits = bits << 6 | u32::from(digit(c));
            held += 6;
            if held >= 8 {
                held -= 8;
                bytes.push((bits >> held) as u8);
            }
        }
        bytes
    }
}
