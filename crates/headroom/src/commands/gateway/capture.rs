//! `--capture`: the traffic that passes, in a file for `headroom replay`.

use gateway::settings::{Capture, Mirror};
use http::codec::write::check_name;
use std::path::PathBuf;
use units::{Bytes, Ratio};

#[derive(Debug, Clone, clap::Args)]
pub(super) struct CaptureArgs {
    /// Record admitted requests in this file, for `headroom replay`; credentials and cookies are masked
    #[arg(long, value_name = "FILE", help_heading = "Capture")]
    capture: Option<PathBuf>,

    /// Share of clients to record
    #[arg(
        long,
        value_name = "SHARE",
        default_value = "100%",
        value_parser = fraction,
        requires = "capture",
        help_heading = "Capture"
    )]
    capture_fraction: Ratio,

    /// Also mask the value of this header; can be repeated
    #[arg(long, value_name = "HEADER", value_parser = header, requires = "capture", help_heading = "Capture")]
    mask: Vec<String>,

    /// Mask the value of this query parameter; can be repeated
    #[arg(long, value_name = "NAME", requires = "capture", help_heading = "Capture")]
    mask_query: Vec<String>,

    /// Do not record requests with larger bodies; bodies are recorded unchanged
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64KiB",
        value_parser = body_max,
        requires = "capture",
        help_heading = "Capture"
    )]
    capture_body_max: Bytes,
}

impl CaptureArgs {
    /// What is to be captured.
    pub(super) fn settings(&self) -> Option<Capture> {
        self.capture.clone().map(|file| Capture {
            fraction: self.capture_fraction,
            mask_headers: self.mask.clone(),
            mask_query: self.mask_query.clone(),
            body_max: self.capture_body_max,
            ..Capture::new(file)
        })
    }
}

fn fraction(text: &str) -> Result<Ratio, String> {
    let found: Ratio = text.parse().map_err(|error| format!("{error}"))?;
    if found.get() > 0.0 {
        Ok(found)
    } else {
        Err("a share of 0 captures nothing; leave --capture out".to_owned())
    }
}

fn header(text: &str) -> Result<String, String> {
    if check_name(text).is_ok() {
        Ok(text.to_owned())
    } else {
        Err("not the name of a header; write it as in `X-Api-Key`".to_owned())
    }
}

fn body_max(text: &str) -> Result<Bytes, String> {
    let found: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if found <= Mirror::BODY_MOST {
        Ok(found)
    } else {
        Err(format!("{found} is above {}: bodies are held in memory; 64KiB is usual", Mirror::BODY_MOST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_captures_nothing_or_too_much_is_refused() {
        assert!(fraction("0%").is_err() && fraction("101%").is_err() && fraction("10%").is_ok());
        assert!(header("X-Api-Key").is_ok() && header("X: y").is_err() && header("").is_err());
        assert!(body_max("16MiB").is_ok() && body_max("17MiB").is_err() && body_max("much").is_err());
    }
}
