//! The YAML of gateway files and scenarios; the reader is a crate of its own, because others read YAML too.

pub(crate) use ::yaml::{Key, Kind, Node, TEXT_BYTES_MAX, tree};
