//! Rows in a few bytes each, added in any order and read in the order of time.
//!
//! ## Why packed
//! A row as a struct has 40 bytes, and sorting needs it twice: a month of seconds took half a gigabyte. Consecutive
//! rows differ little except in their count, so most take three bytes. They are sorted in chunks as they are added, and
//! the chunks are merged when they are read: any order costs the same, and the rows are never unpacked all at once.

use super::bins::Sample;
use super::notice::Spot;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows of one source.
#[derive(Debug, Default)]
pub(super) struct Packed {
    chunks: Vec<Box<[u8]>>,
    open: Vec<Sample>,
    len: u64,
}

impl Packed {
    pub(super) fn push(&mut self, sample: Sample) {
        self.open.push(sample);
        self.len += 1;
        if self.open.len() == CHUNK {
            self.close();
        }
    }

    /// Packs the remaining rows; required before reading.
    pub(super) fn close(&mut self) {
        self.open.sort_by_key(|sample| sample.at);
        let mut writer = Writer::default();
        self.open.iter().for_each(|sample| writer.put(sample));
        if !self.open.is_empty() {
            self.chunks.push(writer.bytes.into());
        }
        self.open.clear();
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The rows of several sources in the order of time, each with the index of its source. Rows with the same time are in
/// the order of the sources, and within a source in its own.
pub(super) struct Merged<'a> {
    readers: Vec<(Reader<'a>, u32)>,
    /// The next row of each reader: time and index of the reader.
    next: BinaryHeap<Reverse<(i64, usize)>>,
}

impl<'a> Merged<'a> {
    pub(super) fn of(sources: impl IntoIterator<Item = &'a Packed>) -> Merged<'a> {
        let mut readers = Vec::new();
        for (source, number) in sources.into_iter().zip(0_u32..) {
            readers.extend(source.chunks.iter().map(|chunk| (Reader::of(chunk), number)));
        }
        let next = readers.iter().enumerate().filter_map(|(place, (reader, _))| {
            reader.current.as_ref().map(|sample| Reverse((sample.at, place)))
        });
        let next = next.collect();
        Merged { readers, next }
    }
}

impl Iterator for Merged<'_> {
    type Item = (Sample, u32);

    fn next(&mut self) -> Option<(Sample, u32)> {
        let Reverse((_, place)) = self.next.pop()?;
        let (reader, source) = self.readers.get_mut(place)?;
        let sample = reader.take()?;
        if let Some(following) = &reader.current {
            self.next.push(Reverse((following.at, place)));
        }
        Some((sample, *source))
    }
}

/// Writes rows as differences from the previous row.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    before: Before,
}

/// The expected next row.
#[derive(Clone, Copy, Default)]
struct Before {
    at: i64,
    step: i64,
    file: u32,
    kind: u8,
    spot: u64,
}

impl Before {
    fn then(self, at: i64, file: u32, kind: u8, spot: u64) -> Before {
        Before { at, step: at.wrapping_sub(self.at), file, kind, spot }
    }
}

impl Writer {
    fn put(&mut self, sample: &Sample) {
        let Before { at, step, file, kind: kind_before, spot: spot_before } = self.before;
        let (kind, spot) = split(sample.spot);
        let off = sample.at.wrapping_sub(at).wrapping_sub(step);
        let is_next = kind == kind_before && spot == spot_before.wrapping_add(1);
        let whole = sample.amount >= 0.0 && sample.amount <= EXACT && sample.amount.fract() == 0.0;
        let mut flags = kind << KIND;
        for (is_so, flag) in
            [(off != 0, OFF), (!is_next, SPOT), (sample.file != file, FILE), (!whole, FRACTION)]
        {
            flags |= if is_so { flag } else { 0 };
        }
        self.bytes.push(flags);
        if off != 0 {
            self.number(zigzag(off));
        }
        if !is_next {
            self.number(spot);
        }
        if sample.file != file {
            self.number(u64::from(sample.file));
        }
        if whole {
            self.number(sample.amount as u64);
        } else {
            self.bytes.extend_from_slice(&sample.amount.to_bits().to_le_bytes());
        }
        self.before = self.before.then(sample.at, sample.file, kind, spot);
    }

