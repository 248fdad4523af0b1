//! What a search for the highest rate found: the outcome with everything that it rests on, in words, as JSON and as a page.

mod as_json;
mod kept;
mod limits;
mod next;
mod outcome;
mod page;
mod peak;
pub mod scaling;
mod trials;
mod words;

pub use as_json::json;
pub use kept::Kept;
pub use limits::{NoFile, limits};
pub use next::{Next, next};
pub use outcome::{Ended, Judged, Outcome, Proof, Tried, so_far, usual_failures};
pub(crate) use page::goals;
pub use page::page;
pub use peak::Peak;
pub use words::{Gateway, summary};

/// The JSON Schema of the result.
pub const SCHEMA: &str = include_str!("../schemas/find.schema.json");
