//! Reads JSON objects field by field, and reports fields that were not read.
//!
//! ## Why not structs
//! A struct of the known fields would drop the others, or refuse the file because of them. Neither is right here: a new
//! field of AWS must not prevent reading, and must not be ignored silently.

use super::remark::{AwsError, Cause, Remark};
use crate::origin::Origin;
use capture::shown;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The remarks and errors.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) errors: Vec<AwsError>,
    pub(super) remarks: Vec<Remark>,
}

/// A place and its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spot {
    pub(super) file: String,
    pub(super) path: String,
    pub(super) name: Option<String>,
}

impl Spot {
    pub(super) fn remark(&self, cause: Cause) -> Remark {
        Remark { file: self.file.clone(), path: self.path.clone(), name: self.name.clone(), cause }
    }

    /// The place in a message.
    pub(super) fn shown(&self) -> String {
        if self.path.is_empty() { self.file.clone() } else { format!("{}, {}", self.file, self.path) }
    }
}

/// An object and its place.
pub(super) struct Object<'a> {
    file: &'a str,
    path: String,
    map: &'a Map<String, Value>,
    resource: Option<&'a Resource>,
    seen: RefCell<BTreeSet<&'static str>>,
}

/// The resource of Terraform whose attributes an object has, under the names of AWS.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resource {
    /// Its address.
    pub(super) address: String,
    /// Names of AWS that are others in Terraform than the same words in snake case.
    pub(super) renamed: &'static [(&'static str, &'static str)],
    /// Attributes whose values are not used, by their paths.
    pub(super) hidden: BTreeMap<String, Hidden>,
}

/// Why a value is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It is known only after the plan is applied.
    Unknown,
    /// It is marked as sensitive.
    Sensitive,
}

