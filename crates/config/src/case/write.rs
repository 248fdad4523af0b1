//! A case file from what `import` read of AWS or Kubernetes.
//!
//! A vendor's files say how a service scales, and not what its requests cost. Keys that they cannot know have the value
//! `TODO`, which `headroom config check` reports one by one. A case file says less than AWS and Kubernetes do in some
//! places. What it cannot say is left out and reported, like everything else that is not simulated as it is.

mod aws;
mod kubernetes;
mod model;

pub use aws::{aws, terraform};
pub use kubernetes::kubernetes;
pub(super) use kubernetes::{Place, places, places_of_triggers};
pub use model::{Endpoint, Measured, Pool, measured};

/// A case file with keys to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// YAML.
    pub text: String,
    /// What it cannot say.
    pub left_out: Vec<String>,
    /// What was taken for something that the files do not say.
    pub assumed: Vec<String>,
}

impl Draft {
    /// The number of keys to fill in.
    pub fn to_fill_in(&self) -> usize {
        self.text.lines().filter(|line| line.contains(MARK)).count()
    }
}

/// A key whose value the imported files do not say, as a line; `what` tells the reader what to write.
fn to_fill_in(depth: usize, key: &str, what: &str) -> String {
    format!("{}{key}{MARK} # {what}\n", "  ".repeat(depth))
}

/// The beginning of a case file, up to its services; `date` is that on which the run begins, if something needs one.
fn head(vendor: &str, services: &[String], date: Option<&str>) -> String {
    let name = services.first().map_or("imported", String::as_str);
    let mut text = format!(
        "# Scaling as {vendor} has it. Replace each TODO; `headroom config check` lists those that are left.\n\
         case: {name}\n"
    );
    if let Some(date) = date {
        text += &format!(
            "begins: {date} # schedules need a date; remove this key if the traffic file has dates\n"
        );
    }
    text += "traffic:\n";
    text += &to_fill_in(
        1,
        "rate",
        "requests per second, such as 120/s; or replace this key by `file: traffic.csv`",
    );
    if services.len() > 1 {
        text += &format!(
            "# Requests enter at {name}, the first service. The others get those that `call` sends to them\n\
             # (docs/simulate.md, Endpoints); to simulate one by itself, delete the others.\n"
        );
    }
    text + "services:\n"
}

/// The keys of a service that say what its requests do, which no vendor knows.
fn application() -> String {
    let mut text = "    endpoints:\n      request:\n".to_owned();
    text += &to_fill_in(4, "cpu", "processor time of a request, such as 5ms");
    text += &to_fill_in(4, "wait", "its time on databases, disks and other services, such as 20ms; or 0");
    text += "    server:\n";
    text += &to_fill_in(3, "processes", "worker processes of an instance, such as 1");
    text + &to_fill_in(3, "threads", "requests that a process handles at the same time, such as 50")
}

/// The time until an instance serves.
fn start() -> String {
    let mut text = "    start:\n".to_owned();
    text +=
        &to_fill_in(3, "provision", "from the decision to scale out until the process starts, such as 30s");
    text + &to_fill_in(3, "boot", "from there until the first request is answered, such as 10s")
}

/// The value of a key to fill in.
const TO_FILL_IN: &str = "TODO";
/// The same with the end of the key.
const MARK: &str = ": TODO";

/// A name that a case file can have, unlike the others: letters, digits, `-` and `_`, a letter first.
pub(super) fn key_for(name: &str, taken: &mut Vec<String>) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let begins = plain.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = if begins { plain } else { format!("n{plain}") };
    let unlike = |key: &String| !taken.contains(key);
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let key = std::iter::once(plain.clone()).chain(numbered).find(unlike).unwrap_or(plain.clone());
    taken.push(key.clone());
    key
}

/// The name that the vendor has for it as a comment, where the key is another.
fn original(key: &str, name: &str) -> String {
    if key == name {
        return String::new();
    }
    let printable: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(" # {printable}")
}

#[cfg(test)]
mod tests {
    use super::{key_for, original};

    #[test]
    fn names_become_keys_that_differ() {
        let mut taken = Vec::new();
        let keys =
            ["web", "web", "my shop: up", "my-shop--up", "9 to 5", ""].map(|name| key_for(name, &mut taken));
        assert_eq!(keys, ["web", "web-2", "my-shop--up", "my-shop--up-2", "n9-to-5", "n"]);
        assert_eq!(original("n9-to-5", "9 to\n5"), " # 9 to 5");
    }
}
