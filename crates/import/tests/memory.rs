//! Tables and logs of any length are read in bounded memory: only packed rows and the resulting counts are kept.

use import::{Traffic, TrafficFormat, TrafficOptions, read_traffic};
use std::io::{BufReader, Read};
use std::time::Duration;

/// Lines that are generated while they are read, so that the input itself takes no memory.
struct Made<F> {
    lines: u64,
    next: u64,
    line: F,
    rest: Vec<u8>,
    taken: usize,
}

impl<F: Fn(u64) -> String> Read for Made<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.taken == self.rest.len() {
            if self.next == self.lines {
                return Ok(0);
            }
            self.rest = (self.line)(self.next).into_bytes();
            self.taken = 0;
            self.next += 1;
        }
        let count = buffer.len().min(self.rest.len() - self.taken);
        buffer[..count].copy_from_slice(&self.rest[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

/// The result of reading this many lines, and the maximum of allocated bytes.
fn read(lines: u64, line: impl Fn(u64) -> String, options: &TrafficOptions) -> (Traffic, u64) {
    let mut traffic = None;
    let allocated = allocation_counter::measure(|| {
        let made = Made { lines, next: 0, line: &line, rest: Vec::new(), taken: 0 };
        let read = read_traffic("made", BufReader::new(made), options);
        traffic = Some(read.unwrap_or_else(|errors| panic!("{errors:?}")).0);
    });
    let traffic = traffic.expect("it was read");
    println!("{lines} lines, {} counts: {} KiB at most", traffic.counts.len(), allocated.bytes_max / 1_024);
    (traffic, allocated.bytes_max)
}

/// A fifth of 3.5 million, which must take a fifth of 64 MiB: the counts themselves are 5.6 MB of it.
const LINES: u64 = 700_000;
const MOST: u64 = 64 * 1024 * 1024 / 5;

#[test]
fn a_table_of_seconds_takes_little_more_than_its_counts() {
    let row = |row: u64| format!("{},{}\n", 1_772_366_400 + row, row * 37 % 5_000);
    let (traffic, bytes) = read(LINES, row, &TrafficOptions::default());
    assert_eq!(traffic.counts.len() as u64, LINES);
    assert_eq!(traffic.counts[1_000], 37_000 % 5_000);
    assert!(bytes < MOST, "{bytes}");
}

#[test]
fn a_table_in_no_order_takes_no_more() {
    // 7,919 has no common factor with the number of rows, so each second comes once.
    let row = |row: u64| format!("{},{}\n", 1_772_366_400 + row * 7_919 % LINES, row % 100);
    let (traffic, bytes) = read(LINES, row, &TrafficOptions::default());
    assert_eq!(traffic.counts.len() as u64, LINES);
    assert!(bytes < MOST, "{bytes}");
}

#[test]
fn counts_in_one_line_take_little_more_than_themselves() {
    let options = TrafficOptions { row: Some(Duration::from_secs(1)), ..TrafficOptions::default() };
    let (traffic, bytes) = read(LINES, |row| format!("{},", row % 5_000), &options);
    assert_eq!(traffic.counts.len() as u64, LINES);
    assert!(bytes < MOST, "{bytes}");
}

#[test]
fn events_take_memory_for_the_time_that_they_cover() {
    let options = TrafficOptions {
        format: Some(TrafficFormat::Events),
        bin: Some(Duration::from_secs(60)),
        ..TrafficOptions::default()
    };
    let event = |event: u64| format!("{} GET /{event}\n", 1_772_366_400 + event / 20);
    let (traffic, bytes) = read(LINES, event, &options);
    assert_eq!(traffic.counts.iter().sum::<u64>(), LINES);
    assert!(bytes < 1 << 20, "{bytes}");
}