    /// Seven bits per byte.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    before: Before,
    current: Option<Sample>,
}

impl<'a> Reader<'a> {
    fn of(bytes: &'a [u8]) -> Reader<'a> {
        let mut reader = Reader { rest: bytes, before: Before::default(), current: None };
        reader.current = reader.read();
        reader
    }

    fn take(&mut self) -> Option<Sample> {
        let taken = self.current;
        self.current = self.read();
        taken
    }

    fn read(&mut self) -> Option<Sample> {
        let flags = self.byte()?;
        let kind = flags >> KIND;
        let off = if flags & OFF == 0 { 0 } else { unzigzag(self.number()?) };
        let spot = if flags & SPOT == 0 { self.before.spot.wrapping_add(1) } else { self.number()? };
        let file = if flags & FILE == 0 { self.before.file } else { u32::try_from(self.number()?).ok()? };
        let amount = if flags & FRACTION == 0 {
            self.number()? as f64
        } else {
            let (bits, rest) = self.rest.split_first_chunk()?;
            self.rest = rest;
            f64::from_bits(u64::from_le_bytes(*bits))
        };
        let at = self.before.at.wrapping_add(self.before.step).wrapping_add(off);
        self.before = self.before.then(at, file, kind, spot);
        Some(Sample { at, amount, file, spot: joined(kind, spot) })
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return Some(number);
            }
        }
    }
}

fn split(spot: Spot) -> (u8, u64) {
    match spot {
        Spot::Line(line) => (0, line),
        Spot::Result(result, point) => (1, (u64::from(result) << 32) | u64::from(point)),
        Spot::Datapoint(point) => (2, u64::from(point)),
        Spot::Matrix(result, point) => (3, (u64::from(result) << 32) | u64::from(point)),
        Spot::Whole => (4, 0),
    }
}

fn joined(kind: u8, spot: u64) -> Spot {
    match kind {
        0 => Spot::Line(spot),
        1 => Spot::Result((spot >> 32) as u32, spot as u32),
        2 => Spot::Datapoint(spot as u32),
        3 => Spot::Matrix((spot >> 32) as u32, spot as u32),
        _ => Spot::Whole,
    }
}

/// Maps small signed numbers to small unsigned ones.
fn zigzag(number: i64) -> u64 {
    (number.wrapping_shl(1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// The step from the previous row has changed.
const OFF: u8 = 1;
/// The place is not the next one.
const SPOT: u8 = 2;
/// The file has changed.
const FILE: u8 = 4;
/// The amount is not a whole number.
const FRACTION: u8 = 8;
/// Where the kind of the place begins.
const KIND: u8 = 4;
/// The largest number up to which every whole number is an exact double.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Rows that are sorted at once: less than a megabyte.
const CHUNK: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_sample() -> impl Strategy<Value = Sample> {
        let spot = prop_oneof![
            any::<u64>().prop_map(Spot::Line),
            any::<(u32, u32)>().prop_map(|(result, point)| Spot::Result(result, point)),
            any::<u32>().prop_map(Spot::Datapoint),
            any::<(u32, u32)>().prop_map(|(result, point)| Spot::Matrix(result, point)),
        ];
        let amount = prop_oneof![(0_u64..1 << 60).prop_map(|whole| whole as f64), 0.0..1e18_f64];
        let at = prop_oneof![any::<i64>(), 0_i64..50];
        (at, amount, any::<u32>(), spot).prop_map(|(at, amount, file, spot)| Sample {
            at,
            amount,
            file,
            spot,
        })
    }

    proptest! {
        #[test]
        fn rows_come_back_in_the_order_of_time(
            sources in prop::collection::vec(prop::collection::vec(any_sample(), 0..60), 1..4),
        ) {
            let mut expected: Vec<(Sample, u32)> = Vec::new();
            let mut all = Vec::new();
            for (samples, number) in sources.iter().zip(0_u32..) {
                let mut packed = Packed::default();
                for (index, sample) in samples.iter().enumerate() {
                    packed.push(*sample);
                    // As at the end of a chunk.
                    if index % 7 == 6 {
                        packed.close();
                    }
                }
                packed.close();
                prop_assert_eq!(packed.len(), samples.len() as u64);
                expected.extend(samples.iter().map(|sample| (*sample, number)));
                all.push(packed);
            }
            expected.sort_by_key(|(sample, _)| sample.at);
            prop_assert_eq!(Merged::of(&all).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_row_of_a_table_takes_three_bytes() {
        let mut packed = Packed::default();
        for row in 0..20_000_u64 {
            let (at, amount) = (1_772_366_400_000_000 + 60_000_000 * row as i64, (row % 9_000) as f64);
            packed.push(Sample { at, amount, file: 0, spot: Spot::Line(row + 2) });
        }
        packed.close();
        let bytes: usize = packed.chunks.iter().map(|chunk| chunk.len()).sum();
        assert!(bytes < 3 * 20_000 + 100, "{bytes}");
    }
}
