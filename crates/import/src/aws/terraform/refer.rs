//! What an attribute refers to, where a plan does not have its value yet.
//!
//! The configuration of a plan lists the references of each expression: resources of the same module, outputs of the
//! modules that it calls, and variables that the calling module sets. They are followed to resources. A reference
//! without an index is to all instances of a resource, or, in an expression of `count.index` or `each.key`, to the one
//! with the same index.
//!
//! Format: <https://developer.hashicorp.com/terraform/internals/json-format#expression-representation>.

use super::shape::Kind;
use serde_json::Value;

/// The configuration of a document, and its resources.
pub(super) struct References<'a> {
    root: &'a Value,
    resources: Vec<(&'a str, Kind)>,
}

/// What an expression refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The addresses of resources that are read.
    pub(super) resources: Vec<(String, Kind)>,
    /// Whether something could not be followed to a resource.
    pub(super) elsewhere: bool,
}

/// A module: its calls from the root on, with their indices, such as `web[0]`.
type Module<'t> = Vec<&'t str>;

impl<'a> References<'a> {
    pub(super) fn of(
        document: &'a Value,
        resources: impl Iterator<Item = (&'a str, Kind)>,
    ) -> References<'a> {
        References { root: &document["configuration"]["root_module"], resources: resources.collect() }
    }

    /// The expressions of a resource; none if the document has no configuration of it.
    pub(super) fn expressions(&self, address: &str) -> Option<&'a Value> {
        let (module, resource) = split(address);
        let resource = without_index(resource);
        let all = self.module(&module)["resources"].as_array()?;
        all.iter().find(|found| found["address"] == resource).map(|found| &found["expressions"])
    }

    /// What the expression of an attribute refers to.
    pub(super) fn of_attribute(&self, address: &str, key: &str) -> Found {
        let mut found = Found::default();
        if let Some(expressions) = self.expressions(address) {
            let (module, resource) = split(address);
            let index = resource.strip_prefix(without_index(resource)).unwrap_or_default();
            self.follow(&module, &expressions[key], index, 0, &mut found);
        }
        found
    }

    fn module(&self, module: &[&str]) -> &'a Value {
        module.iter().fold(self.root, |found, call| &found["module_calls"][without_index(call)]["module"])
    }

    fn follow(&self, module: &[&str], expression: &Value, index: &str, depth: usize, found: &mut Found) {
        let mut references = Vec::new();
        collect(expression, &mut references);
        let by_index = ["each.key", "each.value", "count.index"].iter().any(|key| references.contains(key));
        for reference in narrowest(&references) {
            if depth > DEPTH_MAX {
                found.elsewhere = true;
            } else if let Some(name) = reference.strip_prefix("var.") {
                let Some((call, parent)) = module.split_last() else {
                    found.elsewhere = true;
                    continue;
                };
                let name = without_attribute(name);
                let expression =
                    &self.module(parent)["module_calls"][without_index(call)]["expressions"][name];
                self.follow(parent, expression, index_of(call), depth + 1, found);
            } else if let Some(call) = reference.strip_prefix("module.") {
                self.output(module, call, depth, found);
            } else if reference.starts_with("local.") {
                // Documents do not have the expressions of local values.
                found.elsewhere = true;
            } else if !VALUES.iter().any(|prefix| reference.starts_with(prefix)) {
                self.resource(module, reference, if by_index { index } else { "" }, found);
            }
        }
    }

    /// An output of a module that is called: `NAME.OUTPUT` or `NAME[INDEX].OUTPUT`.
    fn output(&self, module: &[&str], reference: &str, depth: usize, found: &mut Found) {
        let end = step_end(reference);
        let (call, output) = (&reference[..end], reference[end..].trim_start_matches('.'));
        let name = without_attribute(output);
        if name.is_empty() {
            return;
        }
        let expression = &self.module(module)["module_calls"][without_index(call)]["module"]["outputs"][name]
            ["expression"];
        if expression.is_null() {
            found.elsewhere = true;
        }
        // A call without an index stands for all of its instances.
        let child: Vec<&str> = module.iter().copied().chain([call]).collect();
        self.follow(&child, expression, "", depth + 1, found);
    }

    /// Instances of a resource in a module.
    fn resource(&self, module: &[&str], reference: &str, index: &str, found: &mut Found) {
        let Some(dot) = reference.find('.') else { return };
        let end = dot + 1 + step_end(&reference[dot + 1..]);
        let wanted =
            format!("{}{}", &reference[..end], if reference[..end].ends_with(']') { "" } else { index });
        let before = found.resources.len();
        for (address, kind) in &self.resources {
            let (of, resource) = split(address);
            let same_module =
                of.len() == module.len() && of.iter().zip(module).all(|(one, other)| is_instance(one, other));
            if same_module && is_instance(resource, &wanted) {
                let entry = ((*address).to_owned(), *kind);
                if !found.resources.contains(&entry) {
                    found.resources.push(entry);
                }
            }
        }
        found.elsewhere |= found.resources.len() == before && reference.starts_with("data.");
    }
}

/// All references of an expression and of the blocks in it.
fn collect<'e>(expression: &'e Value, references: &mut Vec<&'e str>) {
    match expression {
        Value::Object(map) => match map.get("references").and_then(Value::as_array) {
            Some(list) => references.extend(list.iter().filter_map(Value::as_str)),
            None => map.values().for_each(|inner| collect(inner, references)),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

/// References without those that only repeat the beginning of another.
fn narrowest<'e>(references: &[&'e str]) -> Vec<&'e str> {
    let longer = |short: &str, long: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
    };
    let only = |short: &&&str| !references.iter().any(|long| longer(short, long));
    references.iter().filter(only).copied().collect()
}

/// The calls of modules in an address, and the resource.
fn split(address: &str) -> (Module<'_>, &str) {
    let (mut module, mut rest) = (Vec::new(), address);
    while let Some(call) = rest.strip_prefix("module.") {
        let end = step_end(call);
        module.push(&call[..end]);
        rest = call[end..].trim_start_matches('.');
    }
    (module, rest)
}

/// The end of a name with or without an index.
fn step_end(text: &str) -> usize {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    if !text[end..].starts_with('[') {
        return end;
    }
    if text[end..].starts_with("[\"") {
        let mut escaped = false;
        let close = text[end + 2..].char_indices().find(|(_, found)| {
            let closes = *found == '"' && !escaped;
            escaped = *found == '\\' && !escaped;
            closes
        });
        // The quote and the bracket after it.
        return close.map_or(text.len(), |(at, _)| (end + 2 + at + 2).min(text.len()));
    }
    text[end..].find(']').map_or(text.len(), |at| end + at + 1)
}

/// The index of a step, with its brackets.
fn index_of(step: &str) -> &str {
    &step[without_index(step).len()..]
}

fn without_index(step: &str) -> &str {
    step.find('[').map_or(step, |at| &step[..at])
}

fn without_attribute(name: &str) -> &str {
    name.find(['.', '[']).map_or(name, |at| &name[..at])
}

/// Whether a step is the wanted one; without an index, all instances are wanted.
fn is_instance(step: &str, wanted: &str) -> bool {
    step == wanted || (!wanted.ends_with(']') && without_index(step) == wanted)
}

/// References to values that are no resources.
const VALUES: [&str; 5] = ["each.", "count.", "path.", "terraform.", "self."];
/// Modules through which a reference is followed.
const DEPTH_MAX: usize = 32;
