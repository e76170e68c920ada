//! The functions of Go's templates themselves, and those that say something of values.

use std::cmp::Ordering;

use super::{
    fault::Wrong,
    format::type_name,
    functions::{
        Function,
        Parameter::{Any, Bool, Raw, Text},
    },
    json::Style,
    machine::Machine,
    text::escape,
    value::{Field, ListKind, MapKind, Value},
};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::deciding("and", false),
    Function::deciding("or", true),
    Function::fixed("not", &[Raw], |machine, args| Ok(Value::Bool(!machine.truth(&args[0])))),
    Function::variadic("eq", &[Raw, Raw], |machine, args| eq(machine, args).map(Value::Bool)),
    Function::fixed("ne", &[Raw, Raw], |machine, args| eq(machine, args).map(|equal| Value::Bool(!equal))),
    Function::fixed("lt", &[Raw, Raw], |_, args| order(args, Ordering::is_lt)),
    Function::fixed("le", &[Raw, Raw], |_, args| order(args, Ordering::is_le)),
    Function::fixed("gt", &[Raw, Raw], |_, args| order(args, Ordering::is_gt)),
    Function::fixed("ge", &[Raw, Raw], |_, args| order(args, Ordering::is_ge)),
    Function::fixed("len", &[Raw], len),
    Function::variadic("index", &[Raw, Raw], index),
    Function::variadic("call", &[Raw, Raw], |_, _| Err(Wrong::new("there is nothing that can be called"))),
    Function::variadic("print", &[Any], |machine, args| machine.sprint(args).map(Value::text)),
    Function::variadic("println", &[Any], |machine, args| {
        let texts: Vec<String> = args.iter().map(|arg| machine.display(arg)).collect::<Result<_, _>>()?;
        machine.text(texts.join(" ") + "\n")
    }),
    Function::variadic("printf", &[Text, Any], |machine, args| {
        machine.sprintf(args[0].as_text(), &args[1..]).map(Value::text)
    }),
    Function::variadic("html", &[Any], |machine, args| escaped(machine, args, escape::html)),
    Function::variadic("js", &[Any], |machine, args| escaped(machine, args, escape::js)),
    Function::variadic("urlquery", &[Any], |machine, args| escaped(machine, args, escape::query)),
    Function::variadic("default", &[Any, Any], |machine, args| {
        let given = args.get(1).filter(|given| !empty(machine, given));
        Ok(given.unwrap_or(&args[0]).clone())
    }),
    Function::fixed("empty", &[Any], |machine, args| Ok(Value::Bool(empty(machine, &args[0])))),
    Function::variadic("coalesce", &[Any], |machine, args| {
        Ok(args.iter().find(|arg| !empty(machine, arg)).cloned().unwrap_or(Value::Nil))
    }),
    Function::fixed("ternary", &[Any, Any, Bool], |machine, args| {
        Ok(args[usize::from(!machine.truth(&args[2]))].clone())
    }),
    Function::fixed("fail", &[Text], |_, args| Err(Wrong::Failed(args[0].as_text().to_owned()))),
    Function::fixed("kindOf", &[Any], |_, args| Ok(Value::text(args[0].kind()))),
    Function::fixed("kindIs", &[Text, Any], |_, args| Ok(Value::Bool(args[0].as_text() == args[1].kind()))),
    Function::fixed("typeOf", &[Any], |machine, args| {
        let name = if args[0].is_nil() { "<nil>".to_owned() } else { type_name(&machine.heap, &args[0]) };
        Ok(Value::text(name))
    }),
    Function::fixed("toJson", &[Any], |machine, args| to_json(machine, &args[0], true, false)),
    Function::fixed("toRawJson", &[Any], |machine, args| to_json(machine, &args[0], false, false)),
    Function::fixed("toPrettyJson", &[Any], |machine, args| to_json(machine, &args[0], true, true)),
    Function::fixed("fromJson", &[Text], from_json),
];

fn to_json(machine: &mut Machine, value: &Value, for_html: bool, pretty: bool) -> Result<Value, Wrong> {
    let text = machine.json_text(value, Style { for_html, pretty })?;
    match text {
        Some(text) => Ok(Value::text(text)),
        None if !for_html => Err(Wrong::new("the value cannot be written as JSON")),
        None => Ok(Value::text("")),
    }
}

