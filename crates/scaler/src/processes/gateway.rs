//! A pool over the gateway's admin interface.

use super::Pool;
use crate::admin::{Admin, AdminError};
use crate::poller::with_causes;
use crate::settings::Gateway;
use crate::source::{PoolInstance, Totals, pool_path};
use std::net::SocketAddr;

/// A pool of a running gateway.
#[derive(Debug)]
pub struct GatewayPool {
    admin: Admin,
    path: String,
}

impl GatewayPool {
    /// A client; nothing is connected yet.
    ///
    /// # Errors
    /// The token cannot be read.
    pub fn new(gateway: &Gateway) -> Result<Self, AdminError> {
        Ok(GatewayPool { admin: Admin::new(gateway)?, path: pool_path(&gateway.pool) })
    }

    fn instance(&self, address: SocketAddr, what: &str) -> String {
        format!("{}/instances/{address}{what}", self.path)
    }
}

impl Pool for GatewayPool {
    fn instances(&mut self) -> Result<Vec<PoolInstance>, String> {
        let body = self.admin.get(&self.path).map_err(|error| with_causes(&error))?;
        let totals: Totals = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok(totals.instances)
    }

    fn add(&mut self, address: SocketAddr) -> Result<(), String> {
        let body = format!("{{\"address\": \"{address}\"}}");
        match self.admin.change("POST", &format!("{}/instances", self.path), &body) {
            // It is there already, and may be draining.
            Err(AdminError::Refused { status: 409, .. }) => {
                let resume = self.instance(address, "/resume");
                self.admin.change("POST", &resume, "").map_err(|error| with_causes(&error))
            }
            other => other.map_err(|error| with_causes(&error)),
        }
    }

    fn drain(&mut self, address: SocketAddr) -> Result<(), String> {
        let drain = self.instance(address, "/drain");
        self.admin.change("POST", &drain, "").map_err(|error| with_causes(&error))
    }

    fn remove(&mut self, address: SocketAddr) -> Result<(), String> {
        let instance = self.instance(address, "");
        match self.admin.change("DELETE", &instance, "") {
            // It is gone already.
            Err(AdminError::Refused { status: 404, .. }) => Ok(()),
            other => other.map_err(|error| with_causes(&error)),
        }
    }
}
