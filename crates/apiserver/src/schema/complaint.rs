//! Mistakes at fields, with values printed exactly as the real server prints them.

use std::fmt::Display;

use serde_json::Value;

use super::go_text;
use crate::field_error::{FieldError, Mistake};

/// `Invalid value: VALUE: DETAIL`
pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: impl Display) -> FieldError {
    with_value(Mistake::Invalid, field, &go_text::shown(value), detail)
}

/// `Invalid value: "TEXT": DETAIL`
pub(crate) fn invalid_text(field: impl Into<String>, text: &str, detail: impl Display) -> FieldError {
    with_value(Mistake::Invalid, field, &go_text::quoted(text), detail)
}

/// `Invalid value: PRINTED: DETAIL`
pub(crate) fn invalid_printed(field: impl Into<String>, printed: &str, detail: impl Display) -> FieldError {
    with_value(Mistake::Invalid, field, printed, detail)
}

/// `Invalid value: "TEXT": DETAIL`, of a wrong type.
pub(crate) fn wrong_type(field: impl Into<String>, text: &str, detail: impl Display) -> FieldError {
    with_value(Mistake::TypeInvalid, field, &go_text::quoted(text), detail)
}

fn with_value(mistake: Mistake, field: impl Into<String>, printed: &str, detail: impl Display) -> FieldError {
    FieldError { mistake, field: field.into(), message: format!("Invalid value: {printed}: {detail}") }
}

/// `Duplicate value: VALUE`
pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> FieldError {
    FieldError {
        mistake: Mistake::Duplicate,
        field: field.into(),
        message: format!("Duplicate value: {}", go_text::shown(value)),
    }
}

/// `Unsupported value: VALUE: supported values: "a", "b"`
pub(crate) fn not_supported<'a>(
    field: impl Into<String>,
    value: &Value,
    supported: impl IntoIterator<Item = &'a str>,
) -> FieldError {
    let supported: Vec<String> = supported.into_iter().map(go_text::quoted).collect();
    FieldError {
        mistake: Mistake::NotSupported,
        field: field.into(),
        message: format!(
            "Unsupported value: {}: supported values: {}",
            go_text::shown(value),
            supported.join(", ")
        ),
    }
}

/// `Too long: may not be more than N bytes`
pub(crate) fn too_long(field: impl Into<String>, most: i64) -> FieldError {
    let unit = if most == 1 { "byte" } else { "bytes" };
    let detail =
        if most < 0 { "value is too long".to_owned() } else { format!("may not be more than {most} {unit}") };
    FieldError { mistake: Mistake::TooLong, field: field.into(), message: format!("Too long: {detail}") }
}

/// `Too many: COUNT: must have at most N items`
pub(crate) fn too_many(field: impl Into<String>, count: usize, most: i64) -> FieldError {
    let unit = if most == 1 { "item" } else { "items" };
    let detail =
        if most < 0 { "has too many items".to_owned() } else { format!("must have at most {most} {unit}") };
    FieldError {
        mistake: Mistake::TooMany,
        field: field.into(),
        message: format!("Too many: {count}: {detail}"),
    }
}
