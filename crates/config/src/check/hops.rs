//! Proxies in front of the gateway, and `Server-Timing` of instances.

use super::key::token;
use crate::file::Range;
use fields::{At, Report, Text};
use gateway::settings::{Network, NetworkError};

/// The ranges of trusted proxies.
pub(super) fn trusted(list: Option<&At<Vec<At<Range>>>>, report: &mut Report) -> Vec<Network> {
    let mut networks: Vec<Network> = Vec::new();
    for At { value: Range(text), place } in list.iter().flat_map(|list| &list.value) {
        match text.parse::<Network>() {
            Ok(network) if networks.contains(&network) => {
                let message = format!("duplicate entry `{text}`");
                report.wrong(place, message, "again", "remove one of them".to_owned());
            }
            Ok(network) => {
                if network.holds_all() {
                    let message = format!("`{text}` trusts all clients: any client could forge its address");
                    let help = "list only the addresses of your proxies, such as `10.0.0.0/8`".to_owned();
                    report.wrong(place, message, "everybody", help);
                }
                networks.push(network);
            }
            Err(error) => {
                let help = match error {
                    NetworkError::Between { range, .. } => {
                        format!("use `{range}`, or the address without a prefix length")
                    }
                    _ => "expected an address or a network, such as `10.0.0.0/8` or `::1`".to_owned(),
                };
                report.wrong(place, format!("`{text}`: {error}"), "this value", help);
            }
        }
    }
    networks
}

/// Names of metrics in Server-Timing.
pub(super) fn server_timing(list: Option<&At<Vec<At<Text>>>>, report: &mut Report) -> Vec<String> {
    let Some(list) = list else { return Vec::new() };
    if list.value.len() > METRICS_MAX {
        let message = format!("{} metrics, but at most {METRICS_MAX} are allowed", list.value.len());
        report.wrong(&list.place, message, "too many", "keep only the metrics that you need".to_owned());
    }
    let mut names: Vec<String> = Vec::new();
    for at in &list.value {
        let At { value: Text(name), place } = at;
        if token(at, "a metric of Server-Timing", (NAME_BYTES_MAX, "db"), report) && names.contains(name) {
            let message = format!("duplicate entry `{name}`");
            report.wrong(place, message, "again", "remove one of them".to_owned());
        }
        names.push(name.clone());
    }
    names
}

/// Each adds two lines of metrics for each route, and a comparison for each response.
const METRICS_MAX: usize = 16;

const NAME_BYTES_MAX: usize = 64;
