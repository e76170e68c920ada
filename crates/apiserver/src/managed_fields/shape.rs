//! Shape of an object for field ownership: atomic values, maps with fields of their own, and the identity of list
//! items.
//!
//! A shape is a view of the [`Schema`] and costs nothing to make. A value without a declared type is read as its own
//! type.

use serde_json::Value;

use super::object_meta;
use crate::schema::{Additional, Schema};

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    /// Schema of the value.
    Declared {
        /// The schema of this value.
        schema: &'s Schema,
        /// Unknown fields are kept here and below.
        keeps_unknown: bool,
        /// The value is a whole object with apiVersion, kind and metadata.
        object: bool,
    },
    /// Not declared: maps have fields, all else is one leaf.
    Deduced,
    /// Not declared: always one leaf.
    Untyped,
}

/// Reading of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading<'s> {
    /// As a map or a struct.
    Map(MapShape<'s>),
    /// As a scalar.
    Scalar(Scalar),
    /// As a list.
    List(ListShape<'s>),
}

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of these.
    Untyped,
}

/// The shape of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListShape<'s> {
    /// The shape of the items.
    pub(super) items: Shape<'s>,
    /// Identity of the items.
    pub(super) identity: ItemIdentity<'s>,
}

/// Identity of the items of a list.
#[derive(Clone, Copy, Debug)]
pub(super) enum ItemIdentity<'s> {
    /// Not at all: the list is one leaf.
    Atomic,
    /// By their values.
    Value,
    /// By these fields.
    Keys(&'s [String]),
}

/// The shape of a map or a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapShape<'s> {
    of: Shape<'s>,
    /// The map is one leaf.
    pub(super) atomic: bool,
}

/// A declared field of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'s> {
    /// Its shape.
    pub(super) shape: Shape<'s>,
    /// Default.
    pub(super) default: Option<&'s Value>,
}

impl<'s> Shape<'s> {
    /// The shape of a whole object of a kind.
    pub(super) fn of_object(schema: &'s Schema) -> Self {
        Self::declared(schema, false, true)
    }

    fn declared(schema: &'s Schema, keeps_unknown: bool, object: bool) -> Self {
        Self::Declared {
            schema,
            keeps_unknown: keeps_unknown || schema.preserve_unknown == Some(true),
            object: object || schema.embedded_resource,
        }
    }

    /// The type of a scalar, unless the value must be a map or a list.
    pub(super) fn scalar(self) -> Option<Scalar> {
        let Self::Declared { schema, .. } = self else { return Some(Scalar::Untyped) };
        match schema.kind.as_str() {
            "object" | "array" => None,
            "integer" | "number" => Some(Scalar::Numeric),
            "boolean" => Some(Scalar::Boolean),
            "string" if matches!(schema.format.as_str(), "" | "byte") => Some(Scalar::String),
            _ => Some(Scalar::Untyped),
        }
    }

    /// The shape as a list, if the value may be one.
    pub(super) fn list(self) -> Option<ListShape<'s>> {
        let Self::Declared { schema, keeps_unknown, .. } = self else {
            return Some(ListShape { items: Shape::Untyped, identity: ItemIdentity::Atomic });
        };
        matches!(schema.kind.as_str(), "array" | "").then(|| ListShape {
            items: schema
                .items
                .as_deref()
                .map_or(Shape::Untyped, |items| Self::declared(items, keeps_unknown, false)),
            identity: match schema.list_type.as_deref() {
                Some("map") => ItemIdentity::Keys(&schema.list_map_keys),
                Some("set") => ItemIdentity::Value,
                _ => ItemIdentity::Atomic,
            },
        })
    }

    /// The shape as a map, if the value may be one.
    pub(super) fn map(self) -> Option<MapShape<'s>> {
        let atomic = match self {
            Self::Declared { schema, .. } if !matches!(schema.kind.as_str(), "object" | "") => return None,
            Self::Declared { schema, .. } => schema.map_type.as_deref() == Some("atomic"),
            Self::Deduced => false,
            Self::Untyped => true,
        };
        Some(MapShape { of: self, atomic })
    }

    /// Reading of a value of this shape. Where several types are allowed the value decides, and null is a map.
    pub(super) fn reading(self, value: &Value) -> Reading<'s> {
        match (self.map(), self.scalar(), self.list(), value) {
            (_, Some(scalar), _, Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                Reading::Scalar(scalar)
            }
            (_, _, Some(list), Value::Array(_)) => Reading::List(list),
            (Some(map), ..) => Reading::Map(map),
            (_, Some(scalar), ..) => Reading::Scalar(scalar),
            (_, _, Some(list), _) => Reading::List(list),
            (None, None, None, _) => Reading::Scalar(Scalar::Untyped),
        }
    }
}

impl<'s> MapShape<'s> {
    /// A declared field.
    pub(super) fn field(self, name: &str) -> Option<Field<'s>> {
        let Shape::Declared { schema, keeps_unknown, object } = self.of else { return None };
        let standard = if object { object_meta::standard_field(name) } else { None };
        let field = standard.or_else(|| schema.property(name))?;
        Some(Field { shape: Shape::declared(field, keeps_unknown, false), default: field.default.as_ref() })
    }

    /// The shape of the fields that are not declared, if there may be any.
    pub(super) fn others(self) -> Option<Shape<'s>> {
        let Shape::Declared { schema, keeps_unknown, object } = self.of else { return Some(self.of) };
        match &schema.additional_properties {
            Some(Additional::Of(values)) => Some(Shape::declared(values, keeps_unknown, false)),
            Some(Additional::Allowed(allowed)) => allowed.then_some(Shape::Deduced),
            None => {
                let declares_nothing = schema.properties.is_empty() && !object;
                (keeps_unknown || declares_nothing).then_some(Shape::Deduced)
            }
        }
    }

    /// The shape of a field, declared or not.
    pub(super) fn child(self, name: &str) -> Option<Shape<'s>> {
        self.field(name).map(|field| field.shape).or_else(|| self.others())
    }

    /// True if no field is declared, and others may be anything.
    pub(super) fn is_free_form(self) -> bool {
        let declares = match self.of {
            Shape::Declared { schema, object, .. } => object || !schema.properties.is_empty(),
            Shape::Deduced | Shape::Untyped => false,
        };
        !declares
            && match self.others() {
                Some(Shape::Deduced) => true,
                Some(others @ Shape::Declared { .. }) => others.scalar() == Some(Scalar::Untyped),
                Some(Shape::Untyped) | None => false,
            }
    }
}
