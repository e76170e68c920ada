//! Bounds of numbers. Bounds are floats and values are 64-bit integers or floats: the conversions between them are those
//! of a real server.

use std::fmt::Display;

use orchestra_cel::FieldError;
use serde_json::{Number, Value};

use super::node::Numbers;
use super::outcome::ValidationOutcome;
use super::path::Path;
use super::validate;
use crate::json::truncate;

/// Checks a number against its limits.
pub(super) fn check(limits: &Numbers, number: &Number, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let value = number.as_f64().unwrap_or_default();
    let integer = number.as_i64();
    let in_range = |value: f64, integer: Option<i64>| limits.holds(value, integer);
    if !in_range(value, integer) {
        outcome.add_general(&limits.out_of_range("Checked", path));
    }
    if let Some(divisor) = limits.multiple_of {
        let native = in_range(divisor, None);
        if !native {
            outcome.add_general(&limits.out_of_range("MultipleOf", path));
        }
        let cause = match integer.filter(|_| native) {
            Some(integer) => not_multiple_of_integer(integer, truncate(divisor), path),
            None => not_multiple_of(value, divisor, path),
        };
        outcome.extend(cause);
    }
    for (limit, exclusive, name, is_minimum) in [
        (limits.minimum, limits.exclusive_minimum, "Minimum boundary", true),
        (limits.maximum, limits.exclusive_maximum, "Maximum boundary", false),
    ] {
        let Some(limit) = limit else { continue };
        let native = in_range(limit, None);
        if !native {
            outcome.add_general(&limits.out_of_range(name, path));
        }
        let bound = Bound { is_minimum, exclusive };
        let cause = match integer.filter(|_| native) {
            Some(integer) => {
                let limit = truncate(limit);
                bound.cause(&integer, &limit, limit, &Value::from(integer), path)
            }
            None => bound.cause(&value, &limit, limit, &float_value(value), path),
        };
        outcome.extend(cause);
    }
}

fn float_value(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

struct Bound {
    is_minimum: bool,
    exclusive: bool,
}

impl Bound {
    fn cause<T: PartialOrd>(
        &self,
        value: &T,
        limit: &T,
        printed: impl Display,
        shown: &Value,
        path: &Path<'_>,
    ) -> Option<FieldError> {
        let (beyond, relation) = match (self.is_minimum, self.exclusive) {
            (true, false) => (value < limit, "greater than or equal to"),
            (true, true) => (value <= limit, "greater than"),
            (false, false) => (value > limit, "less than or equal to"),
            (false, true) => (value >= limit, "less than"),
        };
        beyond.then(|| validate::should(path, shown, &format!("be {relation} {printed}")))
    }
}

fn not_multiple_of_integer(value: i64, divisor: i64, path: &Path<'_>) -> Option<FieldError> {
    if divisor <= 0 {
        return Some(not_positive(path, &Value::from(divisor)));
    }
    let wanted = format!("be a multiple of {divisor}");
    (value % divisor != 0).then(|| validate::should(path, &Value::from(value), &wanted))
}

fn not_multiple_of(value: f64, divisor: f64, path: &Path<'_>) -> Option<FieldError> {
    if divisor <= 0.0 {
        return Some(not_positive(path, &float_value(divisor)));
    }
    let times = if divisor < 1.0 { 1.0 / divisor * value } else { value / divisor };
    let wanted = format!("be a multiple of {divisor}");
    (!is_whole(times)).then(|| validate::should(path, &float_value(value), &wanted))
}

fn not_positive(path: &Path<'_>, divisor: &Value) -> FieldError {
    let place = path.dotted();
    let detail = format!("factor MultipleOf declared for {place} must be positive: {divisor}");
    FieldError::invalid(place, divisor, detail)
}

impl Numbers {
    /// True if the type and the format can represent a number.
    fn holds(&self, value: f64, integer: Option<i64>) -> bool {
        match (self.kind, self.format.as_str()) {
            ("integer", format) => {
                let integer = integer.or_else(|| value.to_string().parse().ok());
                integer.is_some_and(|integer| format != "int32" || i32::try_from(integer).is_ok())
            }
            (_, "float") => {
                value.abs() < f64::from(f32::MAX) + f64::from(f32::MAX) * f64::from(f32::EPSILON) / 4.0
            }
            _ => true,
        }
    }

    fn out_of_range(&self, what: &str, path: &Path<'_>) -> String {
        let place = path.dotted();
        if self.format.is_empty() {
            format!("{what} value must be of type {} (default format) in {place}", self.kind)
        } else {
            format!("{what} value must be of type {} with format {} in {place}", self.kind, self.format)
        }
    }
}

/// True if a float is an integer that JSON can represent, up to a rounding error.
pub(super) fn is_whole(value: f64) -> bool {
    const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
    const TOLERANCE: f64 = 1e-9;
    if !value.is_finite() || value.abs() > MAX_EXACT {
        return false;
    }
    let below = value.trunc();
    if value.fract() == 0.0 {
        return true;
    }
    if value <= 0.0 || below == 0.0 {
        return false;
    }
    (value - below) / (value + below) < TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_floats_are_recognised() {
        for (value, whole) in [
            (1.0, true),
            (-3.0, true),
            (1.5, false),
            (-1.5, false),
            (0.5, false),
            (0.0, true),
            (9_007_199_254_740_992.0, false),
            (1_000_000_000.5, true),
            (f64::INFINITY, false),
        ] {
            assert_eq!(is_whole(value), whole, "{value}");
        }
    }

    #[test]
    fn a_float_that_does_not_fit_becomes_the_smallest_integer() {
        assert_eq!(truncate(1e300), i64::MIN);
        assert_eq!(truncate(-1.9), -1);
    }
}
