//! Structural schema of a kind: `openAPIV3Schema` of a CRD.

use std::{collections::BTreeMap, ops::Deref, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// A node of a structural schema.
#[expect(clippy::struct_excessive_bools, reason = "the words of the API")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty for int-or-string and free-form values.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// `date-time`, `byte`, `int32`, …
    #[serde(skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// Title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Description for `kubectl explain`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// Link to documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_docs: Option<Value>,
    /// True if null is allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nullable: bool,
    /// The known fields of an object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Part>,
    /// The values of a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<Additional>,
    /// The items of an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Part>,
    /// Required fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// The allowed values.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<Value>>,
    /// Bounds of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<serde_json::Number>,
    /// Bounds of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<serde_json::Number>,
    /// The minimum itself is not allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_minimum: bool,
    /// The maximum itself is not allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exclusive_maximum: bool,
    /// The divisor of a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<serde_json::Number>,
    /// Bounds of strings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// Bounds of strings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,
    /// Pattern of strings, in RE2 syntax.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pattern: String,
    /// Bounds of arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<i64>,
    /// Bounds of arrays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<i64>,
    /// No item twice (never allowed in a CRD).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unique_items: bool,
    /// Bounds of maps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_properties: Option<i64>,
    /// Bounds of maps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_properties: Option<i64>,
    /// All of these hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<Self>,
    /// One or more of these hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Self>,
    /// Exactly one of these holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Self>,
    /// This does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Self>>,
    /// Unknown fields are preserved.
    #[serde(rename = "x-kubernetes-preserve-unknown-fields", skip_serializing_if = "Option::is_none")]
    pub preserve_unknown: Option<bool>,
    /// A whole object with apiVersion, kind and metadata.
    #[serde(rename = "x-kubernetes-embedded-resource", skip_serializing_if = "std::ops::Not::not")]
    pub embedded_resource: bool,
    /// A number or a string.
    #[serde(rename = "x-kubernetes-int-or-string", skip_serializing_if = "std::ops::Not::not")]
    pub int_or_string: bool,
    /// Keys of a map list.
    #[serde(rename = "x-kubernetes-list-map-keys", skip_serializing_if = "Vec::is_empty")]
    pub list_map_keys: Vec<String>,
    /// `atomic`, `set` or `map`.
    #[serde(rename = "x-kubernetes-list-type", skip_serializing_if = "Option::is_none")]
    pub list_type: Option<String>,
    /// `granular` or `atomic`.
    #[serde(rename = "x-kubernetes-map-type", skip_serializing_if = "Option::is_none")]
    pub map_type: Option<String>,
    /// Rules in CEL.
    #[serde(rename = "x-kubernetes-validations", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// Part of a schema. Copies of a schema share their parts: most of an idle server's memory are schemas, and several
/// tables have the same one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Schema")]
pub struct Part(Arc<Schema>);

impl Part {
    /// Part for modification, copied if shared.
    pub(crate) fn change(&mut self) -> &mut Schema {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Schema> for Part {
    fn from(schema: Schema) -> Self {
        Self(Arc::new(schema))
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl Deref for Part {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        &self.0
    }
}

/// Schema of the values of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Additional {
    /// Anything, or nothing.
    Allowed(bool),
    /// Values of this schema.
    Of(Part),
}

/// A rule in CEL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// Expression; false is an error.
    pub rule: String,
    /// Message of a failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Expression of the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_expression: String,
    /// The kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Field of the error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// `oldSelf` is an optional, and the rule runs on creation too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional_old_self: Option<bool>,
}

impl Schema {
    /// The schema of a declared field.
    pub fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).map(Deref::deref)
    }

    /// The schemas of all declared fields.
    pub fn declared(&self) -> impl Iterator<Item = &Self> {
        self.properties.values().map(Deref::deref)
    }

    /// The schema of the values of a map, if it has one.
    pub fn values(&self) -> Option<&Self> {
        match &self.additional_properties {
            Some(Additional::Of(schema)) => Some(schema),
            _ => None,
        }
    }
}
