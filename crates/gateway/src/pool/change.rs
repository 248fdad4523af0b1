//! Changes of the instances while the gateway runs: a reload of the settings in force with other instances.

use crate::control_room::ControlRoom;
use crate::settings::Instance;
use crate::shared::{Shared, SharedError};
use control::balance::Weight;
use std::net::SocketAddr;
use thiserror::Error;
use units::Timestamp;

/// A change of the instances of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceChange {
    /// Adds an instance.
    Add {
        /// Its address.
        address: SocketAddr,
        /// Its weight for balancing.
        weight: Weight,
    },
    /// An instance gets no new requests, except from clients with an affinity cookie for it.
    Drain {
        /// Its address.
        address: SocketAddr,
    },
    /// A draining instance takes requests again.
    Resume {
        /// Its address.
        address: SocketAddr,
    },
    /// Removes an instance from the pool; its requests in flight end normally.
    Remove {
        /// Its address.
        address: SocketAddr,
    },
}

impl InstanceChange {
    /// The instance that changes.
    pub const fn address(self) -> SocketAddr {
        match self {
            InstanceChange::Add { address, .. }
            | InstanceChange::Drain { address }
            | InstanceChange::Resume { address }
            | InstanceChange::Remove { address } => address,
        }
    }
}

/// Why a change of the instances was refused.
#[derive(Debug, Error)]
pub enum InstanceChangeError {
    /// The pool does not exist.
    #[error("there is no pool `{pool}`; the pools are {known}")]
    UnknownPool {
        /// The requested pool.
        pool: String,
        /// The existing pools.
        known: String,
    },
    /// The instance does not exist.
    #[error("pool `{pool}` has no instance {address}; its instances are {known}")]
    UnknownInstance {
        /// The pool.
        pool: String,
        /// The requested instance.
        address: SocketAddr,
        /// The existing instances.
        known: String,
    },
    /// The instance is in the pool already.
    #[error(
        "pool `{pool}` has the instance {address} already; remove it first, or resume it where it drains"
    )]
    AlreadyThere {
        /// The pool.
        pool: String,
        /// The instance.
        address: SocketAddr,
    },
    /// No other instance would take requests.
    #[error("{address} is the last instance of pool `{pool}` that takes requests; add another one first")]
    LastInstance {
        /// The pool.
        pool: String,
        /// The instance.
        address: SocketAddr,
    },
    /// The gateway would send requests to itself.
    #[error("{address} is where the gateway itself listens; give the address of the service")]
    Ourselves {
        /// The address.
        address: SocketAddr,
    },
    /// The settings in force are no longer valid.
    #[error(transparent)]
    Shared(#[from] SharedError),
}

impl ControlRoom {
    /// Changes the instances of a pool, for requests after each worker has taken over the change.
    pub(crate) fn change_instances(
        &self,
        pool: &str,
        change: InstanceChange,
        now: Timestamp,
    ) -> Result<(), InstanceChangeError> {
        let _alone = self.alone();
        let (_, old) = self.current();
        let mut settings = old.settings.clone();
        let listen = settings.listen;
        let found = settings.pools.iter_mut().find(|found| found.name == pool);
        let Some(found) = found else {
            let known = list(old.settings.pools.iter().map(|found| format!("`{}`", found.name)));
            return Err(InstanceChangeError::UnknownPool { pool: pool.to_owned(), known });
        };
        apply(pool, &mut found.instances, change, listen)?;
        self.replace(Shared::new(settings, Some(&old), now)?);
        Ok(())
    }
}

fn apply(
    pool: &str,
    instances: &mut Vec<Instance>,
    change: InstanceChange,
    listen: SocketAddr,
) -> Result<(), InstanceChangeError> {
    let (address, name) = (change.address(), || pool.to_owned());
    let index = instances.iter().position(|instance| instance.address == address);
    let taking = |except: usize| {
        instances.iter().enumerate().any(|(index, instance)| index != except && !instance.draining)
    };
    let index = match (change, index) {
        (InstanceChange::Add { .. }, Some(_)) => {
            return Err(InstanceChangeError::AlreadyThere { pool: name(), address });
        }
        (InstanceChange::Add { .. }, None) if is_ours(listen, address) => {
            return Err(InstanceChangeError::Ourselves { address });
        }
        (InstanceChange::Add { weight, .. }, None) => {
            instances.push(Instance { weight, ..Instance::new(address) });
            return Ok(());
        }
        (_, None) => {
            let known = list(instances.iter().map(|instance| instance.address.to_string()));
            return Err(InstanceChangeError::UnknownInstance { pool: name(), address, known });
        }
        (InstanceChange::Drain { .. } | InstanceChange::Remove { .. }, Some(index)) if !taking(index) => {
            return Err(InstanceChangeError::LastInstance { pool: name(), address });
        }
        (_, Some(index)) => index,
    };
    match change {
        InstanceChange::Remove { .. } => {
            instances.remove(index);
        }
        _ => instances[index].draining = matches!(change, InstanceChange::Drain { .. }),
    }
    Ok(())
}

/// Whether both addresses mean the same socket on this machine.
fn is_ours(listen: SocketAddr, address: SocketAddr) -> bool {
    let any = listen.ip().is_unspecified() && address.ip().is_loopback();
    listen.port() == address.port() && (listen.ip() == address.ip() || any || address.ip().is_unspecified())
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn the_gateway_is_no_instance_of_its_own() {
        let any = SocketAddr::from(([0, 0, 0, 0], 8080));
        for (listen, address, ours) in [
            (at(8080), at(8080), true),
            (any, at(8080), true),
            (at(8080), any, true),
            (any, at(8081), false),
            (any, SocketAddr::from(([10, 0, 0, 1], 8080)), false),
        ] {
            assert_eq!(is_ours(listen, address), ours, "{listen} {address}");
        }
    }

    #[test]
    fn instances_come_and_go() {
        let mut instances = vec![Instance::new(at(1))];
        let mut change = |change| {
            apply("search", &mut instances, change, at(9))
                .map(|()| instances.iter().map(|one| (one.address.port(), one.draining)).collect::<Vec<_>>())
                .map_err(|error| error.to_string())
        };
        let last = "is the last instance of pool `search` that takes requests; add another one first";
        let (one, two, weight) = (at(1), at(2), Weight::ONE);
        for (asked, expected) in [
            (InstanceChange::Remove { address: one }, Err(format!("{one} {last}"))),
            (InstanceChange::Drain { address: one }, Err(format!("{one} {last}"))),
            (InstanceChange::Add { address: two, weight }, Ok(vec![(1, false), (2, false)])),
            (InstanceChange::Drain { address: one }, Ok(vec![(1, true), (2, false)])),
            (InstanceChange::Remove { address: two }, Err(format!("{two} {last}"))),
            (InstanceChange::Resume { address: one }, Ok(vec![(1, false), (2, false)])),
            (InstanceChange::Remove { address: one }, Ok(vec![(2, false)])),
            (
                InstanceChange::Resume { address: one },
                Err(format!("pool `search` has no instance {one}; its instances are {two}")),
            ),
            (
                InstanceChange::Add { address: two, weight },
                Err(format!(
                    "pool `search` has the instance {two} already; remove it first, or resume it where it drains"
                )),
            ),
            (
                InstanceChange::Add { address: at(9), weight },
                Err(format!(
                    "{} is where the gateway itself listens; give the address of the service",
                    at(9)
                )),
            ),
        ] {
            assert_eq!(change(asked), expected, "{asked:?}");
        }
    }
}
