//! Functions of `text/template`, and sprig's functions on defaults, types and JSON.

use std::cmp::Ordering;

use super::{
    Function,
    Parameter::{Any, Bool, Raw, Str},
    escape,
};
use crate::{
    error::EvalError,
    format::type_name,
    interpreter::Interpreter,
    json::Style,
    limits::STEP,
    value::{ListKind, MAX_VALUE_DEPTH, MapKind, Value},
};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::short_circuit("and", false),
    Function::short_circuit("or", true),
    Function::fixed("not", &[Raw], |interp, args| Ok(Value::Bool(!interp.truth(&args[0])))),
    Function::variadic("eq", &[Raw, Raw], |interp, args| eq(interp, args).map(Value::Bool)),
    Function::fixed("ne", &[Raw, Raw], |interp, args| eq(interp, args).map(|equal| Value::Bool(!equal))),
    Function::fixed("lt", &[Raw, Raw], |_, args| compare(args, Ordering::is_lt)),
    Function::fixed("le", &[Raw, Raw], |_, args| compare(args, Ordering::is_le)),
    Function::fixed("gt", &[Raw, Raw], |_, args| compare(args, Ordering::is_gt)),
    Function::fixed("ge", &[Raw, Raw], |_, args| compare(args, Ordering::is_ge)),
    Function::fixed("len", &[Raw], len),
    Function::variadic("index", &[Raw, Raw], index),
    Function::variadic("call", &[Raw, Raw], |_, _| Err(EvalError::new("no value is a function"))),
    Function::variadic("print", &[Any], |interp, args| interp.sprint(args).map(Value::string)),
    Function::variadic("println", &[Any], |interp, args| {
        let printed: Vec<String> = args.iter().map(|arg| interp.display(arg)).collect::<Result<_, _>>()?;
        interp.string(printed.join(" ") + "\n")
    }),
    Function::variadic("printf", &[Str, Any], |interp, args| {
        interp.sprintf(args[0].as_str(), &args[1..]).map(Value::string)
    }),
    Function::variadic("html", &[Any], |interp, args| escaped(interp, args, escape::html)),
    Function::variadic("js", &[Any], |interp, args| escaped(interp, args, escape::js)),
    Function::variadic("urlquery", &[Any], |interp, args| escaped(interp, args, escape::query)),
    Function::variadic("default", &[Any, Any], |interp, args| {
        let given = args.get(1).filter(|given| !is_empty(interp, given));
        Ok(given.unwrap_or(&args[0]).clone())
    }),
    Function::fixed("empty", &[Any], |interp, args| Ok(Value::Bool(is_empty(interp, &args[0])))),
    Function::variadic("coalesce", &[Any], |interp, args| {
        Ok(args.iter().find(|arg| !is_empty(interp, arg)).cloned().unwrap_or(Value::Nil))
    }),
    Function::fixed("ternary", &[Any, Any, Bool], |interp, args| {
        Ok(args[usize::from(!interp.truth(&args[2]))].clone())
    }),
    Function::fixed("fail", &[Str], |_, args| Err(EvalError::Fail(args[0].as_str().to_owned()))),
    Function::fixed("kindOf", &[Any], |_, args| Ok(Value::string(args[0].kind()))),
    Function::fixed("kindIs", &[Str, Any], |_, args| Ok(Value::Bool(args[0].as_str() == args[1].kind()))),
    Function::fixed("typeOf", &[Any], |interp, args| {
        let name = if args[0].is_nil() { "<nil>".to_owned() } else { type_name(&interp.heap, &args[0]) };
        Ok(Value::string(name))
    }),
    Function::fixed("toJson", &[Any], |interp, args| to_json(interp, &args[0], true, false)),
    Function::fixed("toRawJson", &[Any], |interp, args| to_json(interp, &args[0], false, false)),
    Function::fixed("toPrettyJson", &[Any], |interp, args| to_json(interp, &args[0], true, true)),
    Function::fixed("fromJson", &[Str], from_json),
];

fn to_json(
    interp: &mut Interpreter,
    value: &Value,
    escape_html: bool,
    pretty: bool,
) -> Result<Value, EvalError> {
    let text = interp.json_text(value, Style { escape_html, pretty })?;
    match text {
        Some(text) => Ok(Value::string(text)),
        None if !escape_html => Err(EvalError::new("unsupported value or type in JSON")),
        None => Ok(Value::string("")),
    }
}

fn from_json(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let text = args[0].as_str();
    interp.budget.spend(text.len().saturating_mul(STEP / 4))?;
    let Ok(json) = serde_json::from_str(text) else { return Ok(Value::Nil) };
    let value = interp.heap.value_from_json(&json);
    Ok(as_floats(interp, &value, 0))
}

/// Value with all numbers as `float64`: Go's JSON decoder knows no integers.
fn as_floats(interp: &mut Interpreter, value: &Value, depth: usize) -> Value {
    if depth > MAX_VALUE_DEPTH {
        return Value::Nil;
    }
    match value {
        #[expect(clippy::cast_precision_loss, reason = "as in Go")]
        Value::Int(int) => Value::Float(*int as f64),
        #[expect(clippy::cast_precision_loss, reason = "as in Go")]
        Value::Uint(int) => Value::Float(*int as f64),
        Value::List(_, at) => {
            let items = interp.heap.list(*at);
            let items = items.iter().map(|item| as_floats(interp, item, depth + 1)).collect();
            interp.heap.new_list(ListKind::Any, items)
        }
        Value::Map(_, at) => {
            let entries = interp.heap.map(*at).clone();
            let entries =
                entries.into_iter().map(|(key, item)| (key, as_floats(interp, &item, depth + 1))).collect();
            interp.heap.new_map(MapKind::Any, entries)
        }
        other => other.clone(),
    }
}

