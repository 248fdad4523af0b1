//! The format of access log lines and when they are written.

use std::time::Duration;

/// The format of access log lines and when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogForm {
    /// The format of a line.
    pub format: LogFormat,
    /// The size of a worker's buffer, in bytes.
    pub buffer: u32,
    /// How long a line may wait to be written; the loop looks ten times a second.
    pub flush: Duration,
}

impl LogForm {
    /// The smallest and the largest buffer, in bytes.
    pub const BUFFER: (u32, u32) = (4 * 1024, 16 * 1024 * 1024);
    /// The shortest and the longest time between writes.
    pub const FLUSH: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
}

impl Default for LogForm {
    fn default() -> Self {
        LogForm { format: LogFormat::Extended, buffer: 64 * 1024, flush: Duration::from_secs(1) }
    }
}

/// The format of an access log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined format without referer and user agent, followed by the gateway's times and reason.
    Extended,
    /// nginx's combined format.
    Combined,
    /// An object per line.
    Json,
}

impl LogFormat {
    /// All formats.
    pub const ALL: [LogFormat; 3] = [LogFormat::Extended, LogFormat::Combined, LogFormat::Json];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            LogFormat::Extended => "extended",
            LogFormat::Combined => "combined",
            LogFormat::Json => "json",
        }
    }
}
