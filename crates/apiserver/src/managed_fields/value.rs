//! Equality and order of JSON values by numeric value: `1` and `1.0` are the same.
//!
//! A recorded field set has all its numbers as floats, an object has integers; both must match as list keys.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::json::I64_UPPER_BOUND;

/// True if two values are equal.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left == right,
            _ => numeric(left, right) == Ordering::Equal,
        },
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|((a, left), (b, right))| a == b && same(left, right))
        }
        _ => left == right,
    }
}

/// A total order over values of all types: numbers, strings, booleans, lists, maps, null.
pub(super) fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => numeric(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => first_difference(
            left.iter().zip(right).map(|(left, right)| order(left, right)),
            left.len().cmp(&right.len()),
        ),
        (Value::Object(left), Value::Object(right)) => first_difference(
            left.iter().zip(right).map(|((a, left), (b, right))| a.cmp(b).then_with(|| order(left, right))),
            left.len().cmp(&right.len()),
        ),
        _ => rank(left).cmp(&rank(right)),
    }
}

/// The first ordering that is not equal, else the last resort.
pub(super) fn first_difference(mut orders: impl Iterator<Item = Ordering>, otherwise: Ordering) -> Ordering {
    orders.find(|order| order.is_ne()).unwrap_or(otherwise)
}

fn numeric(left: &Number, right: &Number) -> Ordering {
    left.as_f64().partial_cmp(&right.as_f64()).unwrap_or(Ordering::Equal)
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// The value with every number as a float, as the decoder of field sets leaves it.
pub(super) fn with_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            number.as_f64().and_then(Number::from_f64).map_or_else(|| value.clone(), Value::Number)
        }
        Value::Array(items) => Value::Array(items.iter().map(with_floats).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), with_floats(value))).collect())
        }
        other => other.clone(),
    }
}

/// Turns every float without a fraction that fits into an integer, as the decoder of applied configurations does.
pub(super) fn restore_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = number.as_f64().filter(|_| number.is_f64()).and_then(exact_integer) {
                *value = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(restore_integers),
        Value::Object(fields) => fields.values_mut().for_each(restore_integers),
        _ => {}
    }
}

fn exact_integer(float: f64) -> Option<i64> {
    #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
    (float.fract() == 0.0 && (-I64_UPPER_BOUND..I64_UPPER_BOUND).contains(&float)).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same(&json!({"a": [1, 2.5]}), &json!({"a": [1.0, 2.5]})));
        assert!(!same(&json!(1), &json!("1")));
        assert!(!same(&json!({"a": 1}), &json!({"b": 1})));
        assert_eq!(order(&json!(1), &json!(1.0)), Ordering::Equal);
    }

    #[test]
    fn values_of_different_types_are_ordered() {
        let sorted = [
            json!(1),
            json!(1.5),
            json!("a"),
            json!("b"),
            json!(false),
            json!([1]),
            json!([1, 2]),
            json!(null),
        ];
        for pair in sorted.windows(2) {
            assert_eq!(order(&pair[0], &pair[1]), Ordering::Less, "{pair:?}");
        }
    }

    #[test]
    fn a_float_without_a_fraction_becomes_an_integer() {
        let mut value = with_floats(&json!({"a": [7, 1.5, -3]}));
        assert_eq!(value.to_string(), r#"{"a":[7.0,1.5,-3.0]}"#);
        restore_integers(&mut value);
        assert_eq!(value, json!({"a": [7, 1.5, -3]}));
    }
}
