//! Values in flow style, for lines to copy.

use crate::{
    node::{Entry, Node, Value},
    placeholder,
    yaml::is_text,
};

/// True for text that needs no quotes in a flow map.
pub(super) fn is_plain(text: &str) -> bool {
    text.len() < 60
        && !text.is_empty()
        && !text.contains(['$', '{', '}', '[', ']', ',', '#', '"', '\'', '\n'])
        && !text.contains(": ")
}

/// Text in flow style, in quotes if it needs them; none if it is long.
pub(super) fn flow_text(text: &str) -> Option<String> {
    const SPECIAL: [char; 12] = ['@', '`', '&', '*', '!', '|', '>', '%', '-', '?', ':', ' '];
    if is_plain(text) && is_text(text) && !text.starts_with(SPECIAL) && !text.ends_with([':', ' ']) {
        return Some(text.to_owned());
    }
    (text.len() < 60 && !text.contains(['"', '\\', '\n'])).then(|| format!("\"{text}\""))
}

/// Text of a scalar, as written in a string.
pub(super) fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Null | Value::Map(_) | Value::List(_) => None,
        Value::String(text) | Value::Timestamp(text) => Some(text.clone()),
        _ => Some(placeholder::to_text(&node.to_json())),
    }
}

/// Short value in flow style; none if it is long.
pub(in crate::validate) fn flow(node: &Node) -> Option<String> {
    const MAX_LENGTH: usize = 80;
    let text = match &node.value {
        Value::String(text) => flow_text(text)?,
        Value::Map(map) if map.len() <= 4 => {
            let entry = |(key, entry): (&String, &Entry)| {
                Some(format!("{}: {}", flow_text(key)?, flow(&entry.node)?))
            };
            let entries: Option<Vec<String>> = map.iter().map(entry).collect();
            format!("{{{}}}", entries?.join(", "))
        }
        Value::List(list) if list.len() <= 4 => {
            let items: Option<Vec<String>> = list.iter().map(flow).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Map(_) | Value::List(_) => return None,
        _ => node.to_json().to_string(),
    };
    Some(text).filter(|text| text.len() <= MAX_LENGTH)
}

/// Short value of a field that is a string, in flow style.
pub(in crate::validate) fn flow_string(node: &Node) -> Option<String> {
    match &node.value {
        Value::Number(_) | Value::Bool(_) => Some(format!("\"{}\"", text_of(node)?)),
        _ => flow(node),
    }
}
