//! A line for each request, also one whose client left (499, as is usual), buffered by each worker.
//!
//! ## Why buffered
//! A write for each line is a system call for each request. Lines gather in 64 KiB and are written once a second, or
//! when the buffer is full; always whole lines, appended, so that several workers can share a file and a rotation by
//! copy and truncation works. A disk that is full loses lines, which are counted; it never stops a request.
//!
//! The form is the combined one that log readers know, with our fields behind it.

use crate::address;
use crate::settings::AccessLog;
use http::codec::write::decimal;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::time::Duration;

/// One worker's end of the access log.
#[derive(Debug)]
pub(crate) struct Log {
    buffer: Vec<u8>,
    lines: u64,
    lost: u64,
    to: Option<File>,
    /// The second that `date` is written for, since 1970.
    second: u64,
    date: String,
}

/// What a line says.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) client: IpAddr,
    /// When the request arrived, in µs since 1970.
    pub(crate) arrived_us: u64,
    pub(crate) method: &'a [u8],
    pub(crate) target: &'a [u8],
    pub(crate) status: u16,
    pub(crate) body_bytes: u64,
    pub(crate) route: &'a str,
    pub(crate) total: Duration,
    /// From sending upstream to the first byte; `None` where nothing was sent.
    pub(crate) upstream: Option<Duration>,
    pub(crate) waited: Duration,
    /// Why the gateway answered itself; `-` where it did not.
    pub(crate) reason: &'a str,
}

impl Log {
    /// Opens the log.
    ///
    /// # Errors
    /// Where the file cannot be opened for appending.
    pub(crate) fn open(settings: &AccessLog) -> io::Result<Self> {
        let to = match settings {
            AccessLog::Off => None,
            AccessLog::Stdout => Some(File::from(rustix::io::dup(io::stdout())?)),
            AccessLog::File(path) => Some(File::options().create(true).append(true).open(path)?),
        };
        Ok(Log { buffer: Vec::new(), lines: 0, lost: 0, to, second: 0, date: String::new() })
    }

    /// Whether lines go anywhere.
    pub(crate) fn is_on(&self) -> bool {
        self.to.is_some()
    }

    /// Adds a line.
    pub(crate) fn write(&mut self, line: &Line<'_>) {
        let second = line.arrived_us / 1_000_000;
        if second != self.second {
            self.second = second;
            self.date = date(second);
        }
        let out = &mut self.buffer;
        address::write(out, line.client);
        out.extend_from_slice(b" - - [");
        out.extend_from_slice(self.date.as_bytes());
        out.extend_from_slice(b"] \"");
        if line.method.is_empty() {
            // Not a request that could be read.
            out.extend_from_slice(b"-\" ");
        } else {
            out.extend_from_slice(line.method);
            out.push(b' ');
            // A target has no space or control character: the codec has refused them.
            out.extend(line.target.iter().map(|&byte| if byte == b'"' { b'\'' } else { byte }));
            out.extend_from_slice(b" HTTP/1.1\" ");
        }
        decimal(out, u64::from(line.status));
        out.push(b' ');
        decimal(out, line.body_bytes);
        out.extend_from_slice(b" \"-\" \"-\" route=\"");
        out.extend_from_slice(line.route.as_bytes());
        out.extend_from_slice(b"\" total_us=");
        decimal(out, line.total.as_micros() as u64);
        if let Some(upstream) = line.upstream {
            out.extend_from_slice(b" upstream_us=");
            decimal(out, upstream.as_micros() as u64);
        }
        if !line.waited.is_zero() {
            out.extend_from_slice(b" waited_us=");
            decimal(out, line.waited.as_micros() as u64);
        }
        if line.reason != "-" {
            out.extend_from_slice(b" reason=");
            out.extend_from_slice(line.reason.as_bytes());
        }
        out.push(b'\n');
        self.lines += 1;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    /// Writes what has gathered.
    pub(crate) fn flush(&mut self) {
        if let Some(to) = self.to.as_mut().filter(|_| !self.buffer.is_empty())
            && to.write_all(&self.buffer).is_err()
        {
            self.lost += self.lines;
        }
        self.buffer.clear();
        self.lines = 0;
    }

    /// Lines that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}

/// `21/Nov/2026:13:05:01 +0000`, in UTC.
fn date(second: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let time = i64::try_from(second).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    let time = time.unwrap_or_default().to_zoned(jiff::tz::TimeZone::UTC);
    format!(
        "{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000",
        time.day(),
        MONTHS[usize::from(time.month().unsigned_abs() - 1) % 12],
        time.year(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

const BUFFER_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_log_readers_know() {
        let mut log = Log::open(&AccessLog::Off).unwrap();
        log.write(&Line {
            client: IpAddr::from([127, 0, 0, 1]),
            arrived_us: 1_795_266_301_000_250,
            method: b"GET",
            target: b"/search.cgi?q=\"1\"",
            status: 200,
            body_bytes: 100,
            route: "search",
            total: Duration::from_micros(19_000),
            upstream: Some(Duration::from_micros(18_600)),
            waited: Duration::ZERO,
            reason: "-",
        });
        assert_eq!(
            String::from_utf8(log.buffer.clone()).unwrap(),
            "127.0.0.1 - - [21/Nov/2026:13:05:01 +0000] \"GET /search.cgi?q='1' HTTP/1.1\" 200 100 \"-\" \"-\" \
             route=\"search\" total_us=19000 upstream_us=18600\n"
        );
    }
}
