//! The key of a case file that a problem of the simulated system is about.
//!
//! ## Why by path
//! The simulator refuses settings that it cannot simulate, and knows no file. Its paths have the names of the keys, with
//! numbers for what has a name in a file: `services[0].start.warm_up_factor`.

use fields::Place;
use sim::settings::Problem;
use yaml::{Kind, Node};

/// The deepest key on the path that the file has; none if it has none of them.
pub(super) fn locate(tree: &Node, path: &str) -> Option<Place> {
    let path = KEYS.iter().fold(path.to_owned(), |path, (of_system, key)| path.replace(of_system, key));
    let mut found: Option<Place> = None;
    // The last table on the way, and its key.
    let (mut table, mut key) = (tree, String::new());
    for segment in path.split('.') {
        let (name, index) = match segment.trim_end_matches(']').split_once('[') {
            Some((name, index)) => (name, index.parse::<usize>().ok()),
            None => (segment, None),
        };
        // What the table does not have is a level that only the system has.
        let Some((_, value)) = entries(table).iter().find(|(key, _)| key.name == name) else { continue };
        let mut node = value;
        let mut place = Place { path: fields::child(&key, name), span: value.span.clone() };
        match (&value.kind, index) {
            (Kind::Table(entries), Some(index)) => {
                let (name, value) = entries.get(index)?;
                place = Place { path: fields::child(&place.path, &name.name), span: name.span.clone() };
                node = value;
            }
            (Kind::List(items), Some(index)) => {
                node = items.get(index)?;
                place = Place { path: format!("{}[{index}]", place.path), span: node.span.clone() };
            }
            _ => {}
        }
        if matches!(node.kind, Kind::Table(_)) {
            (table, key) = (node, place.path.clone());
        }
        found = Some(place);
    }
    found
}

fn entries(node: &Node) -> &[(yaml::Key, Node)] {
    match &node.kind {
        Kind::Table(entries) => entries,
        _ => &[],
    }
}

/// A way out that fits the key.
pub(super) fn help(problem: &Problem) -> String {
    match problem.place.as_str() {
        "warm_up" | "measured" if problem.bound.contains("minutes") => {
            "write whole minutes, such as `1m` or `2h`".to_owned()
        }
        "rows" => "write 1s, 2s, 5s, 10s, 15s, 30s or 1m".to_owned(),
        place if place.ends_with(".memory") => {
            "raise `memory`, or lower `processes` or `memory_per_process`".to_owned()
        }
        place if place.ends_with(".incidents") => {
            "lower `per_hour` or `duration`: their product must be less than an hour".to_owned()
        }
        place if place.ends_with(".steps") => "remove one of the calls of the circle".to_owned(),
        place if place.ends_with(".background") => {
            "lower `background`, or raise `limit` or `cores`".to_owned()
        }
        _ => format!("write a value {}", problem.bound),
    }
}

/// Parts of paths of the system for which files have another key.
const KEYS: [(&str, &str); 5] = [
    (".quota.cores", ".limit"),
    (".quota.period", ".limit_period"),
    (".accept.inline", ".inline"),
    (".connections.idle_timeout", ".idle_timeout"),
    (".pool", ".hold"),
];

#[cfg(test)]
mod tests {
    use super::locate;

    #[test]
    fn places_of_the_system_are_keys_of_the_file() {
        let text = "\
warm_up: 1s
services:
  web:
    endpoints:
      get: { cpu: 1ms }
      list: { steps: [{ cpu: 1ms }, { call: [api] }] }
    server: { accept: kept, inline: 0 }
    hosts: { small: { cores: 1, limit: 0.5 } }
";
        let tree = yaml::tree(text).unwrap();
        for (path, key, at) in [
            ("warm_up", "warm_up", "1s"),
            ("services[0].start.warm_up_factor", "services.web", "web:"),
            ("services[0].endpoints[1].steps[1]", "services.web.endpoints.list.steps[1]", "{ call"),
            ("services[0].endpoints[0].steps[0].cpu", "services.web.endpoints.get.cpu", "1ms"),
            ("services[0].server.accept.inline", "services.web.server.inline", "0 }"),
            ("services[0].hosts[0].quota.cores", "services.web.hosts.small.limit", "0.5"),
        ] {
            let place = locate(&tree, path).unwrap();
            assert_eq!(place.path, key);
            assert!(text[place.span.start..].starts_with(at), "{path}: {}", &text[place.span.start..]);
        }
        assert_eq!(locate(&tree, "measured").map(|place| place.path), None);
    }
}
