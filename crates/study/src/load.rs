//! A run of load.

mod asked;
mod needs;

pub use asked::asked;
pub use needs::needs;
