//! Sprig's functions on numbers. Arguments are cast to a number; what cannot be cast counts as 0.

use super::{
    Function,
    Parameter::{Any, Float, Int},
};
use crate::{
    error::EvalError,
    interpreter::Interpreter,
    literal,
    value::{ListKind, Value},
};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::variadic("add", &[Any], |_, args| Ok(fold(args, 0, i64::wrapping_add))),
    Function::fixed("add1", &[Any], |_, args| Ok(Value::Int64(int64(&args[0]).wrapping_add(1)))),
    Function::fixed("sub", &[Any, Any], |_, args| {
        Ok(Value::Int64(int64(&args[0]).wrapping_sub(int64(&args[1]))))
    }),
    Function::variadic("mul", &[Any, Any], |_, args| Ok(fold(args, 1, i64::wrapping_mul))),
    Function::fixed("div", &[Any, Any], |_, args| quotient(args, i64::checked_div)),
    Function::fixed("mod", &[Any, Any], |_, args| quotient(args, i64::checked_rem)),
    Function::variadic("min", &[Any, Any], |_, args| Ok(fold(&args[1..], int64(&args[0]), i64::min))),
    Function::variadic("max", &[Any, Any], |_, args| Ok(fold(&args[1..], int64(&args[0]), i64::max))),
    Function::variadic("addf", &[Any], |_, args| Ok(Value::Float(args.iter().map(float64).sum()))),
    Function::fixed("ceil", &[Any], |_, args| Ok(Value::Float(float64(&args[0]).ceil()))),
    Function::fixed("floor", &[Any], |_, args| Ok(Value::Float(float64(&args[0]).floor()))),
    Function::variadic("round", &[Any, Int, Float], |_, args| Ok(Value::Float(round(args)))),
    Function::fixed("int", &[Any], |_, args| Ok(Value::Int(int64(&args[0])))),
    Function::fixed("int64", &[Any], |_, args| Ok(Value::Int64(int64(&args[0])))),
    Function::fixed("float64", &[Any], |_, args| Ok(Value::Float(float64(&args[0])))),
    Function::fixed("until", &[Int], until),
];

fn fold(args: &[Value], start: i64, with: fn(i64, i64) -> i64) -> Value {
    Value::Int64(args.iter().map(int64).fold(start, with))
}

fn quotient(args: &[Value], with: fn(i64, i64) -> Option<i64>) -> Result<Value, EvalError> {
    let result = with(int64(&args[0]), int64(&args[1]));
    result.map(Value::Int64).ok_or(EvalError::new("integer divide by zero"))
}

fn round(args: &[Value]) -> f64 {
    let on = match args.get(2) {
        Some(Value::Float(on)) => *on,
        _ => 0.5,
    };
    let places = i32::try_from(args[1].as_int()).unwrap_or(0);
    let scale = 10f64.powi(places);
    let digit = scale * float64(&args[0]);
    let rounded = if digit.fract() >= on { digit.ceil() } else { digit.floor() };
    rounded / scale
}

fn until(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let count = args[0].as_int();
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    interp.budget.spend(size.saturating_mul(size_of::<Value>()))?;
    let items: Vec<Value> = if count < 0 {
        (count + 1..=0).rev().map(Value::Int).collect()
    } else {
        (0..count).map(Value::Int).collect()
    };
    Ok(interp.heap.new_list(ListKind::Int, items))
}

/// `cast.ToInt64` of the Go library `spf13/cast`.
pub(super) fn int64(value: &Value) -> i64 {
    match value {
        Value::Int(int) | Value::Int64(int) => *int,
        #[expect(clippy::cast_possible_wrap, reason = "as in Go")]
        Value::Uint(int) => *int as i64,
        Value::Byte(byte) => i64::from(*byte),
        #[expect(clippy::cast_possible_truncation, reason = "as in Go")]
        Value::Float(float) => *float as i64,
        Value::Bool(flag) => i64::from(*flag),
        Value::Str(text) => {
            let integer = text.split_once('.').map_or(&**text, |(integer, fraction)| {
                if fraction.bytes().all(|b| b.is_ascii_digit()) { integer } else { text }
            });
            literal::int(integer).unwrap_or(0)
        }
        _ => 0,
    }
}

fn float64(value: &Value) -> f64 {
    match value {
        Value::Float(float) => *float,
        Value::Str(text) => text.parse().unwrap_or(0.0),
        #[expect(clippy::cast_precision_loss, reason = "as in Go")]
        other => int64(other) as f64,
    }
}
