//! The service's own record of arrivals and departures, for comparison with a generator's measurements.
//!
//! One CSV line for each request, in the order of departure. The buffer has a fixed size and is flushed each second and
//! at the end. The first error ends the record and is reported when the service stops, since requests must not be
//! affected.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub(crate) struct Record {
    start: Instant,
    /// Microseconds since 1970 at `start`.
    start_epoch_us: u128,
    file: Mutex<io::Result<BufWriter<File>>>,
}

/// One request, from its arrival to its response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) arrival: Instant,
    /// When the response was passed to the system.
    pub(crate) departure: Instant,
    pub(crate) connection: u64,
    /// Empty if the request was not read.
    pub(crate) path: &'a str,
    /// 0 if the connection was closed without a response.
    pub(crate) status: u16,
    /// Requests in the service at arrival, including this one.
    pub(crate) in_flight: usize,
    /// The generator's number of the arrival; empty if it sent none.
    pub(crate) generator: &'a str,
}

impl Record {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER, File::create(path)?);
        writeln!(file, "{HEADER}")?;
        file.flush()?;
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Record { start: Instant::now(), start_epoch_us: epoch.as_micros(), file: Mutex::new(Ok(file)) })
    }

    pub(crate) fn write(&self, line: &Line<'_>) {
        let since = |instant: Instant| instant.saturating_duration_since(self.start);
        let (arrival, departure) = (since(line.arrival), since(line.departure));
        self.attempt(|file| {
            writeln!(
                file,
                "{},{},{},{},{},{},{},{}",
                arrival.as_nanos(),
                self.start_epoch_us + arrival.as_micros(),
                departure.as_nanos(),
                line.connection,
                field(line.path),
                line.status,
                line.in_flight,
                field(line.generator),
            )
        });
    }

    pub(crate) fn flush(&self) {
        self.attempt(Write::flush);
    }

    /// Ends the record; returns the first error of all writes.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.flush();
        match &*self.file() {
            Ok(_) => Ok(()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    fn attempt(&self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        let mut file = self.file();
        if let Ok(open) = file.as_mut()
            && let Err(error) = write(open)
        {
            *file = Err(error);
        }
    }

    fn file(&self) -> MutexGuard<'_, io::Result<BufWriter<File>>> {
        self.file.lock().expect("nothing panics while it holds the record")
    }
}

/// A field of bounded length, quoted if CSV requires it.
fn field(text: &str) -> String {
    let cut: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_FIELD).collect();
    if cut.contains([',', '"']) { format!("\"{}\"", cut.replace('"', "\"\"")) } else { cut }
}

const HEADER: &str =
    "arrival_ns,arrival_epoch_us,departure_ns,connection,path,status,in_flight_at_arrival,generator_arrival";
const BUFFER: usize = 64 << 10;
const LONGEST_FIELD: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn writes_a_line_for_each_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.csv");
        let record = Record::create(&path).unwrap();
        let arrival = record.start + Duration::from_millis(2);
        record.write(&Line {
            arrival,
            departure: arrival + Duration::from_millis(20),
            connection: 3,
            path: "/a,\"b\"",
            status: 200,
            in_flight: 2,
            generator: "17",
        });
        record.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let epoch = record.start_epoch_us + 2_000;
        assert_eq!(text, format!("{HEADER}\n2000000,{epoch},22000000,3,\"/a,\"\"b\"\"\",200,2,17\n"));
    }

    #[test]
    fn tells_at_the_end_that_the_disk_is_full() {
        let full = Path::new("/dev/full");
        let error = Record::create(full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
