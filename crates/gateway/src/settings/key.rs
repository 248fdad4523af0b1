//! What makes requests belong together: for a limit of each key, for balancing by hash, for the sessions of a mirror.

use status::Limit;
use std::fmt;

/// Which requests belong together. What becomes of a request without the header or cookie is said where a key is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyBy {
    /// Those from one client, by its address.
    Client,
    /// Those with the same value of this header, in lower case.
    Header(String),
    /// Those with the same value of this cookie.
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
