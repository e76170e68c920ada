//! Compiled schema node: patterns compiled, formats looked up, types as bits.

use std::collections::BTreeMap;

use orchestra_re2::{InvalidPattern, Regex};
use serde_json::{Number, Value};

use super::formats::{self, Check};
use super::{Additional, Schema};

/// Use of a compiled schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Objects: unknown formats are ignored, and int-or-string means the types integer and string.
    Objects,
    /// Default values of a definition: the schema is taken literally.
    Defaults,
}

/// Compiled node.
pub(crate) struct Node {
    pub(super) types: Types,
    pub(super) nullable: bool,
    pub(super) format: String,
    pub(super) format_check: Option<Check>,
    pub(super) numbers: Numbers,
    pub(super) min_length: Option<i64>,
    pub(super) max_length: Option<i64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) min_items: Option<i64>,
    pub(super) max_items: Option<i64>,
    pub(super) items: Option<Box<Self>>,
    pub(super) min_properties: Option<i64>,
    pub(super) max_properties: Option<i64>,
    pub(super) required: Vec<String>,
    pub(super) properties: BTreeMap<String, Box<Self>>,
    pub(super) values: Values,
    pub(super) allowed: Vec<Value>,
    pub(super) all_of: Vec<Self>,
    pub(super) any_of: Vec<Self>,
    pub(super) one_of: Vec<Self>,
    pub(super) not: Option<Box<Self>>,
    /// Keys of a map list; empty for other lists.
    pub(super) item_keys: Vec<String>,
}

/// Undeclared fields of an object.
pub(super) enum Values {
    Any,
    None,
    Of(Box<Node>),
}

/// Compiled pattern, or the error in it.
pub(super) struct Pattern {
    pub(super) source: String,
    pub(super) compiled: Result<Regex, InvalidPattern>,
}

/// Allowed types of a value.
#[derive(Default)]
pub(super) struct Types {
    names: Vec<String>,
}

impl Types {
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|one| one == name)
    }

    fn recognise(&self, format: &str) -> bool {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        formats::is_recognised(&names, format)
    }

    /// `integer,string`
    pub(super) fn text(&self) -> String {
        self.names.join(",")
    }
}

/// The limits of numbers.
#[derive(Default)]
pub(super) struct Numbers {
    /// `integer` or `number`, if it is the only type.
    pub(super) kind: &'static str,
    /// `int32`, `int64`, `float` or `double`, if it fits the type.
    pub(super) format: String,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
}

impl Node {
    /// Compiles a schema.
    pub(crate) fn new(schema: &Schema, purpose: Purpose) -> Self {
        let names = if purpose == Purpose::Objects && schema.int_or_string {
            vec!["integer".to_owned(), "string".to_owned()]
        } else if schema.kind.is_empty() {
            Vec::new()
        } else {
            vec![schema.kind.clone()]
        };
        let types = Types { names };
        let format = match purpose {
            Purpose::Objects if !types.recognise(&schema.format) => String::new(),
            _ => schema.format.clone(),
        };
        let boxed = |schema: &Schema| Box::new(Self::new(schema, purpose));
        let all = |schemas: &[Schema]| schemas.iter().map(|one| Self::new(one, purpose)).collect();
        Self {
            nullable: schema.nullable,
            format_check: formats::check_of(&format),
            numbers: Numbers::new(schema, &types, &format),
            types,
            format,
            min_length: schema.min_length,
            max_length: schema.max_length,
            pattern: (!schema.pattern.is_empty()).then(|| Pattern {
                source: schema.pattern.clone(),
                compiled: orchestra_re2::compile(&schema.pattern),
            }),
            min_items: schema.min_items,
            max_items: schema.max_items,
            items: schema.items.as_deref().map(boxed),
            min_properties: schema.min_properties,
            max_properties: schema.max_properties,
            required: schema.required.clone(),
            properties: schema.properties.iter().map(|(key, one)| (key.clone(), boxed(one))).collect(),
            values: match &schema.additional_properties {
                None | Some(Additional::Allowed(true)) => Values::Any,
                Some(Additional::Allowed(false)) => Values::None,
                Some(Additional::Of(schema)) => Values::Of(boxed(schema)),
            },
            allowed: schema.allowed.clone().unwrap_or_default(),
            all_of: all(&schema.all_of),
            any_of: all(&schema.any_of),
            one_of: all(&schema.one_of),
            not: schema.not.as_deref().map(boxed),
            item_keys: if schema.kind == "array" && schema.list_type.as_deref() == Some("map") {
                schema.list_map_keys.clone()
            } else {
                Vec::new()
            },
        }
    }

    /// The node of a declared field.
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).map(Box::as_ref)
    }
}

impl Numbers {
    fn new(schema: &Schema, types: &Types, format: &str) -> Self {
        let kind = match types.names.as_slice() {
            [one] if one == "integer" => "integer",
            [one] if one == "number" => "number",
            _ => "",
        };
        let belongs =
            matches!((kind, format), ("integer", "int32" | "int64") | ("number", "float" | "double"));
        let float = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
        Self {
            kind,
            format: if belongs { format.to_owned() } else { String::new() },
            minimum: float(&schema.minimum),
            maximum: float(&schema.maximum),
            exclusive_minimum: schema.exclusive_minimum,
            exclusive_maximum: schema.exclusive_maximum,
            multiple_of: float(&schema.multiple_of),
        }
    }
}
