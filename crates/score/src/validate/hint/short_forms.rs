//! Hints for values in the short form of another tool: `web: 80`, `db: postgres`, `./data:/data`.

use super::{
    alternatives,
    equivalents::{entries, named_port, variable},
    example,
    flow::{flow, flow_string, is_plain, text_of},
};
use crate::{
    grammar::{Field, MapOf, Object, Shape},
    node::{Map, Node, Value},
    validate::placeholder_hint::likely_type,
};

/// Hint for a scalar instead of an object; `name` is empty in a list.
pub(super) fn object(object: &Object, name: &str, written: &str, example: &str) -> String {
    let line = |fields: &str| {
        if name.is_empty() { format!("{{{fields}}}") } else { format!("{name}: {{{fields}}}") }
    };
    if let Some(hint) = missing_space(written, |key| object.field(key).is_some()) {
        return hint;
    }
    if let Some(fields) = (object.short_form)(written) {
        return format!("write `{}`", line(&fields));
    }
    if object.noun == "a service port" && written.parse::<u16>().is_err() {
        return format!("write `{name}: {{port: 80}}`; {}", port(written, 1, 65535));
    }
    if name.is_empty() && object.field("target").is_some() {
        let target = written.rsplit(':').next().filter(|target| target.starts_with('/'));
        let target = target.unwrap_or("/path/in/container");
        let declare = if object.noun == "a volume" { VOLUME_RESOURCE } else { "" };
        return format!("use the map form, with the path as the key: `{target}: {example}`{declare}");
    }
    if object.noun == "a volume" && !written.contains("${") {
        return format!("write `{}`{VOLUME_RESOURCE}", line("source: \"${resources.data}\""));
    }
    let first = object.fields.iter().find(|field| {
        field.required
            || object.choice.is_some_and(|choice| choice.exclusive && choice.of.contains(&field.name))
    });
    let is_meant = |shape| match shape {
        Shape::Text(_) | Shape::Integer(..) => is_plain(written),
        Shape::Enum(allowed) => allowed.contains(&written),
        _ => false,
    };
    match first {
        Some(field) if is_meant(field.shape) => {
            format!("write `{}`", line(&format!("{}: {written}", field.name)))
        }
        _ => format!("write `{example}`"),
    }
}

/// Declaration of the volume that a hint mounts.
const VOLUME_RESOURCE: &str = ", and declare `resources: {data: {type: volume}}`";

/// Hint for `image:nginx`, which is a string in YAML.
pub(super) fn missing_space(written: &str, is_key: impl Fn(&str) -> bool) -> Option<String> {
    let (key, value) = written.split_once(':')?;
    let value = value.split_whitespace().next().filter(|_| !value.starts_with(char::is_whitespace))?;
    is_key(key).then(|| format!("missing space after `:`; write `{key}: {value}`"))
}

/// Hint for a list instead of a map.
pub(super) fn map(map: &'static MapOf, name: &str, list: &[Node], example_line: &str) -> String {
    if let Some(found) = list_entries(map, list) {
        return format!("use a map instead of a list: `{name}: {{{}}}`", entries(&found));
    }
    let names: Vec<_> = list.iter().filter_map(|item| item.get("name")?.as_str()).take(8).collect();
    if names.is_empty() {
        return format!("use a map instead of a list, such as `{example_line}`");
    }
    format!(
        "use a map instead of a list, with each name ({}) as the key, such as `{example_line}`",
        alternatives(&names)
    )
}

/// Entries of a map for the items of a list; none if an item cannot be converted.
pub(super) fn list_entries(map: &'static MapOf, list: &[Node]) -> Option<Vec<String>> {
    const MAX_ITEMS: usize = 8;
    let items = list.iter().take(MAX_ITEMS).enumerate();
    let found: Option<Vec<String>> = items.map(|(index, item)| entry(map, index, item)).collect();
    found.filter(|found| !found.is_empty())
}

/// Entry of a map for an item of a list: `A=b`, a name alone, or a map with a name.
fn entry(map: &'static MapOf, index: usize, item: &Node) -> Option<String> {
    let is_key = |key: &str| map.keys.pattern.is_some() && map.keys.accepts(key) && is_plain(key);
    match (map.values, &item.value) {
        (Shape::Text(_), Value::String(text)) => {
            let (key, value) = text.split_once('=')?;
            is_key(key).then(|| variable(key, value))?
        }
        (Shape::Text(_), Value::Map(fields)) => {
            let (name, value) = match (fields.get("name"), fields.get("value"), fields.first()) {
                (Some(name), Some(value), _) => (name.node.as_str()?, &value.node),
                (None, _, Some((name, value))) if fields.len() == 1 => (name.as_str(), &value.node),
                _ => return None,
            };
            is_key(name).then(|| variable(name, &text_of(value)?))?
        }
        (Shape::Object(object), _) if object.noun == "a service port" => named_port(index, item),
        (Shape::Object(object), Value::String(name)) if object.noun == "a resource" => {
            let type_ = Some(likely_type(name)).filter(|type_| *type_ != "…").unwrap_or(name);
            is_key(name).then(|| format!("{name}: {{type: {type_}}}"))
        }
        (Shape::Object(_), Value::String(name)) => is_key(name).then(|| example(map.values, name, None)),
        (Shape::Object(object), Value::Map(fields)) => {
            let name = fields.get("name")?.node.as_str().filter(|name| is_key(name))?;
            // In the order of the grammar: the required fields come first.
            let shown: Vec<String> = object
                .fields
                .iter()
                .filter(|field| object.requires(field.name))
                .filter_map(|field| Some(format!("{}: {}", field.name, flow(&fields.get(field.name)?.node)?)))
                .collect();
            let more = if fields.len() > shown.len() + 1 { ", …" } else { "" };
            (!shown.is_empty()).then(|| format!("{name}: {{{}{more}}}", shown.join(", ")))
        }
        _ => None,
    }
}

