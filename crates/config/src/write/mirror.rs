//! Mirrors, as keys of a file.

use super::{Keys, key, per_second, quoted, share, span};
use control::mirror::{BreakerSettings, Methods, MirrorSettings};
use control::rate::Limit;
use gateway::settings::{Mirror, Route, Settings};

pub(super) fn mirror(mirror: &Mirror, settings: &Settings) -> Keys {
    let MirrorSettings { fraction, limit, methods, breaker, salt } = mirror.choice;
    let BreakerSettings { trip_at, admit_below, admit_after } = breaker;
    let mut keys = vec![
        ("pool", quoted(&settings.pools[mirror.pool].name)),
        ("fraction", share(fraction)),
        ("key", key(&mirror.key)),
    ];
    if let Some(Limit { rate, burst }) = limit {
        keys.extend([("limit", per_second(rate)), ("burst", burst.to_string())]);
    }
    keys.extend([
        ("methods", if methods == Methods::All { "all" } else { "safe" }.to_owned()),
        ("credentials", mirror.credentials.to_string()),
        ("deadline", span(mirror.deadline)),
        ("queue", mirror.queue.to_string()),
        ("in_flight", mirror.in_flight.to_string()),
        ("body_max", mirror.body_max.get().to_string()),
        (
            "breaker",
            format!(
                "{{ trip_at: {}, admit_below: {}, admit_after: {} }}",
                span(trip_at),
                span(admit_below),
                span(admit_after)
            ),
        ),
        ("salt", salt.to_string()),
    ]);
    keys
}

/// The mirrors of a route.
pub(super) fn of_route(route: &Route, settings: &Settings) -> Option<(&'static str, String)> {
    let names: Vec<String> = route.mirrors.iter().map(|&at| quoted(&settings.mirrors[at].name)).collect();
    (!names.is_empty()).then(|| ("mirror", format!("[{}]", names.join(", "))))
}
