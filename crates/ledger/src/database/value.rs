//! Values and rows of both databases.

use crate::RunId;
use std::rc::Rc;

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// The values of a statement, in order.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::database::Value::from($value)),*] };
}
pub(crate) use values;

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Integer(number.into())
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Value::Integer(is.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Value::Blob(bytes)
    }
}

impl From<RunId> for Value {
    fn from(id: RunId) -> Self {
        Value::Integer(id.number())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// What a value can be read as.
pub(crate) trait Read: Sized {
    /// None where it has another type.
    fn read(value: &Value) -> Option<Self>;
}

impl Read for i64 {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }
}

impl Read for bool {
    fn read(value: &Value) -> Option<Self> {
        i64::read(value).map(|number| number != 0)
    }
}

impl Read for String {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Read for Vec<u8> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }
}

impl Read for RunId {
    fn read(value: &Value) -> Option<Self> {
        i64::read(value).map(RunId::new)
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::read(value).map(Some),
        }
    }
}

/// A row of a query.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(super) names: Rc<[String]>,
    pub(super) values: Vec<Value>,
}

impl Row {
    /// A column by its name, or what is wrong with it.
    pub(crate) fn get<T: Read>(&self, name: &str) -> Result<T, String> {
        let place = self.names.iter().position(|known| known == name).ok_or("there is no such column")?;
        let value = &self.values[place];
        T::read(value).ok_or_else(|| format!("it is {}", kind(value)))
    }

    /// All columns, with their names.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.names.iter().map(String::as_str).zip(&self.values)
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "missing",
        Value::Integer(_) => "a number",
        Value::Text(_) => "a text",
        Value::Blob(_) => "bytes",
    }
}