/// True if sprig's `empty` is.
pub(super) fn is_empty(interp: &Interpreter, value: &Value) -> bool {
    !interp.truth(value)
}

fn escaped(interp: &mut Interpreter, args: &[Value], escape: fn(&str) -> String) -> Result<Value, EvalError> {
    let text = interp.sprint(args)?;
    interp.string(escape(&text))
}

/// Kind for comparisons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Int,
    Uint,
    Float,
    Str,
    Other,
}

fn basic(value: &Value) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(_) | Value::Int64(_) => Basic::Int,
        Value::Uint(_) | Value::Byte(_) => Basic::Uint,
        Value::Float(_) => Basic::Float,
        Value::Str(_) | Value::Named(..) => Basic::Str,
        _ => Basic::Other,
    }
}

fn as_i128(value: &Value) -> i128 {
    match value {
        Value::Int(int) | Value::Int64(int) => i128::from(*int),
        Value::Uint(int) => i128::from(*int),
        Value::Byte(byte) => i128::from(*byte),
        _ => 0,
    }
}

fn is_integer(kind: Basic) -> bool {
    matches!(kind, Basic::Int | Basic::Uint)
}

fn eq(interp: &mut Interpreter, args: &[Value]) -> Result<bool, EvalError> {
    let first = &args[0];
    if args.len() < 2 {
        return Err(EvalError::new("missing argument for comparison"));
    }
    for other in &args[1..] {
        let (a, b) = (basic(first), basic(other));
        let equal = if is_integer(a) && is_integer(b) {
            as_i128(first) == as_i128(other)
        } else if a != b {
            if !first.is_nil() && !other.is_nil() {
                return Err(EvalError::new("incompatible types for comparison"));
            }
            false
        } else if a == Basic::Other {
            eq_other(interp, first, other)?
        } else if a == Basic::Str {
            first.as_str() == other.as_str()
        } else {
            interp.deep_equal(first, other)?
        };
        if equal {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Equality of values that are not scalars: nil equals nil, records and times are comparable, lists and maps are not.
fn eq_other(interp: &mut Interpreter, a: &Value, b: &Value) -> Result<bool, EvalError> {
    let is_nil = |value: &Value| value.is_nil() || matches!(value, Value::Map(_, None));
    if a.kind() != b.kind() && !a.is_nil() && !b.is_nil() {
        return Err(EvalError::new("incompatible types for comparison"));
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) == is_nil(b));
    }
    if matches!(b, Value::List(..) | Value::Map(..)) {
        return Err(EvalError::new("non-comparable type"));
    }
    interp.deep_equal(a, b)
}

fn compare(args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, EvalError> {
    let (a, b) = (&args[0], &args[1]);
    let ordering = match (a, b) {
        (a, b) if is_integer(basic(a)) && is_integer(basic(b)) => Some(as_i128(a).cmp(&as_i128(b))),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (a, b) if basic(a) == Basic::Str && basic(b) == Basic::Str => Some(a.as_str().cmp(b.as_str())),
        _ => return Err(EvalError::new("invalid or incompatible types for comparison")),
    };
    Ok(Value::Bool(ordering.is_some_and(holds)))
}

fn int(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn len(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    match &args[0] {
        Value::Str(text) | Value::Named(_, text) => Ok(int(text.len())),
        Value::List(_, at) => Ok(int(interp.heap.list(*at).len())),
        Value::Map(_, at) => Ok(int(interp.heap.map(*at).len())),
        Value::Missing | Value::Nil => Err(EvalError::new("len of nil pointer")),
        other => Err(EvalError::new(format!("len of type {}", type_name(&interp.heap, other)))),
    }
}

fn index(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let mut item = args[0].clone();
    if item.is_nil() {
        return Err(EvalError::new("index of untyped nil"));
    }
    for index in &args[1..] {
        item = match &item {
            Value::List(_, at) => {
                let list = interp.heap.list(*at);
                list[position(index, list.len())?].clone()
            }
            Value::Str(text) | Value::Named(_, text) => {
                Value::Byte(text.as_bytes()[position(index, text.len())?])
            }
            Value::Map(kind, at) => {
                let key = match (index, kind) {
                    (Value::Str(text), _) => text.to_string(),
                    (Value::Missing | Value::Nil, _) => {
                        return Err(EvalError::new("value is nil; should be string"));
                    }
                    (key, MapKind::AnyKeys) => interp.display(key)?,
                    _ => return Err(EvalError::new("value has wrong type; should be string")),
                };
                let found = interp.heap.map(*at).get(&key).cloned();
                found.unwrap_or_else(|| zero(interp, *kind))
            }
            Value::Missing | Value::Nil => return Err(EvalError::new("index of untyped nil")),
            other => {
                let name = type_name(&interp.heap, other);
                return Err(EvalError::new(format!("can't index item of type {name}")));
            }
        };
    }
    Ok(item)
}

fn position(index: &Value, length: usize) -> Result<usize, EvalError> {
    if !is_integer(basic(index)) {
        return Err(EvalError::new("cannot index slice/array with a value that is not an integer"));
    }
    let at = usize::try_from(as_i128(index)).ok().filter(|at| *at < length);
    at.ok_or(EvalError::new("index out of range"))
}

/// Zero value of a map's elements: the result for a missing key.
fn zero(interp: &mut Interpreter, kind: MapKind) -> Value {
    match kind {
        MapKind::Any | MapKind::AnyKeys => Value::Nil,
        MapKind::Str => Value::string(""),
        MapKind::Typed(map) => (map.zero)(&mut interp.heap),
    }
}