impl<'a> Object<'a> {
    pub(super) fn of(file: &'a str, path: &str, value: &'a Value) -> Option<Object<'a>> {
        let map = value.as_object()?;
        Some(Object { file, path: path.to_owned(), map, resource: None, seen: RefCell::default() })
    }

    /// The attributes of a resource; `value` has them under the names of AWS.
    pub(super) fn of_resource(file: &'a str, resource: &'a Resource, value: &'a Value) -> Option<Object<'a>> {
        let object = Object::of(file, &resource.address, value)?;
        Some(Object { resource: Some(resource), ..object })
    }

    /// A part of this object.
    fn part(&self, path: &str, value: &'a Value) -> Option<Object<'a>> {
        let object = Object::of(self.file, path, value)?;
        Some(Object { resource: self.resource, ..object })
    }

    /// The object of the vendor: the address of a resource, otherwise the ARN under `key`.
    pub(super) fn origin(&self, key: &'static str, report: &mut Report) -> Option<Origin> {
        let arn = self.text(key, report);
        match self.resource {
            Some(resource) => resource.address.parse().ok(),
            None => arn.and_then(|arn| arn.parse().ok()),
        }
    }

    /// Why the value of a field is not used.
    fn hidden(&self, key: &str) -> Option<Hidden> {
        self.resource.and_then(|resource| resource.hidden.get(&self.under(key)).copied())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Whether a field is a list with items.
    pub(super) fn has_items(&self, key: &str) -> bool {
        self.map.get(key).and_then(Value::as_array).is_some_and(|items| !items.is_empty())
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(String::as_str)
    }

    pub(super) fn spot(&self, name: Option<&str>) -> Spot {
        Spot { file: self.file.to_owned(), path: self.path.clone(), name: name.map(str::to_owned) }
    }

    /// The place of a field.
    pub(super) fn spot_of(&self, key: &str, name: Option<&str>) -> Spot {
        Spot { path: self.under(key), ..self.spot(name) }
    }

    fn under(&self, key: &str) -> String {
        let key = match self.resource {
            Some(resource) => super::terraform::shown(resource, key),
            None => key.to_owned(),
        };
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// A value; none if it is absent or null.
    fn get(&self, key: &'static str) -> Option<&'a Value> {
        self.seen.borrow_mut().insert(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// Fields without effect on scaling.
    pub(super) fn without_effect(&self, keys: &[&'static str]) {
        self.seen.borrow_mut().extend(keys);
    }

    fn wrong(&self, key: &str, found: &Value, expected: &str, report: &mut Report) {
        report.errors.push(AwsError::Field {
            file: self.file.to_owned(),
            path: self.under(key),
            found: shown(found.to_string().as_bytes()),
            expected: expected.to_owned(),
        });
    }

    /// A text that may be absent.
    pub(super) fn text(&self, key: &'static str, report: &mut Report) -> Option<&'a str> {
        let value = self.get(key)?;
        if value.as_str().is_none() {
            self.wrong(key, value, "a text", report);
        }
        value.as_str()
    }

    /// A number that may be absent.
    pub(super) fn number(&self, key: &'static str, report: &mut Report) -> Option<f64> {
        let value = self.get(key)?;
        if value.as_f64().is_none() {
            self.wrong(key, value, "a number", report);
        }
        value.as_f64()
    }

    /// A whole number from 0 on that may be absent.
    pub(super) fn count(&self, key: &'static str, report: &mut Report) -> Option<u32> {
        let value = self.get(key)?;
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
        if count.is_none() {
            self.wrong(key, value, "a whole number that is not below 0", report);
        }
        count
    }

    /// A whole number that may be absent.
    pub(super) fn whole(&self, key: &'static str, report: &mut Report) -> Option<i32> {
        let value = self.get(key)?;
        let whole = value.as_i64().and_then(|whole| i32::try_from(whole).ok());
        if whole.is_none() {
            self.wrong(key, value, "a whole number", report);
        }
        whole
    }

    /// A number of seconds that may be absent.
    pub(super) fn seconds(&self, key: &'static str, report: &mut Report) -> Option<Duration> {
        self.count(key, report).map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// True or false, which may be absent.
    pub(super) fn flag(&self, key: &'static str, report: &mut Report) -> Option<bool> {
        let value = self.get(key)?;
        if value.as_bool().is_none() {
            self.wrong(key, value, "true or false", report);
        }
        value.as_bool()
    }

    /// One of several words, which may be absent.
    pub(super) fn word<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&str, T)],
        report: &mut Report,
    ) -> Option<T> {
        let text = self.text(key, report)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let words = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            self.wrong(key, &Value::from(text), &format!("one of {words}"), report);
        }
        found
    }

    /// A time as microseconds since 1970, which may be absent.
    pub(super) fn time(&self, key: &'static str, report: &mut Report) -> Option<i64> {
        let value = self.get(key)?;
        let time = match value {
            Value::String(text) => crate::time::iso_8601(text.as_bytes()).map(|instant| instant.micros),
            Value::Number(number) => number
                .as_f64()
                .filter(|seconds| (0.0..1e11).contains(seconds))
                .map(|seconds| (seconds * 1e6).round() as i64),
            _ => None,
        };
        if time.is_none() {
            self.wrong(key, value, "a time such as 2026-03-01T12:00:00Z", report);
        }
        time
    }

    /// A required value that users fill in where it is not used: none if it is missing, which is an error.
    pub(super) fn needed_or_to_fill_in<T>(
        &self,
        key: &'static str,
        value: Option<T>,
        expected: &'static str,
        report: &mut Report,
    ) -> Option<Option<T>> {
        if value.is_none()
            && let Some(hidden) = self.hidden(key)
        {
            report.remarks.push(self.spot_of(key, None).remark(Cause::ToFillIn(hidden.words())));
            return Some(None);
        }
        self.needed(key, value, expected, report).map(Some)
    }

    /// A required value: an error if it is missing. A value with a problem was already reported.
    pub(super) fn needed<T>(
        &self,
        key: &'static str,
        value: Option<T>,
        expected: &'static str,
        report: &mut Report,
    ) -> Option<T> {
        // Values that are not used are reported when the resource was read.
        if value.is_none() && self.map.get(key).is_none_or(Value::is_null) && self.hidden(key).is_none() {
            report.errors.push(AwsError::Absent {
                file: self.file.to_owned(),
                path: self.path.clone(),
                field: key,
                expected,
            });
        }
        value
    }

    pub(super) fn object(&self, key: &'static str, report: &mut Report) -> Option<Object<'a>> {
        let value = self.get(key)?;
        let object = self.part(&self.under(key), value);
        if object.is_none() {
            self.wrong(key, value, "an object", report);
        }
        object
    }

    /// A list of objects that may be absent.
    pub(super) fn list(&self, key: &'static str, report: &mut Report) -> Option<Vec<Object<'a>>> {
        let value = self.get(key)?;
        let Some(items) = value.as_array() else {
            self.wrong(key, value, "a list", report);
            return None;
        };
        let mut objects = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", self.under(key));
            match self.part(&path, item) {
                Some(object) => objects.push(object),
                None => self.wrong(&format!("{key}[{index}]"), item, "an object", report),
            }
        }
        Some(objects)
    }

    /// A list of texts; empty where it is absent.
    pub(super) fn texts(&self, key: &'static str, report: &mut Report) -> Vec<&'a str> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.wrong(key, value, "a list of texts", report);
            return Vec::new();
        };
        items.iter().filter_map(Value::as_str).collect()
    }

    /// Reports the fields that were never read. Null, false and empty values count as absent.
    pub(super) fn finish(&self, report: &mut Report) {
        let seen = self.seen.borrow();
        for (key, value) in self.map {
            let nothing = match value {
                Value::Null | Value::Bool(false) => true,
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty(),
                Value::String(text) => text.is_empty(),
                _ => false,
            };
            if !nothing && !seen.contains(key.as_str()) {
                report.remarks.push(self.spot_of(key, None).remark(Cause::UnknownField));
            }
        }
    }
}

impl Hidden {
    /// The reason in a message.
    pub(super) fn words(self) -> &'static str {
        match self {
            Hidden::Unknown => "known only after apply",
            Hidden::Sensitive => "sensitive",
        }
    }
}

/// The kind of a value, for messages.
pub(super) fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
