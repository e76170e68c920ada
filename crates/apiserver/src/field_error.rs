//! What is wrong with one field, in the words of the real server.

use std::fmt;

use serde_json::Value;

use crate::schema::go_text;

/// The kind of a mistake; its name is the `reason` of a cause in a `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A value that is not allowed.
    Invalid,
    /// A value of a wrong type.
    TypeInvalid,
    /// A value that is missing.
    Required,
    /// A value that is there twice.
    Duplicate,
    /// A value that is none of the allowed ones.
    NotSupported,
    /// A value that must not be there.
    Forbidden,
    /// A value that is too long.
    TooLong,
    /// Too many values.
    TooMany,
    /// A value that refers to nothing.
    NotFound,
    /// Our own mistake.
    Internal,
}

impl Mistake {
    /// The `reason` of a cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }
}

/// A mistake at a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// What kind of mistake.
    pub mistake: Mistake,
    /// Where: `spec.containers[0].image`; `<nil>` for the whole object.
    pub field: String,
    /// What, without the field: `Invalid value: "x": must be …`.
    pub message: String,
}

impl FieldError {
    /// `Invalid value: VALUE: DETAIL`
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl fmt::Display) -> Self {
        Self {
            mistake: Mistake::Invalid,
            field: field.into(),
            message: format!("Invalid value: {}: {detail}", go_text::shown(value)),
        }
    }

    /// `Required value: DETAIL`
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        Self {
            mistake: Mistake::Required,
            field: field.into(),
            message: format!("Required value{colon}{detail}"),
        }
    }

    /// `Forbidden: DETAIL`
    pub fn forbidden(field: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self { mistake: Mistake::Forbidden, field: field.into(), message: format!("Forbidden: {detail}") }
    }

    /// `Duplicate value: VALUE`
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            mistake: Mistake::Duplicate,
            field: field.into(),
            message: format!("Duplicate value: {}", go_text::shown(value)),
        }
    }

    /// `Unsupported value: VALUE: supported values: "a", "b"`
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|one| go_text::quoted(one)).collect();
        Self {
            mistake: Mistake::NotSupported,
            field: field.into(),
            message: format!(
                "Unsupported value: {}: supported values: {}",
                go_text::shown(value),
                list.join(", ")
            ),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
