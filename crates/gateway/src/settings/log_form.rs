//! How lines of the access log look and when they are written.

use std::time::Duration;

/// How lines of the access log look and when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogForm {
    /// How a line looks.
    pub format: LogFormat,
    /// What a worker gathers before it writes, in bytes.
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

/// How a line of the access log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// The combined form without referer and user agent, and the gateway's times and reason behind it.
    Extended,
    /// nginx's combined form.
    Combined,
    /// An object a line.
    Json,
}

impl LogFormat {
    /// All forms.
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
