//! What an autoscaler decided by: the values that its alarms or metrics had when it looked at the end of a minute.

/// A value a minute for each alarm of AWS or metric of a horizontal pod autoscaler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    names: Vec<String>,
    /// Minute after minute, in the order of the names.
    values: Vec<Option<f64>>,
}

impl Seen {
    /// Of nothing yet.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Seen { names, values: Vec::new() }
    }

    /// Adds a minute.
    pub(crate) fn add(&mut self, minute: impl FnOnce(&mut Vec<Option<f64>>)) {
        minute(&mut self.values);
    }

    /// The names of alarms or metrics.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of a minute of the measured span in the order of the names, from 0: in percent, seconds or a number,
    /// as the vendor has them; none without a datapoint.
    pub fn minute(&self, minute: usize) -> &[Option<f64>] {
        self.values.chunks(self.names.len().max(1)).nth(minute).unwrap_or_default()
    }
}
