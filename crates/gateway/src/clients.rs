//! The number of connections of each client, where it is bounded.

use crate::key;
use crate::shared::lock;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

/// Connections by address; for IPv6 by /64, which is what one client has.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<Box<[u8]>, u32>>);

impl Clients {
    /// Counts a connection, if its client has fewer than `most`.
    pub(crate) fn enter(&self, client: IpAddr, most: u32) -> bool {
        let mut clients = lock(&self.0);
        let mut room = [0; 8];
        let count = clients.entry(key::client(client, &mut room).into()).or_default();
        let enters = *count < most;
        *count += u32::from(enters);
        enters
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Removes a connection from the count.
    pub(crate) fn leave(&self, client: IpAddr) {
        let mut clients = lock(&self.0);
        let mut room = [0; 8];
        let key = key::client(client, &mut room);
        if let Some(count) = clients.get_mut(key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                clients.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_a_bound_and_nobody_is_remembered() {
        let clients = Clients::default();
        let [one, other, v6, same] =
            ["10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
        assert!(clients.enter(one, 2) && clients.enter(one, 2) && !clients.enter(one, 2));
        assert!(clients.enter(other, 1) && clients.enter(v6, 1) && !clients.enter(same, 1));
        clients.leave(one);
        assert!(clients.enter(one, 2) && !clients.enter(one, 2));
        for client in [one, one, other, v6] {
            clients.leave(client);
        }
        assert!(clients.is_empty());
    }
}
