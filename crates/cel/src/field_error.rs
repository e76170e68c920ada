//! Error at one field of an object: a cause in a `Status`.

use std::fmt;

use serde_json::Value;

/// Kind of an error; its name is the `reason` of a cause in a `Status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseType {
    /// A value that is not allowed.
    Invalid,
    /// A value of a wrong type.
    TypeInvalid,
    /// A value that is missing.
    Required,
    /// A duplicate value.
    Duplicate,
    /// A value that is none of the allowed ones.
    NotSupported,
    /// A value that is not allowed here.
    Forbidden,
    /// A value that is too long.
    TooLong,
    /// Too many values.
    TooMany,
    /// A value that refers to nothing.
    NotFound,
    /// Our own error.
    Internal,
}

impl CauseType {
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

/// Error at a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Kind of the error.
    pub cause: CauseType,
    /// Path: `spec.containers[0].image`; `<nil>` for the whole object.
    pub field: String,
    /// Message without the path: `Invalid value: "x": must be …`.
    pub message: String,
}

impl FieldError {
    fn new(cause: CauseType, field: impl Into<String>, message: String) -> Self {
        Self { cause, field: field.into(), message }
    }

    /// `Invalid value: VALUE: DETAIL`
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl fmt::Display) -> Self {
        Self::new(CauseType::Invalid, field, format!("Invalid value: {value}: {detail}"))
    }

    /// `Invalid value: "TEXT": DETAIL`
    pub fn invalid_text(field: impl Into<String>, text: &str, detail: impl fmt::Display) -> Self {
        Self::new(CauseType::Invalid, field, format!("Invalid value: {text:?}: {detail}"))
    }

    /// `Invalid value: DETAIL`, where the value is too large to show.
    pub fn invalid_part(field: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self::new(CauseType::Invalid, field, format!("Invalid value: {detail}"))
    }

    /// `Invalid value: "TYPE": DETAIL`, of a wrong type.
    pub fn wrong_type(field: impl Into<String>, kind: &str, detail: impl fmt::Display) -> Self {
        Self::new(CauseType::TypeInvalid, field, format!("Invalid value: {kind:?}: {detail}"))
    }

    /// `Required value: DETAIL`
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        Self::new(CauseType::Required, field, format!("Required value{colon}{detail}"))
    }

    /// `Forbidden: DETAIL`
    pub fn forbidden(field: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self::new(CauseType::Forbidden, field, format!("Forbidden: {detail}"))
    }

    /// `Duplicate value: VALUE`
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new(CauseType::Duplicate, field, format!("Duplicate value: {value}"))
    }

    /// `Unsupported value: VALUE: supported values: "a", "b"`
    pub fn not_supported(
        field: impl Into<String>,
        value: &Value,
        supported: impl IntoIterator<Item = impl fmt::Debug>,
    ) -> Self {
        let supported: Vec<String> = supported.into_iter().map(|one| format!("{one:?}")).collect();
        let supported = supported.join(", ");
        Self::new(
            CauseType::NotSupported,
            field,
            format!("Unsupported value: {value}: supported values: {supported}"),
        )
    }

    /// `Too long: may not be more than N bytes`
    pub fn too_long(field: impl Into<String>, max: impl fmt::Display) -> Self {
        Self::new(CauseType::TooLong, field, format!("Too long: may not be more than {max} bytes"))
    }

    /// `Too many: COUNT: must have at most N items`
    pub fn too_many(field: impl Into<String>, count: usize, max: i64) -> Self {
        Self::new(CauseType::TooMany, field, format!("Too many: {count}: must have at most {max} items"))
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
