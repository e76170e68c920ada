//! Reads JSON into typed form and says what does not fit in the words of the real server: `json: cannot unmarshal
//! number into Go struct field CustomResourceDefinitionSpec.spec.group of type string`.

use serde_json::{Map, Number, Value};

use crate::schema::go_text;

/// An object of a known type at a place. Absent and null fields are empty.
pub(super) struct Reader<'a> {
    fields: Option<&'a Map<String, Value>>,
    record: &'static str,
    place: String,
}

impl<'a> Reader<'a> {
    /// The whole document.
    pub(super) fn root(value: &'a Value, record: &'static str) -> Self {
        Self { fields: value.as_object(), record, place: String::new() }
    }

    /// A field of any shape; nothing if it is absent or null.
    pub(super) fn raw(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    fn place_of(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    fn mismatch(&self, name: &str, found: &Value, wanted: &str) -> String {
        let kind = match found {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(number) if wanted.starts_with("int") => &format!("number {}", literal(number)),
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let place = self.place_of(name);
        format!("json: cannot unmarshal {kind} into Go struct field {}.{place} of type {wanted}", self.record)
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

    /// A text of a named type; nothing if it is absent.
    pub(super) fn optional_text(&self, name: &str, wanted: &str) -> Result<Option<String>, String> {
        self.scalar(name, wanted, |value| value.as_str().map(str::to_owned))
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<String, String> {
        self.optional_text(name, "string").map(Option::unwrap_or_default)
    }

    /// True, false or absent.
    pub(super) fn optional_flag(&self, name: &str) -> Result<Option<bool>, String> {
        self.scalar(name, "bool", Value::as_bool)
    }

    /// True or not.
    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        self.optional_flag(name).map(Option::unwrap_or_default)
    }

    /// A 64-bit integer.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>, String> {
        self.scalar(name, "int64", Value::as_i64)
    }

    /// A 32-bit integer.
    pub(super) fn small_integer(&self, name: &str) -> Result<Option<i64>, String> {
        self.scalar(name, "int32", |value| value.as_i64().filter(|number| i32::try_from(*number).is_ok()))
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Result<Option<Number>, String> {
        self.scalar(name, "float64", |value| value.as_number().cloned())
    }

    /// A list of texts; nulls are empty texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let text = |item: &Value| match item {
            Value::Null => Ok(String::new()),
            Value::String(text) => Ok(text.clone()),
            other => Err(self.mismatch(name, other, "string")),
        };
        self.list(name, "[]string")?.iter().map(text).collect()
    }

    /// A list of anything.
    pub(super) fn list(&self, name: &str, wanted: &str) -> Result<&'a [Value], String> {
        self.scalar(name, wanted, |value| value.as_array().map(Vec::as_slice)).map(Option::unwrap_or_default)
    }

    /// A map of anything.
    pub(super) fn map(&self, name: &str, wanted: &str) -> Result<Option<&'a Map<String, Value>>, String> {
        self.scalar(name, wanted, Value::as_object)
    }

    /// An object of a type inside a field; a null is empty.
    pub(super) fn inside(&self, name: &str, value: &'a Value, record: &'static str) -> Result<Self, String> {
        let fields = match value {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            other => return Err(self.mismatch(name, other, &format!("v1.{record}"))),
        };
        Ok(Self { fields, record, place: self.place_of(name) })
    }

    /// An object of a type; nothing if it is absent.
    pub(super) fn child(&self, name: &str, record: &'static str) -> Result<Option<Self>, String> {
        self.raw(name).map(|value| self.inside(name, value, record)).transpose()
    }

    /// An object of a type; empty if it is absent.
    pub(super) fn child_or_empty(&self, name: &str, record: &'static str) -> Result<Self, String> {
        self.inside(name, self.raw(name).unwrap_or(&Value::Null), record)
    }

    /// A list of objects of a type.
    pub(super) fn children(&self, name: &str, record: &'static str) -> Result<Vec<Self>, String> {
        let items = self.list(name, &format!("[]v1.{record}"))?;
        items.iter().map(|item| self.inside(name, item, record)).collect()
    }
}

fn literal(number: &Number) -> String {
    go_text::json(&Value::Number(number.clone()))
}