fn from_json(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let text = args[0].as_text();
    machine.budget.spend(text.len().saturating_mul(super::fault::STEP / 4))?;
    let Ok(json) = serde_json::from_str(text) else { return Ok(Value::Nil) };
    let value = machine.heap.json(&json);
    Ok(as_floats(machine, &value, 0))
}

/// Go reads every number of JSON as a float.
fn as_floats(machine: &mut Machine, value: &Value, depth: usize) -> Value {
    if depth > super::value::DEPTH {
        return Value::Nil;
    }
    match value {
        #[expect(clippy::cast_precision_loss, reason = "Go loses the same")]
        Value::Int(int) => Value::Float(*int as f64),
        #[expect(clippy::cast_precision_loss, reason = "Go loses the same")]
        Value::Uint(int) => Value::Float(*int as f64),
        Value::List(_, at) => {
            let items = machine.heap.list(*at);
            let items = items.iter().map(|item| as_floats(machine, item, depth + 1)).collect();
            machine.heap.new_list(ListKind::Any, items)
        }
        Value::Map(_, at) => {
            let entries = machine.heap.map(*at).clone();
            let entries =
                entries.into_iter().map(|(key, item)| (key, as_floats(machine, &item, depth + 1))).collect();
            machine.heap.new_map(MapKind::Any, entries)
        }
        other => other.clone(),
    }
}

/// Whether sprig takes a value for empty: like [`Machine::truth`], but a record is never.
pub(super) fn empty(machine: &Machine, value: &Value) -> bool {
    !machine.truth(value)
}

fn escaped(machine: &mut Machine, args: &[Value], escape: fn(&str) -> String) -> Result<Value, Wrong> {
    let text = machine.sprint(args)?;
    machine.text(escape(&text))
}

/// The kinds that can be compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Int,
    Uint,
    Float,
    Text,
    Other,
}

fn basic(value: &Value) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(_) | Value::Int64(_) => Basic::Int,
        Value::Uint(_) | Value::Byte(_) => Basic::Uint,
        Value::Float(_) => Basic::Float,
        Value::Text(_) | Value::Protocol(_) => Basic::Text,
        _ => Basic::Other,
    }
}

fn whole(value: &Value) -> i128 {
    match value {
        Value::Int(int) | Value::Int64(int) => i128::from(*int),
        Value::Uint(int) => i128::from(*int),
        Value::Byte(byte) => i128::from(*byte),
        _ => 0,
    }
}

fn is_whole(kind: Basic) -> bool {
    matches!(kind, Basic::Int | Basic::Uint)
}

