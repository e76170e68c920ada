//! Hints: how to fix a diagnostic.
//!
//! Users come from Kubernetes and Docker Compose; a hint names the Score field for what they meant, not only the most
//! similar name.

mod equivalents;
mod fields;
mod flow;
mod foreign_fields;
mod short_forms;

pub(super) use equivalents::{header_of, ports};
pub(super) use fields::{is_known_elsewhere, is_meant_as, similar_field, unknown_field};
pub(super) use flow::flow;
pub(super) use short_forms::{missing_dash_space, with_level};

use crate::{
    grammar::{CONTAINER, Field, Object, Shape, TextRule},
    node::{Node, Value},
    placeholder,
    suggest::is_similar,
};

/// "`a`, `b` or `c`".
pub(super) fn alternatives(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// "`a`, `b` and `c`".
pub(super) fn all(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Example lines of some fields of an object.
pub(super) fn examples(object: &Object, names: &[&str]) -> String {
    let lines: Vec<_> =
        names.iter().filter_map(|name| object.field(name)).map(|field| field.example).collect();
    alternatives(&lines)
}

/// Type name of a shape for messages: "expected string, found number".
pub(super) fn shape_type(shape: Shape) -> &'static str {
    match shape {
        Shape::Object(_) | Shape::Map(_) | Shape::FreeMap | Shape::MapOrList(..) => "map",
        Shape::List(_) => "list",
        Shape::Text(_) | Shape::Enum(_) => "string",
        Shape::Integer(..) => "integer",
        Shape::Boolean => "boolean",
    }
}

/// Hint for an invalid type. `written` is the value as written in the source.
pub(super) fn mismatch(
    shape: Shape,
    node: &Node,
    written: Option<&str>,
    name: &str,
    field: Option<&'static Field>,
) -> String {
    let example = example(shape, name, field);
    // As written: 0644 is not 420, and 1.10 is not 1.1.
    let written = written.map_or_else(|| placeholder::to_text(&node.to_json()), str::to_owned);
    match (shape, &node.value) {
        (_, Value::Null) if name == "image" => {
            "write the image, or `image: .` to set it at deployment with `--image`".to_owned()
        }
        (_, Value::Null) if field.is_some_and(|field| field.required) => format!("write `{example}`"),
        (_, Value::Null) if name.is_empty() => "add a value, or remove the item".to_owned(),
        (Shape::Text(rule), Value::Null) if rule.accepts("") => {
            format!("write `{name}: \"\"` for an empty string, or remove the key")
        }
        (_, Value::Null) => format!("add a value, such as `{example}`, or remove the key"),
        (Shape::Text(rule), Value::Number(_)) if !rule.accepts(&written) => match rule.suggestion(&written) {
            Some(suggestion) => format!("write \"{suggestion}\""),
            None => form(rule, &written),
        },
        (Shape::Text(_) | Shape::Enum(_), Value::Number(_) | Value::Bool(_) | Value::Timestamp(_)) => {
            let unit = if name == "memory" { ", with a unit such as Mi unless you mean bytes" } else { "" };
            format!("quote the value: \"{written}\"{unit}")
        }
        (Shape::Text(_), Value::List(_)) if name == "content" => {
            "write the lines as a block string, after `content: |`".to_owned()
        }
        (Shape::Text(_), Value::Map(map)) if name == "image" && map.contains_key("repository") => {
            "write a single string: `image: REPOSITORY:TAG`".to_owned()
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) if name == "image" => format!("write `{example}`"),
        (Shape::Text(rule), Value::List(list)) if only_text(list).is_some_and(|text| rule.accepts(text)) => {
            format!("write `{name}: {}`", only_text(list).unwrap_or_default())
        }
        (Shape::Text(_), Value::Map(map)) if map.keys().any(|key| is_secret_reference(key)) => {
            SECRET_RESOURCE.to_owned()
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) if CONTAINER.field(name).is_some() => {
            format!("check the indentation: `{name}` is a field of the container")
        }
        (Shape::Text(_), Value::Map(_)) if name.is_empty() && !written.trim_end().contains(['\n', '\'']) => {
            format!("quote the item: '{}'", written.trim_end())
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) => {
            "write a string; for structured data use a JSON string in quotes, or a block string after `|`"
                .to_owned()
        }
        (Shape::Integer(min, max), Value::String(text)) => short_forms::port(text, min, max),
        (Shape::Boolean, Value::String(text)) => {
            let quotes = if written.starts_with(['"', '\'']) { " without quotes" } else { "" };
            match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => format!("write `true`{quotes}"),
                "false" | "no" | "off" => format!("write `false`{quotes}"),
                _ => "write `true` or `false`".to_owned(),
            }
        }
        (Shape::List(_), Value::String(text)) => short_forms::arguments(name, text),
        (Shape::List(_), Value::Map(_))
            if name == "httpHeaders"
                && let Some(headers) = equivalents::headers(node) =>
        {
            format!("use a list: `httpHeaders: {headers}`")
        }
        (Shape::Object(object), Value::List(_))
            if let Some(fields) = short_forms::only_list(object, node) =>
        {
            format!("write `{name}: {fields}`")
        }
        (Shape::Map(map) | Shape::MapOrList(map, _), Value::List(list)) => {
            short_forms::map(map, name, list, &example)
        }
        (Shape::Map(map), Value::String(text)) => {
            short_forms::missing_space(text, |key| map.keys.accepts(key))
                .or_else(|| short_forms::assignments(map, name, text))
                .unwrap_or_else(|| format!("write `{example}`"))
        }
        (Shape::Object(object), Value::String(text)) => short_forms::object(object, name, text, &example),
        (Shape::Object(object), Value::Number(_)) => short_forms::object(object, name, &written, &example),
        _ => format!("write `{example}`"),
    }
}

