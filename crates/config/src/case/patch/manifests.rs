//! The changes of a stage as manifests of Kubernetes: the objects that were imported, with other values.
//!
//! A manifest has what `kubectl apply` needs: kind, name, labels and the whole `spec`. What a server adds is left out.
//!
//! ## Why the import reads the files again
//! Which metric is `cpu` and which is the second entry of `metrics` is what an import has decided. So it decides here
//! too, and says where in the object each of them is.

mod block;
mod object;

use super::super::tree::{Absent, key_of, set};
use super::super::vary::Edit;
use crate::case::Case;
use object::Object;
use yaml::Node;

/// An object with other values, and as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its kind and name: `horizontalpodautoscaler-shop`.
    pub name: String,
    /// With the changes.
    pub text: String,
    /// As it is.
    pub undo: String,
}

/// The manifests of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifests {
    /// The objects that change.
    pub changed: Vec<Manifest>,
    /// Changed keys that are of no object of the files.
    pub elsewhere: Vec<String>,
}

impl Case {
    /// The objects of some manifests that the edits change. The files are names and texts; an object belongs to the service
    /// with the name of the workload that it scales.
    ///
    /// # Errors
    /// Files that cannot be imported, a line for each problem.
    pub fn manifests(edits: &[Edit], files: &[(String, String)]) -> Result<Manifests, Vec<String>> {
        let objects = object::read(files)?;
        let mut found = Manifests::default();
        let mut changed: Vec<(usize, Node)> = Vec::new();
        for edit in edits {
            let place =
                edit.path.get(1).and_then(|name| objects.iter().position(|object| object.service == *name));
            let target = place.and_then(|place| Some((place, objects[place].target(edit)?)));
            let Some((place, (path, value))) = target else {
                found.elsewhere.push(key_of(&edit.path));
                continue;
            };
            let known = changed.iter().position(|(other, _)| *other == place);
            let index = known.unwrap_or_else(|| {
                changed.push((place, objects[place].node.clone()));
                changed.len() - 1
            });
            if set(&mut changed[index].1, &path, value, Absent::Added).is_err() {
                found.elsewhere.push(key_of(&edit.path));
            }
        }
        let manifest = |(place, node): &(usize, Node)| {
            let object: &Object = &objects[*place];
            Manifest {
                name: object.file_name(),
                text: block::document(node),
                undo: block::document(&object.node),
            }
        };
        found.changed = changed.iter().map(manifest).filter(|one| one.text != one.undo).collect();
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
