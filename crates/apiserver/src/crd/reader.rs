//! Typed access to the JSON of a definition. A wrong type is refused: `spec.group: expected string, got 1`.

use serde_json::{Map, Number, Value};

use crate::json::kind_of;

/// JSON object at a path. Absent and null fields are empty.
pub(super) struct Reader<'a> {
    fields: Option<&'a Map<String, Value>>,
    place: String,
}

impl<'a> Reader<'a> {
    /// The whole document.
    pub(super) fn root(value: &'a Value) -> Self {
        Self { fields: value.as_object(), place: String::new() }
    }

    /// Field of any type; none if absent or null.
    pub(super) fn raw(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    fn mismatch(&self, name: &str, found: &Value, wanted: &str) -> String {
        let found = if found.is_number() { found.to_string() } else { kind_of(found).to_owned() };
        format!("{}: expected {wanted}, got {found}", self.place_of(name))
    }

    fn scalar<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.mismatch(name, value, wanted))
    }

    /// String; none if absent.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, String> {
        self.scalar(name, "string", |value| value.as_str().map(str::to_owned))
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        self.optional_text(name).map(Option::unwrap_or_default)
    }

    /// Boolean; none if absent.
    pub(super) fn optional_flag(&self, name: &str) -> Result<Option<bool>, String> {
        self.scalar(name, "bool", Value::as_bool)
    }

    /// Boolean; false if absent.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        self.optional_flag(name).map(Option::unwrap_or_default)
    }

    /// A 64-bit integer.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, String> {
        self.scalar(name, "integer", Value::as_i64)
    }

    /// A 32-bit integer.
    pub(super) fn small_integer(&self, name: &str) -> Result<Option<i64>, String> {
        self.scalar(name, "32-bit integer", |value| {
            value.as_i64().filter(|number| i32::try_from(*number).is_ok())
        })
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Result<Option<Number>, String> {
        self.scalar(name, "number", |value| value.as_number().cloned())
    }

    /// List of strings; nulls are empty.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let text = |item: &Value| match item {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            other => Err(self.mismatch(name, other, "string")),
        };
        self.list(name)?.iter().map(text).collect()
    }

    /// A list of anything.
    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], String> {
        self.scalar(name, "array", |value| value.as_array().map(Vec::as_slice)).map(Option::unwrap_or_default)
    }

    /// A map of anything.
    pub(super) fn map(&self, name: &str) -> Result<Option<&'a Map<String, Value>>, String> {
        self.scalar(name, "object", Value::as_object)
    }

    /// Nested object; empty if null.
    pub(super) fn inside(&self, name: &str, value: &'a Value) -> Result<Self, String> {
        let fields = match value {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            other => return Err(self.mismatch(name, other, "object")),
        };
        Ok(Self { fields, place: self.place_of(name) })
    }

    /// Object; none if absent.
    pub(super) fn child(&self, name: &str) -> Result<Option<Self>, String> {
        self.raw(name).map(|value| self.inside(name, value)).transpose()
    }

    /// Object; empty if absent.
    pub(super) fn child_or_empty(&self, name: &str) -> Result<Self, String> {
        self.inside(name, self.raw(name).unwrap_or(&Value::Null))
    }

    /// List of objects.
    pub(super) fn children(&self, name: &str) -> Result<Vec<Self>, String> {
        let items = self.list(name)?;
        items.iter().map(|item| self.inside(name, item)).collect()
    }
}
