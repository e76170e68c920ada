//! Reader of values of a known shape, which reports all faults at once.
//!
//! Unreadable values are left out of the result, or replaced by an empty one where a value is required, so the rest can
//! still be checked. Every empty name in a result has been reported.

use orchestra_score::{
    Node, Pointer,
    node::{Entry, Value},
};
use serde_json::{Map, Value as Json};

use super::{fault::Faults, name_rules};
use crate::range::Measure;

/// Shape of a value.
pub(crate) enum Shape {
    /// A map with known fields.
    Object(&'static [Field]),
    /// A map with exactly one of these fields.
    OneOf(&'static [Field]),
    /// A map whose keys the author chooses.
    Map(&'static Self),
    /// A list.
    List(&'static Self),
    /// Text.
    Text,
    /// Text that is not empty.
    Name,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A whole number, ends included.
    Integer(i64, i64),
    /// `true` or `false`.
    Boolean,
    /// Text or a number, read as text: `2` and `-8` are numbers to YAML.
    Amount,
    /// One amount, also written as a number, read as text.
    Quantity(Measure),
    /// Anything.
    Anything,
    /// A map with anything in it.
    FreeMap,
}

/// A known field.
pub(crate) struct Field {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
}

/// A field that may be absent.
pub(crate) const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

/// A required field.
pub(crate) const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

/// Reads a value. `None` if it cannot be read, which is then among the faults.
pub(super) fn read(node: &Node, shape: &Shape, at: &Pointer, faults: &mut Faults) -> Option<Json> {
    let fault = match (shape, &node.value) {
        (Shape::Object(fields), Value::Map(_)) => return Some(read_object(node, fields, at, faults)),
        (Shape::OneOf(fields), Value::Map(_)) => return read_one_of(node, fields, at, faults),
        (Shape::Map(values), Value::Map(map)) => {
            let mut value = |(key, entry): (&String, &Entry)| {
                Some((key.clone(), read(&entry.node, values, &at.key(key), faults)?))
            };
            return Some(Json::Object(map.iter().filter_map(&mut value).collect()));
        }
        (Shape::List(items), Value::List(list)) => {
            // Every item keeps its index.
            let item = |(index, item): (usize, &Node)| {
                read(item, items, &at.index(index), faults).unwrap_or_else(|| empty(items))
            };
            return Some(list.iter().enumerate().map(item).collect());
        }
        (Shape::FreeMap, Value::Map(_)) | (Shape::Anything, _) => return Some(node.to_json()),
        (Shape::Boolean, Value::Bool(flag)) => return Some(Json::Bool(*flag)),
        (Shape::Amount, Value::Number(number)) => return Some(Json::String(number.to_string())),
        (Shape::Quantity(measure), Value::Number(_) | Value::String(_)) => {
            let text = match &node.value {
                Value::String(text) => text.clone(),
                _ => node.to_json().to_string(),
            };
            match measure.read(&text) {
                Ok(_) => return Some(Json::String(text)),
                Err(error) => {
                    let example = match measure {
                        Measure::Cpu => "write cores such as `0.5` or `2`, or thousandths such as `250m`",
                        Measure::Memory => "write an amount such as `512Mi` or `1.5Gi`",
                    };
                    (format!("{text:?} is not a valid amount of {measure}: {error}"), example.to_owned())
                }
            }
        }
        (Shape::Integer(least, most), Value::Number(_)) => {
            match node.as_integer().filter(|number| (least..=most).contains(&number)) {
                Some(number) => return Some(Json::from(number)),
                None => out_of_range(*least, *most, at),
            }
        }
        (Shape::Name, Value::String(text)) if text.trim().is_empty() => {
            (format!("`{}` is empty", at.dotted()), "write something, or remove it".to_owned())
        }
        (Shape::Word(words), Value::String(text)) if !words.contains(&text.as_str()) => {
            let hint = name_rules::did_you_mean(text, words.iter().copied())
                .unwrap_or_else(|| format!("write {}", name_rules::alternatives(words)));
            (format!("{text:?} is not a valid value of `{}`", at.dotted()), hint)
        }
        (Shape::Text | Shape::Name | Shape::Word(_) | Shape::Amount, Value::String(text)) => {
            return Some(Json::String(text.clone()));
        }
        _ => wrong_type(node, shape, at),
    };
    faults.add(at.clone(), fault.0, fault.1);
    None
}

fn out_of_range(least: i64, most: i64, at: &Pointer) -> (String, String) {
    let hint = match (least, most) {
        (i64::MIN, i64::MAX) => "write a whole number".to_owned(),
        _ => format!("write a whole number from {least} to {most}"),
    };
    (format!("`{}` is out of range", at.dotted()), hint)
}

fn read_object(node: &Node, fields: &[Field], at: &Pointer, faults: &mut Faults) -> Json {
    refuse_unknown(node, fields, at, faults);
    let mut object = Map::new();
    for field in fields {
        // A key without a value counts as absent.
        let value = node.get(field.name).filter(|value| !matches!(value.value, Value::Null));
        let place = at.key(field.name);
        let read = value.and_then(|value| read(value, &field.shape, &place, faults));
        if value.is_none() && field.required {
            faults.add(
                place,
                format!("`{}` is missing in {}", field.name, at.dotted()),
                format!("add `{}: …`", field.name),
            );
        }
        if let Some(read) = read.or_else(|| field.required.then(|| empty(&field.shape))) {
            object.insert(field.name.to_owned(), read);
        }
    }
    Json::Object(object)
}

fn read_one_of(node: &Node, fields: &[Field], at: &Pointer, faults: &mut Faults) -> Option<Json> {
    refuse_unknown(node, fields, at, faults);
    let is_given = |field: &&Field| node.get(field.name).is_some_and(|v| !matches!(v.value, Value::Null));
    let given: Vec<&Field> = fields.iter().filter(is_given).collect();
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    if let [field] = given[..] {
        let read = read(node.get(field.name)?, &field.shape, &at.key(field.name), faults)?;
        return Some(Json::Object(Map::from_iter([(field.name.to_owned(), read)])));
    }
    let count = if given.is_empty() { "none" } else { "more than one" };
    faults.add(
        at.clone(),
        format!("`{}` has {count} of {}", at.dotted(), name_rules::all(&names)),
        format!("write exactly one of {}", name_rules::all(&names)),
    );
    None
}

fn refuse_unknown(node: &Node, fields: &[Field], at: &Pointer, faults: &mut Faults) {
    for key in node.as_map().into_iter().flat_map(|map| map.keys()) {
        let names = || fields.iter().map(|field| field.name);
        if names().all(|name| name != key) {
            let hint = name_rules::did_you_mean(key, names()).unwrap_or_else(|| {
                format!("remove it; known fields: {}", name_rules::all(&names().collect::<Vec<_>>()))
            });
            faults.add(at.key(key), format!("unknown field `{key}` in {}", at.dotted()), hint);
        }
    }
}

fn wrong_type(node: &Node, shape: &Shape, at: &Pointer) -> (String, String) {
    let wanted = match shape {
        Shape::Object(_) | Shape::OneOf(_) | Shape::Map(_) | Shape::FreeMap => "a map",
        Shape::List(_) => "a list",
        Shape::Text | Shape::Name | Shape::Word(_) | Shape::Anything => "text",
        Shape::Integer(..) => "a whole number",
        Shape::Boolean => "true or false",
        Shape::Amount => "an amount or a range such as 0-8",
        Shape::Quantity(_) => "an amount",
    };
    let is_scalar = matches!(node.value, Value::Number(_) | Value::Bool(_) | Value::Timestamp(_));
    let hint = match shape {
        Shape::Text | Shape::Name if is_scalar => "put it in quotes".to_owned(),
        Shape::Word(words) => format!("write {}", name_rules::alternatives(words)),
        _ => format!("write {wanted}"),
    };
    (format!("`{}` must be {wanted}, found {}", at.dotted(), node.type_name()), hint)
}

/// Replacement of a required value that could not be read.
fn empty(shape: &Shape) -> Json {
    match shape {
        Shape::Object(fields) => {
            let required = fields.iter().filter(|field| field.required);
            Json::Object(required.map(|field| (field.name.to_owned(), empty(&field.shape))).collect())
        }
        Shape::OneOf(_) | Shape::Map(_) | Shape::FreeMap => Json::Object(Map::new()),
        Shape::List(_) => Json::Array(Vec::new()),
        Shape::Text | Shape::Name | Shape::Word(_) | Shape::Amount | Shape::Quantity(_) => {
            Json::String(String::new())
        }
        Shape::Integer(..) => Json::from(0),
        Shape::Boolean => Json::Bool(false),
        Shape::Anything => Json::Null,
    }
}
