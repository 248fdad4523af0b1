//! Reads cases from JSON: every value knows its place for error messages.

use serde_json::Value;
use std::fmt;

/// A part of a file that cannot be read: its place, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    place: String,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// A value and its place in the file.
#[derive(Debug, Clone)]
pub struct At<'a> {
    value: &'a Value,
    place: String,
}

impl<'a> At<'a> {
    /// The whole file.
    pub fn root(value: &'a Value) -> Self {
        At { value, place: "$".to_owned() }
    }

    /// The value itself.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The problem that this is not the expected value.
    pub fn problem(&self, message: impl fmt::Display) -> Problem {
        Problem { place: self.place.clone(), message: message.to_string() }
    }

    fn expected(&self, what: &str) -> Problem {
        self.problem(format!("`{}` was found, but {what} was expected", self.value))
    }

    /// A value of an object; none if it is absent or null.
    pub fn maybe(&self, name: &str) -> Option<At<'a>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(At { value, place: format!("{}.{name}", self.place) })
    }

    /// A required value.
    pub fn field(&self, name: &str) -> Result<At<'a>, Problem> {
        self.maybe(name).ok_or_else(|| self.problem(format!("`{name}` is missing")))
    }

    /// The values of a list.
    pub fn list(&self) -> Result<Vec<At<'a>>, Problem> {
        let list = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        let at = |(index, value)| At { value, place: format!("{}[{index}]", self.place) };
        Ok(list.iter().enumerate().map(at).collect())
    }

    /// The values of an optional list.
    pub fn list_of(&self, name: &str) -> Result<Vec<At<'a>>, Problem> {
        self.maybe(name).map_or(Ok(Vec::new()), |list| list.list())
    }

    /// Names and values of an object.
    pub fn entries(&self) -> Result<Vec<(&'a str, At<'a>)>, Problem> {
        let entries = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        let at = |(name, value): (&'a String, &'a Value)| {
            (name.as_str(), At { value, place: format!("{}.{name}", self.place) })
        };
        Ok(entries.iter().map(at).collect())
    }

    /// A text.
    pub fn text(&self) -> Result<&'a str, Problem> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    /// A number.
    pub fn number(&self) -> Result<f64, Problem> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    /// A whole number from 0 on.
    pub fn count(&self) -> Result<u32, Problem> {
        let count = self.value.as_u64().and_then(|count| u32::try_from(count).ok());
        count.ok_or_else(|| self.expected("a whole number from 0 on"))
    }

    /// A whole number.
    pub fn whole(&self) -> Result<i32, Problem> {
        let whole = self.value.as_i64().and_then(|whole| i32::try_from(whole).ok());
        whole.ok_or_else(|| self.expected("a whole number"))
    }

    /// True or false.
    pub fn truth(&self) -> Result<bool, Problem> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }
}

/// The results of all cases, or all problems.
pub fn all<T>(results: impl IntoIterator<Item = Result<Vec<T>, Problem>>) -> Result<Vec<T>, Vec<Problem>> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(more) => good.extend(more),
            Err(problem) => wrong.push(problem),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(wrong) }
}
