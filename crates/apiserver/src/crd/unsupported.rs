//! JSON Schema keywords that a definition must not use. The typed schema does not have them, so they are looked up in
//! its JSON.

use serde_json::Value;

use crate::schema::Schema;

/// Schema node with its source JSON.
#[derive(Clone, Copy)]
pub(super) struct Props<'a> {
    pub(super) schema: &'a Schema,
    pub(super) raw: &'a Value,
}

static NOTHING: Value = Value::Null;

impl<'a> Props<'a> {
    /// A keyword in the JSON; null if it is absent.
    pub(super) fn raw(&self, keyword: &str) -> &'a Value {
        self.raw.get(keyword).unwrap_or(&NOTHING)
    }

    /// True if a keyword is present.
    pub(super) fn has(&self, keyword: &str) -> bool {
        !self.raw(keyword).is_null()
    }

    /// True if a keyword is present and not empty.
    pub(super) fn has_filled(&self, keyword: &str) -> bool {
        match self.raw(keyword) {
            Value::Object(fields) => !fields.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => !text.is_empty(),
            other => !other.is_null(),
        }
    }

    /// The items if they are a list of schemas.
    pub(super) fn tuple(&self) -> &'a [Value] {
        self.raw("items").as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// The node of the items.
    pub(super) fn items(&self) -> Option<Self> {
        let schema = self.schema.items.as_deref()?;
        Some(Self { schema, raw: self.raw("items") })
    }

    /// The node of the values of a map.
    pub(super) fn values(&self) -> Option<Self> {
        Some(Self { schema: self.schema.values()?, raw: self.raw("additionalProperties") })
    }

    /// The nodes of the declared fields.
    pub(super) fn properties(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let raw = self.raw("properties");
        self.schema.properties.iter().map(move |(name, schema)| {
            (name.as_str(), Self { schema, raw: raw.get(name).unwrap_or(&NOTHING) })
        })
    }

    /// The node of `not`.
    pub(super) fn not(&self) -> Option<Self> {
        Some(Self { schema: self.schema.not.as_deref()?, raw: self.raw("not") })
    }

    /// The nodes of `allOf`, `oneOf` or `anyOf`.
    pub(super) fn alternatives(&self, keyword: &str) -> impl Iterator<Item = Self> {
        let schemas = match keyword {
            "allOf" => &self.schema.all_of,
            "oneOf" => &self.schema.one_of,
            _ => &self.schema.any_of,
        };
        let raw = self.raw(keyword);
        schemas
            .iter()
            .enumerate()
            .map(move |(index, schema)| Self { schema, raw: raw.get(index).unwrap_or(&NOTHING) })
    }

    /// Error that prevents the conversion to a structural schema, if any.
    pub(super) fn obstacle(&self) -> Option<String> {
        let own = [
            ("id", self.has_filled("id")),
            ("schema", self.has_filled("$schema")),
            ("$ref", self.has_filled("$ref")),
            ("patternProperties", self.has_filled("patternProperties")),
            ("dependencies", self.has_filled("dependencies")),
            ("additionalItems", self.has("additionalItems")),
            ("definitions", self.has_filled("definitions")),
        ];
        if let Some((name, _)) = own.into_iter().find(|(_, there)| *there) {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
        if self.schema.preserve_unknown == Some(false) {
            return Some(
                "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned(),
            );
        }
        if !self.tuple().is_empty() {
            return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        }
        let nested = self
            .not()
            .into_iter()
            .chain(["allOf", "anyOf", "oneOf"].into_iter().flat_map(|k| self.alternatives(k)));
        let below =
            self.items().into_iter().chain(self.properties().map(|(_, one)| one)).chain(self.values());
        nested.chain(below).find_map(|one| one.obstacle())
    }
}
