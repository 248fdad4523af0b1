//! Finds items by name: a reload of thousands of routes must not search a list for each.

use crate::settings::{Class, Settings};
use std::collections::HashMap;

/// The indexes of the routes, pools and service level classes of a configuration, by name.
#[derive(Debug)]
pub(crate) struct Named {
    routes: HashMap<Box<str>, usize>,
    pools: HashMap<Box<str>, usize>,
    levels: HashMap<Box<str>, usize>,
}

impl Named {
    pub(super) fn new(settings: &Settings) -> Self {
        Named {
            routes: places(settings.routes.iter().map(|route| &*route.name)),
            pools: places(settings.pools.iter().map(|pool| &*pool.name)),
            levels: places(settings.service_levels.iter().map(|class| &*class.name)),
        }
    }

    pub(crate) fn route(&self, name: &str) -> Option<usize> {
        self.routes.get(name).copied()
    }

    pub(crate) fn pool(&self, name: &str) -> Option<usize> {
        self.pools.get(name).copied()
    }

    pub(crate) fn level(&self, name: &str) -> Option<usize> {
        self.levels.get(name).copied()
    }
}

/// The first index of each name.
fn places<'a>(names: impl Iterator<Item = &'a str>) -> HashMap<Box<str>, usize> {
    let mut places = HashMap::with_capacity(names.size_hint().0);
    for (place, name) in names.enumerate() {
        places.entry(Box::from(name)).or_insert(place);
    }
    places
}

/// The index of each class in the previous configuration, with the same name and settings; `None` for those that are
/// new or changed.
pub(super) fn stood<S: PartialEq>(now: &[Class<S>], before: Option<&[Class<S>]>) -> Vec<Option<usize>> {
    let before = before.unwrap_or_default();
    let known = places(before.iter().map(|class| &*class.name));
    let same = |class: &Class<S>| {
        known.get(&*class.name).copied().filter(|&index| before[index].settings == class.settings)
    };
    now.iter().map(same).collect()
}
