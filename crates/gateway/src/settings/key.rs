//! The key that groups requests: for a limit of each key, for balancing by hash, for the sessions of a mirror.

use status::Limit;
use std::fmt;

/// The key that groups requests. The user of a key documents how it treats requests without the header or cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyBy {
    /// The client address.
    Client,
    /// The value of this header, whose name is in lower case.
    Header(String),
    /// The value of this cookie.
    Cookie(String),
}

impl fmt::Display for KeyBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyBy::Client => f.write_str(Limit::BY_CLIENT),
            KeyBy::Header(name) => write!(f, "header {name}"),
            KeyBy::Cookie(name) => write!(f, "cookie {name}"),
        }
    }
}