/// Hint for a value that has no similar valid one.
pub(super) fn form(rule: &TextRule, written: &str) -> String {
    let is_zero = written.contains('0') && written.chars().all(|c| matches!(c, '0' | '.'));
    if is_zero && rule.noun == "memory quantity" {
        return "it must be greater than 0, such as \"512Mi\"".to_owned();
    }
    format!("it must be {}", rule.form)
}

/// Hint for secrets in the syntax of another tool.
pub(crate) const SECRET_RESOURCE: &str =
    "declare a resource of type `secret`, and write a placeholder such as `${resources.my-secret.key}`";

/// True for a key or tag that refers to a secret elsewhere.
pub(crate) fn is_secret_reference(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["secret", "vault", "valuefrom"].iter().any(|word| name.contains(word))
}

/// The text of a list with one item.
fn only_text(list: &[Node]) -> Option<&str> {
    match list {
        [only] => only.as_str(),
        _ => None,
    }
}

pub(super) const COMPUTE_IN_CONTAINER: &str =
    "cpu and memory belong to a container: `containers: {main: {resources: {limits: {cpu: 500m}}}}`";

/// Example line for a shape.
fn example(shape: Shape, name: &str, field: Option<&'static Field>) -> String {
    if let Some(field) = field {
        return field.example.to_owned();
    }
    let inner = match shape {
        Shape::Object(object) => {
            let first = object.fields.iter().find(|field| {
                field.required || object.choice.is_some_and(|choice| choice.of.contains(&field.name))
            });
            first.map_or_else(|| "{…}".to_owned(), |field| format!("{{{}}}", field.example))
        }
        Shape::Map(_) | Shape::FreeMap | Shape::MapOrList(..) => "{…}".to_owned(),
        Shape::List(_) => "[…]".to_owned(),
        Shape::Text(_) => "text".to_owned(),
        Shape::Enum(allowed) => allowed.first().copied().unwrap_or_default().to_owned(),
        Shape::Integer(min, _) => min.to_string(),
        Shape::Boolean => "true".to_owned(),
    };
    if name.is_empty() { inner } else { format!("{name}: {inner}") }
}

/// Hint for a value that is not allowed.
pub(super) fn allowed_value(name: &str, value: &str, allowed: &[&str]) -> String {
    if name == "apiVersion" && !value.contains("score") && value != "v1b1" {
        return "this looks like a manifest of another tool, such as Kubernetes; a Score file has `apiVersion: score.dev/v1b1`".to_owned();
    }
    let similar = allowed
        .iter()
        .find(|allowed| allowed.eq_ignore_ascii_case(value.trim()))
        .or_else(|| allowed.iter().find(|allowed| is_similar(value, allowed)))
        // `service_healthy` of Docker Compose.
        .or_else(|| allowed.iter().find(|allowed| allowed.len() > 4 && value.contains(**allowed)));
    match (similar, allowed) {
        (Some(only), _) | (None, [only]) => format!("write `{name}: {only}`"),
        (None, _) => format!("write {}", alternatives(allowed)),
    }
}
