//! Comparisons in filters. Only values of one type compare: an integer and a float do not.

use std::cmp::Ordering;

use serde_json::Value;

/// Comparison operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Unknown operator: an error only when evaluated.
    Unknown(String),
}

impl Operator {
    pub(super) fn of(text: &str) -> Self {
        match text {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            other => Self::Unknown(other.to_owned()),
        }
    }

    pub(super) fn holds(&self, left: &Value, right: &Value) -> Result<bool, String> {
        let order = order(left, right)?;
        if left.is_boolean() && !matches!(self, Self::Equal | Self::NotEqual) {
            return Err("invalid type for comparison".to_owned());
        }
        match self {
            Self::Equal => Ok(order == Some(Ordering::Equal)),
            Self::NotEqual => Ok(order != Some(Ordering::Equal)),
            Self::Less => Ok(order == Some(Ordering::Less)),
            Self::LessOrEqual => Ok(matches!(order, Some(Ordering::Less | Ordering::Equal))),
            Self::Greater => Ok(order == Some(Ordering::Greater)),
            Self::GreaterOrEqual => Ok(matches!(order, Some(Ordering::Greater | Ordering::Equal))),
            Self::Unknown(text) => Err(format!("unrecognized filter operator {text}")),
        }
    }
}

/// Order of two values of one type; none only for NaN.
fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, String> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(Some(left.cmp(right))),
        (Value::String(left), Value::String(right)) => Ok(Some(left.cmp(right))),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            Ok(match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64().partial_cmp(&right.as_f64()),
            })
        }
        (Value::Null | Value::Array(_) | Value::Object(_), _)
        | (_, Value::Null | Value::Array(_) | Value::Object(_)) => {
            Err("invalid type for comparison".to_owned())
        }
        _ => Err("incompatible types for comparison".to_owned()),
    }
}
