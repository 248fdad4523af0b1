//! The names that a rule may use, and the gateway's numbers of classes and pools.
//!
//! ## Why numbers
//! A rule uses `"Search limit"`; the gateway keeps its classes in a vector. Names are replaced by numbers when a rule
//! is loaded, inside the Luau machine, so that a request needs no lookup outside it.

use std::collections::BTreeMap;

/// A service level class of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceLevelId(pub u32);

/// A rate class of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateClassId(pub u32);

/// A pool of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(pub u32);

/// The kind of item that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClassKind {
    /// The class of `connection.setServiceLevelClass` and `slm.conforming`.
    ServiceLevel,
    /// The class of the functions in `rate`.
    Rate,
    /// The pool of the functions in `pool`.
    Pool,
}

/// The classes and pools in the configuration, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    service_levels: BTreeMap<String, u32>,
    rates: BTreeMap<String, u32>,
    pools: BTreeMap<String, u32>,
}

impl Names {
    /// No names.
    pub fn new() -> Self {
        Names::default()
    }

    /// Adds a service level class; a name given twice refers to the later class.
    #[must_use]
    pub fn service_level(mut self, name: impl Into<String>, id: ServiceLevelId) -> Self {
        self.service_levels.insert(name.into(), id.0);
        self
    }

    /// Adds a rate class; a name given twice refers to the later class.
    #[must_use]
    pub fn rate(mut self, name: impl Into<String>, id: RateClassId) -> Self {
        self.rates.insert(name.into(), id.0);
        self
    }

    /// Adds a pool; a name given twice refers to the later pool.
    #[must_use]
    pub fn pool(mut self, name: impl Into<String>, id: PoolId) -> Self {
        self.pools.insert(name.into(), id.0);
        self
    }

    /// Names and numbers of one kind, in the order of the names.
    pub(crate) fn of(&self, kind: ClassKind) -> &BTreeMap<String, u32> {
        match kind {
            ClassKind::ServiceLevel => &self.service_levels,
            ClassKind::Rate => &self.rates,
            ClassKind::Pool => &self.pools,
        }
    }

    /// The known names as an error shows them: `"A", "B"`.
    pub(crate) fn shown(&self, kind: ClassKind) -> String {
        let names: Vec<String> = self.of(kind).keys().map(|name| format!("{name:?}")).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    }
}

impl std::fmt::Display for ClassKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            ClassKind::ServiceLevel => "service level class",
            ClassKind::Rate => "rate class",
            ClassKind::Pool => "pool",
        })
    }
}
