//! Tests of the codec as a whole; what one file alone decides is tested in that file.

mod accepted;
mod properties;
mod smuggling;
