//! The counters of a gateway by its admin listener, for procedures that hold something of it.

use gateway::settings::{Admin as Listener, AdminAddress};
use scaler::settings::{Address, Gateway as Named};
use scaler::{Admin, AdminError};
use serde::Deserialize;
use std::time::Duration;
use study::squeeze::{Lost, Times};

/// `response_times` of a page.
#[derive(Debug, Deserialize)]
pub struct PageTimes {
    sum_s: f64,
    buckets: Vec<(f64, u32)>,
}

impl PageTimes {
    pub fn times(self) -> Times {
        let buckets = self.buckets.into_iter().map(|(middle, count)| (seconds(middle), count));
        Times { buckets: buckets.collect(), sum: seconds(self.sum_s) }
    }
}

/// Who holds something.
#[derive(Debug, Deserialize)]
pub struct Held {
    pub holder: String,
}

/// Asks the listener that a file names; nothing is asked yet. The name of the pool is empty where none is meant.
///
/// # Errors
/// The token cannot be read.
pub fn admin(listener: &Listener, pool: &str) -> Result<Admin, AdminError> {
    let address = match &listener.listen {
        AdminAddress::Tcp(address) => Address::Tcp(*address),
        AdminAddress::Unix(path) => Address::Unix(path.clone()),
    };
    Admin::new(&Named { admin: address, pool: pool.to_owned(), token_file: listener.token_file.clone() })
}

/// Bytes of others: what is no span is none.
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// Why a gateway could not be used.
pub fn lost(error: AdminError) -> Lost {
    match error {
        AdminError::Refused { .. } => Lost::Refused(error.to_string()),
        AdminError::Unreachable { .. } | AdminError::NotValid { .. } | AdminError::Token { .. } => {
            Lost::Silent(scaler::with_causes(&error))
        }
    }
}