/// Hint for lines such as `A=b` instead of a map, which are one string.
pub(super) fn assignments(map: &'static MapOf, name: &str, text: &str) -> Option<String> {
    let items: Vec<Node> =
        text.split_whitespace().map(|word| Node::new(Value::String(word.to_owned()))).collect();
    let found = list_entries(map, &items).filter(|_| matches!(map.values, Shape::Text(_)))?;
    Some(format!("write `{name}: {{{}}}`", entries(&found)))
}

/// Fields without their parent, under it: `httpGet: {path: /ready, port: 80}`.
pub(in crate::validate) fn with_level(parent: &Field, fields: &[&'static Field], map: &Map) -> String {
    let value = |field: &Field| {
        let node = &map.get(field.name)?.node;
        let value = if matches!(field.shape, Shape::Text(_)) { flow_string(node) } else { flow(node) };
        Some(format!("{}: {}", field.name, value.unwrap_or_else(|| "…".to_owned())))
    };
    let mut shown: Vec<String> = fields.iter().filter_map(|field| value(field)).collect();
    if let Shape::Object(inner) = parent.shape {
        let missing = inner.fields.iter().filter(|field| field.required && !map.contains_key(field.name));
        shown.extend(missing.map(|field| field.example.to_owned()));
    }
    format!("{}: {{{}}}", parent.name, shown.join(", "))
}

/// Fields of an object whose only required field is a list, for that list: `exec: ["true"]`.
pub(super) fn only_list(object: &Object, list: &Node) -> Option<String> {
    let field = object.fields.iter().find(|field| field.required)?;
    let is_list =
        matches!(field.shape, Shape::List(_)) && list.as_list().is_some_and(|list| !list.is_empty());
    let items: Option<Vec<String>> = list.as_list()?.iter().take(8).map(text_of).collect();
    let items: Vec<String> = items?.iter().map(|item| format!("\"{}\"", item.escape_debug())).collect();
    is_list.then(|| format!("{{{}: [{}]}}", field.name, items.join(", ")))
}

/// Hint for items of a list without a space: `-sh`, on a line of its own.
pub(in crate::validate) fn missing_dash_space(shape: Shape, node: &Node) -> Option<String> {
    let text = node.as_str().filter(|_| matches!(shape, Shape::List(_)))?;
    let item = text.split_whitespace().next()?.strip_prefix('-').filter(|item| !item.starts_with('-'))?;
    (!item.is_empty()).then(|| format!("missing space after `-`: write `- {item}`"))
}

/// Hint for a string instead of a list of arguments.
pub(super) fn arguments(name: &str, text: &str) -> String {
    if text.trim_end().contains('\n') {
        return format!(
            "for a shell script write `command: [\"/bin/sh\", \"-c\"]`, and the text as one item of `args`, after `- |`; otherwise use a list: `{name}: [\"…\"]`"
        );
    }
    match serde_json::from_str(text) {
        Ok(serde_json::Value::Array(_)) => return format!("remove the quotes: `{name}: {text}`"),
        Ok(serde_json::Value::Object(_)) => return format!("use a list: `{name}: ['{text}']`"),
        _ => {}
    }
    let words: Vec<_> =
        words(text).iter().take(8).map(|word| format!("\"{}\"", word.escape_debug())).collect();
    format!("use a list: `{name}: [{}]`", words.join(", "))
}

/// Hint for a port in the syntax of Docker Compose or Kubernetes.
pub(super) fn port(text: &str, min: i64, max: i64) -> String {
    let number = |text: &str| text.trim().parse::<i64>().ok().filter(|number| (min..=max).contains(number));
    if let Some(number) = number(text) {
        return format!("remove the quotes: {number}");
    }
    let (text, protocol) = text.split_once('/').unwrap_or((text, ""));
    if text.split_once('-').is_some_and(|(from, to)| number(from).is_some() && number(to).is_some()) {
        return "port ranges are not supported; declare each port".to_owned();
    }
    let protocol = match protocol.to_ascii_lowercase().as_str() {
        "tcp" => ", and `protocol: TCP`",
        "udp" => ", and `protocol: UDP`",
        _ => "",
    };
    let (offered, target) =
        text.split_once(':').map_or((number(text), None), |(a, b)| (number(a), number(b)));
    match (offered, target) {
        (Some(offered), Some(target)) => {
            format!("write `port: {offered}` and `targetPort: {target}`{protocol}")
        }
        (Some(offered), None) => format!("write {offered}{protocol}"),
        _ if text.trim().parse::<i64>().is_ok() => {
            format!("use a number from {min} to {max}, without quotes")
        }
        _ => "use the port number, not its name".to_owned(),
    }
}

/// Words of a command line, with shell quoting.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_in_a_shell() {
        assert_eq!(words(r#"/bin/sh -c "sleep 10" ''"#), ["/bin/sh", "-c", "sleep 10", ""]);
    }

    #[test]
    fn ports_of_docker_compose_are_converted() {
        assert_eq!(port("8080", 1, 65535), "remove the quotes: 8080");
        assert_eq!(port("8080:80", 1, 65535), "write `port: 8080` and `targetPort: 80`");
        assert_eq!(port("53/udp", 1, 65535), "write 53, and `protocol: UDP`");
        assert_eq!(port("99999", 1, 65535), "use a number from 1 to 65535, without quotes");
        assert_eq!(port("http", 1, 65535), "use the port number, not its name");
    }
}
