//! The number of instances of a service.

use core::fmt;

/// A number of instances of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct InstanceCount(u32);

impl InstanceCount {
    /// This many instances.
    pub const fn new(count: u32) -> Self {
        InstanceCount(count)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for InstanceCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
