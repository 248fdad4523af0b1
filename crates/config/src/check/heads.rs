//! Bounds on message heads, and the request trailers that are forwarded.

use fields::{At, Count, Report, Size, Text, between};
use gateway::settings::TrailerName;
use http::codec::Limits;
use http::codec::header::SLOTS;
use units::Bytes;

/// The bounds of one direction.
pub(super) fn limits(
    head: Option<&At<Size>>,
    fields: Option<&At<Count>>,
    target: Option<&At<Size>>,
    report: &mut Report,
) -> Limits {
    let (default, widest) = (Limits::default(), Limits::WIDEST);
    let limits = Limits {
        headers_max: fields.map_or(default.headers_max, |at| {
            between(at, FIELDS_MIN, SLOTS as u32, "100 is usual", report) as usize
        }),
        head_bytes_max: head.map_or(default.head_bytes_max, |at| {
            bytes(at, (HEAD_BYTES_MIN, widest.head_bytes_max), "16KiB is usual", report)
        }),
        target_bytes_max: target.map_or(default.target_bytes_max, |at| {
            bytes(at, (TARGET_BYTES_MIN, widest.target_bytes_max), "8KiB is usual", report)
        }),
    };
    if let Some(at) = target.filter(|_| limits.target_bytes_max > limits.head_bytes_max) {
        let [target, head] = [limits.target_bytes_max, limits.head_bytes_max].map(|it| Bytes::new(it as u64));
        let message = format!("`request_target_max` ({target}) exceeds `request_head_max` ({head})");
        let help = "lower it, or raise `request_head_max`".to_owned();
        report.wrong(&at.place, message, "more than the head", help);
    }
    limits
}

fn bytes(at: &At<Size>, (least, most): (usize, usize), usual: &str, report: &mut Report) -> usize {
    let Size(found) = at.value;
    match usize::try_from(found.get()) {
        Ok(bytes) if (least..=most).contains(&bytes) => bytes,
        _ => {
            let [from, to] = [least, most].map(|bytes| Bytes::new(bytes as u64));
            let message = format!("{found} is outside {from} to {to}");
            report.wrong(&at.place, message, "outside the bounds", usual.to_owned());
            least
        }
    }
}

/// The request trailers that are forwarded.
pub(super) fn request_trailers(list: Option<&At<Vec<At<Text>>>>, report: &mut Report) -> Vec<TrailerName> {
    let mut names: Vec<TrailerName> = Vec::new();
    for At { value: Text(text), place } in list.iter().flat_map(|list| &list.value) {
        match TrailerName::new(text) {
            Ok(name) if names.contains(&name) => {
                let message = format!("duplicate name `{text}`");
                report.wrong(place, message, "again", "remove one of them".to_owned());
            }
            Ok(name) => names.push(name),
            Err(error) => {
                let message = format!("`{text}` cannot be forwarded as a trailer: {error}");
                let help = "list only trailers that no proxy interprets, such as `x-checksum`";
                report.wrong(place, message, "this name", help.to_owned());
            }
        }
    }
    names
}

/// A browser sends about fifteen.
const FIELDS_MIN: u32 = 8;

const HEAD_BYTES_MIN: usize = 1024;

const TARGET_BYTES_MIN: usize = 256;
