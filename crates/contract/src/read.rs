//! Reading JSON objects strictly: every member is asked for, and what nobody asked for is an error.

use serde_json::{Map, Value};

/// The members of an object that have not been asked for yet.
pub(crate) struct Members {
    left: Map<String, Value>,
    at: String,
}

impl Members {
    /// `at` says where the object stands.
    pub(crate) fn new(members: Map<String, Value>, at: &str) -> Self {
        Self { left: members, at: at.to_owned() }
    }

    /// Says better where the object stands.
    pub(crate) fn at(&mut self, at: &str) {
        at.clone_into(&mut self.at);
    }

    pub(crate) fn may(&mut self, name: &str) -> Option<Value> {
        self.left.shift_remove(name)
    }

    pub(crate) fn must(&mut self, name: &str) -> Result<Value, String> {
        self.may(name).ok_or_else(|| format!("{} has no {name}", self.at))
    }

    pub(crate) fn end(self) -> Result<(), String> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("{} has an unknown member {name}", self.at)),
        }
    }
}

pub(crate) fn object(value: Value, at: &str) -> Result<Map<String, Value>, String> {
    match value {
        Value::Object(members) => Ok(members),
        other => Err(format!("{at}: {other} is no object")),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as the other readers")]
pub(crate) fn integer(value: Value, at: &str) -> Result<i64, String> {
    value.as_i64().ok_or_else(|| format!("{at}: {value} is no integer"))
}

pub(crate) fn boolean(value: &Value, at: &str) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("{at}: {value} is neither true nor false"))
}

pub(crate) fn text(value: Value, at: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("{at}: {other} is no text")),
    }
}

/// The strings of an array; none where it is absent.
pub(crate) fn strings(value: Option<Value>, at: &str) -> Result<Vec<String>, String> {
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => items.into_iter().map(|item| text(item, at)).collect(),
        Some(other) => Err(format!("{at}: {other} is no list")),
    }
}
