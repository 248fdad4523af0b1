//! Tests of the codec as a whole; the tests of a single file are in that file.

mod accepted;
mod properties;
mod smuggling;