fn eq(machine: &mut Machine, args: &[Value]) -> Result<bool, Wrong> {
    let first = &args[0];
    if args.len() < 2 {
        return Err(Wrong::new("missing argument for comparison"));
    }
    for other in &args[1..] {
        let (a, b) = (basic(first), basic(other));
        let equal = if is_whole(a) && is_whole(b) {
            whole(first) == whole(other)
        } else if a != b {
            if !first.is_nil() && !other.is_nil() {
                return Err(Wrong::new("incompatible types for comparison"));
            }
            false
        } else if a == Basic::Other {
            same_other(machine, first, other)?
        } else if a == Basic::Text {
            first.as_text() == other.as_text()
        } else {
            machine.same(first, other)?
        };
        if equal {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Values that are no scalars: nil equals nil, records and times can be compared, lists and maps cannot.
fn same_other(machine: &mut Machine, a: &Value, b: &Value) -> Result<bool, Wrong> {
    let is_nil = |value: &Value| value.is_nil() || matches!(value, Value::Map(_, None));
    if a.kind() != b.kind() && !a.is_nil() && !b.is_nil() {
        return Err(Wrong::new("incompatible types for comparison"));
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) == is_nil(b));
    }
    if matches!(b, Value::List(..) | Value::Map(..)) {
        return Err(Wrong::new("a list or map cannot be compared"));
    }
    machine.same(a, b)
}

fn order(args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, Wrong> {
    let (a, b) = (&args[0], &args[1]);
    let ordering = match (a, b) {
        (a, b) if is_whole(basic(a)) && is_whole(basic(b)) => Some(whole(a).cmp(&whole(b))),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (a, b) if basic(a) == Basic::Text && basic(b) == Basic::Text => Some(a.as_text().cmp(b.as_text())),
        _ => return Err(Wrong::new("these types have no order, or not the same")),
    };
    Ok(Value::Bool(ordering.is_some_and(holds)))
}

fn int(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn len(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    match &args[0] {
        Value::Text(text) | Value::Protocol(text) => Ok(int(text.len())),
        Value::List(_, at) => Ok(int(machine.heap.list(*at).len())),
        Value::Map(_, at) => Ok(int(machine.heap.map(*at).len())),
        Value::Missing | Value::Nil => Err(Wrong::new("nothing has no length")),
        other => {
            Err(Wrong::new(format!("a value of type {} has no length", type_name(&machine.heap, other))))
        }
    }
}

fn index(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let mut item = args[0].clone();
    if item.is_nil() {
        return Err(Wrong::new("nothing cannot be indexed"));
    }
    for index in &args[1..] {
        item = match &item {
            Value::List(_, at) => {
                let list = machine.heap.list(*at);
                list[position(index, list.len())?].clone()
            }
            Value::Text(text) | Value::Protocol(text) => {
                Value::Byte(text.as_bytes()[position(index, text.len())?])
            }
            Value::Map(kind, at) => {
                let key = match (index, kind) {
                    (Value::Text(text), _) => text.to_string(),
                    (Value::Missing | Value::Nil, _) => return Err(Wrong::new("the key is nothing")),
                    (key, MapKind::AnyKeys) => machine.display(key)?,
                    _ => return Err(Wrong::new("the key of a map is text")),
                };
                let found = machine.heap.map(*at).get(&key).cloned();
                found.unwrap_or_else(|| zero(machine, *kind))
            }
            Value::Missing | Value::Nil => return Err(Wrong::new("nothing cannot be indexed")),
            other => {
                let name = type_name(&machine.heap, other);
                return Err(Wrong::new(format!("a value of type {name} cannot be indexed")));
            }
        };
    }
    Ok(item)
}

fn position(index: &Value, length: usize) -> Result<usize, Wrong> {
    if !is_whole(basic(index)) {
        return Err(Wrong::new("the index of a list is an integer"));
    }
    let at = usize::try_from(whole(index)).ok().filter(|at| *at < length);
    at.ok_or(Wrong::new("the index is outside of the list"))
}

/// What a map gives for a key that it does not have.
fn zero(machine: &mut Machine, kind: MapKind) -> Value {
    match kind {
        MapKind::Any | MapKind::AnyKeys => Value::Nil,
        MapKind::Text => Value::text(""),
        MapKind::Services => {
            let ports = Value::Map(MapKind::Ports, None);
            service_record(machine, Value::text(""), ports)
        }
        MapKind::Ports => port_record(machine, "", 0, 0, ""),
    }
}

/// The service of a workload, as templates see it.
pub(in crate::template) fn service_record(machine: &mut Machine, name: Value, ports: Value) -> Value {
    let fields = vec![
        Field { name: "ServiceName", json: "ServiceName", value: name },
        Field { name: "Ports", json: "ports", value: ports },
    ];
    machine.heap.new_record("provisioners.NetworkService", fields)
}

/// A port of a service, as templates see it.
pub(in crate::template) fn port_record(
    machine: &mut Machine,
    name: &str,
    port: i64,
    target: i64,
    protocol: &str,
) -> Value {
    let fields = vec![
        Field { name: "Name", json: "name", value: Value::text(name) },
        Field { name: "Port", json: "port", value: Value::Int(port) },
        Field { name: "TargetPort", json: "target_port", value: Value::Int(target) },
        Field { name: "Protocol", json: "protocol", value: Value::Protocol(protocol.into()) },
    ];
    machine.heap.new_record("provisioners.ServicePort", fields)
}
