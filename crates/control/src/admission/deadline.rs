//! How long a client waits, as its request says.
//!
//! Clients and proxies have no common header for it: a route names the header, and the value has the units that are in
//! use. A value that cannot be read says nothing.

use core::time::Duration;

/// How long a client waits, by its own header: `250ms`, `1.5s`, `2m`. A plain number is in seconds, or in milliseconds
/// if the header's name, in lower case, ends in `-ms`; `grpc-timeout` has units of its own. `None` for anything else,
/// and for more than a day.
pub fn patience(header: &str, value: &[u8]) -> Option<Duration> {
    let value = core::str::from_utf8(value).ok()?.trim();
    let units: &[(&str, f64)] = if header == "grpc-timeout" {
        &[("H", 3_600.0), ("M", 60.0), ("S", 1.0), ("m", 1e-3), ("u", 1e-6), ("n", 1e-9)]
    } else {
        let plain = if header.ends_with("-ms") { 1e-3 } else { 1.0 };
        &[("ms", 1e-3), ("us", 1e-6), ("s", 1.0), ("m", 60.0), ("", plain)]
    };
    let (number, unit) =
        units.iter().find_map(|(unit, seconds)| Some((value.strip_suffix(unit)?, *seconds)))?;
    // Other forms of numbers, such as `inf`, are no times.
    let digits = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = number.parse::<f64>().ok().filter(|_| digits)? * unit;
    Duration::try_from_secs_f64(seconds).ok().filter(|patience| *patience <= LONGEST_PATIENCE)
}

/// Longer values are mistakes of the unit, and are ignored.
const LONGEST_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_say_their_patience_in_many_ways() {
        for (header, value, expected_ms) in [
            ("x-request-timeout", "250ms", Some(250.0)),
            ("x-request-timeout", "1.5s", Some(1_500.0)),
            ("x-request-timeout", "2", Some(2_000.0)),
            ("x-request-timeout", "2m", Some(120_000.0)),
            ("x-expected-rq-timeout-ms", "300", Some(300.0)),
            ("grpc-timeout", "300m", Some(300.0)),
            ("grpc-timeout", "1S", Some(1_000.0)),
            ("grpc-timeout", "1", None),
            ("x-request-timeout", "", None),
            ("x-request-timeout", "-1s", None),
            ("x-request-timeout", "inf", None),
            ("x-request-timeout", "1e3", None),
            ("x-request-timeout", "99999999999s", None),
            ("x-request-timeout", "soon", None),
        ] {
            let found = patience(header, value.as_bytes()).map(|found| found.as_secs_f64() * 1e3);
            assert_eq!(found, expected_ms, "{header}: {value}");
        }
    }
}
