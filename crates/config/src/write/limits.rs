//! Refinements of limits, as keys of a file.

use super::{Keys, key, per_second, quoted, share, span};
use gateway::settings::{
    Adaptive, ConcurrencySettings, ConnectionLimits, Keyed, Pool, Queue, RateClassSettings, Route,
    RoutePriority, Settings,
};

pub(super) fn priorities(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("\n# The first is shed first.\npriorities: [{}]\n", names.join(", "))
}

pub(super) fn of_rate_class(settings: &RateClassSettings) -> Keys {
    let mut keys = Keys::new();
    if let Some(Keyed { by, keys: count }) = &settings.keyed {
        keys.extend([("key", key(by)), ("keys", count.to_string())]);
    }
    keys.extend(settings.shadow.then(shadow));
    keys
}

pub(super) fn concurrency(settings: &ConcurrencySettings) -> Keys {
    let ConcurrencySettings { limit, adaptive, queue: found, priorities, shadow: in_shadow } = settings;
    let mut keys = vec![("limit", limit.to_string())];
    if let Some(Adaptive { least, most, prior }) = adaptive {
        let prior = prior.map_or(String::new(), |prior| {
            let (rate, time) = (per_second(prior.rate), span(prior.response_time));
            format!(", prior: {{ rate: {rate}, response_time: {time} }}")
        });
        keys.push(("adaptive", format!("{{ least: {least}, most: {most}{prior} }}")));
    }
    keys.extend(found.map(queue));
    if !priorities.is_empty() {
        let shares: Vec<String> = priorities.iter().map(|part| share(*part)).collect();
        keys.push(("priorities", format!("[{}]", shares.join(", "))));
    }
    keys.extend(in_shadow.then(shadow));
    keys
}

pub(super) fn places(pool: &Pool) -> Keys {
    let limit = pool.instance_concurrency.map(|limit| ("instance_concurrency", limit.to_string()));
    limit.into_iter().chain(pool.queue.map(queue)).collect()
}

pub(super) fn of_route(route: &Route, settings: &Settings) -> Keys {
    let class = |class: u8| quoted(&settings.priorities[usize::from(class)]);
    let priority = route.priority.as_ref().map(|priority| match priority {
        RoutePriority::Class(number) => ("priority", class(*number)),
        RoutePriority::Header { name, otherwise } => {
            ("priority", format!("{{ header: {}, otherwise: {} }}", quoted(name), class(*otherwise)))
        }
    });
    let header = route.deadline_header.as_ref().map(|name| ("deadline_header", quoted(name)));
    let buffer = route.buffer_body.map(|size| ("buffer_body", size.get().to_string()));
    priority.into_iter().chain(header).chain(buffer).collect()
}

/// The bounds on clients that differ from the defaults.
pub(super) fn of_clients(limits: &ConnectionLimits) -> Keys {
    let usual = ConnectionLimits::DEFAULT;
    let mut keys = Keys::new();
    keys.extend(limits.connections_per_client.map(|most| ("connections_per_client", most.to_string())));
    if limits.body_min_rate != usual.body_min_rate {
        let rate = match limits.body_min_rate {
            0 => "0".to_owned(),
            rate => format!("{rate}/s"),
        };
        keys.push(("body_min_rate", rate));
    }
    if limits.body_grace != usual.body_grace && limits.body_min_rate > 0 {
        keys.push(("body_grace", span(limits.body_grace)));
    }
    keys.extend(limits.body_timeout.map(|whole| ("body_timeout", span(whole))));
    keys.extend(limits.body_max.map(|most| ("body_max", most.get().to_string())));
    keys
}

pub(super) fn shadow() -> (&'static str, String) {
    ("shadow", "true".to_owned())
}

fn queue(queue: Queue) -> (&'static str, String) {
    ("queue", format!("{{ places: {}, longest_wait: {} }}", queue.places, span(queue.longest_wait)))
}
