//! Fills a ledger with runs for `bench/ledger/many`: `fill PLACE COUNT`, a file or the URL of a PostgreSQL database.

use ledger::{Ledger, Location, NewRun, Note, Outcome, WallTime};
use measure::{Fate, Histogram, Measurement, Second};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "usage: fill PLACE COUNT";
    let place = Location::from(arguments.next().ok_or(usage)?);
    let count: u32 = arguments.next().and_then(|text| text.to_str()?.parse().ok()).ok_or(usage)?;
    let ledger = Ledger::open(place)?;
    for number in 0..count {
        let started = 1_700_000_000_000_000 + 60_000_000 * i64::from(number);
        let id = ledger.begin(&NewRun {
            parent: None,
            repeat_of: None,
            command: "load".to_owned(),
            command_line: format!("headroom load http://shop/{} -r 100/s", number % 50),
            version: "0.1.0".to_owned(),
            config: format!(r#"{{"rate":100.0,"connections":{},"note":"{}"}}"#, number % 7, "x".repeat(400)),
            target: format!("http://shop/{}", number % 50),
            host: host::host_facts(),
            facts: host::surroundings(),
            started: WallTime::from_micros(started),
            process: None,
        })?;
        let ended = WallTime::from_micros(started + 30_000_000);
        let measurement = measurement(u64::from(number));
        ledger.finish(
            id,
            &Outcome {
                ended,
                measurement: Some(&measurement),
                result: None,
                interrupted: None,
                host_after: Vec::new(),
            },
        )?;
        if number % 100 == 0 {
            ledger.note(
                id,
                &Note::Tag { key: "team".to_owned(), value: Some(format!("t{}", number % 1000)) },
            )?;
        }
    }
    Ok(())
}

/// Half a minute at a hundred requests a second.
fn measurement(number: u64) -> Measurement {
    let mut measurement = Measurement { elapsed: Duration::from_secs(30), ..Measurement::default() };
    for second in 0..30 {
        let mut of_second = Second::default();
        let mut times = Histogram::new();
        for request in 0..100 {
            let micros = 2_000 + number % 997 + 37 * second + request * request;
            times.record(Duration::from_micros(micros));
            measurement.response.record(Duration::from_micros(micros));
            for accounting in [&mut measurement.accounting, &mut of_second.accounting] {
                accounting.scheduled += 1;
                accounting.enter(Fate::Answered);
            }
        }
        of_second.good = 100;
        of_second.response = times.sparse();
        measurement.series.seconds.push(of_second);
    }
    measurement.completed = 3_000;
    measurement
}
