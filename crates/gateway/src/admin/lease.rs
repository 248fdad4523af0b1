//! What a program asks for that holds something of the gateway for a time, as JSON: its name, and how long.

use serde::Deserialize;
use std::time::Duration;

/// The holder in the body of a request that ends a lease; `what` names the lease.
pub(super) fn holder(body: &[u8], what: &str) -> Result<String, String> {
    /// Who ends it.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Ended {
        holder: String,
    }
    let ended = serde_json::from_slice::<Ended>(body);
    ended
        .map(|ended| ended.holder)
        .map_err(|_| format!("the body does not name the holder of the {what}; send {{\"holder\": \"...\"}}"))
}

/// Refuses a name that would not fit into a line.
pub(super) fn check_holder(holder: &str) -> Result<(), String> {
    if holder.is_empty() || holder.len() > HOLDER_MAX || holder.chars().any(char::is_control) {
        return Err(format!("`holder` has {} bytes; give a name of 1 to {HOLDER_MAX}", holder.len()));
    }
    Ok(())
}

/// How long a lease lasts, from its seconds; `what` names it.
pub(super) fn lasts(seconds: f64, what: &str) -> Result<Duration, String> {
    let (least, most) = LASTS;
    if !(least..=most).contains(&seconds) {
        return Err(format!(
            "{seconds} seconds is outside {least} to {most}: a {what} is renewed, so that it ends soon without its holder"
        ));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The longest name of a holder, in bytes.
const HOLDER_MAX: usize = 100;

/// How long a lease may last without being renewed, in seconds.
const LASTS: (f64, f64) = (1.0, 10.0);
