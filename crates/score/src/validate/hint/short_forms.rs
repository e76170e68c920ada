//! Hints for values in the short form of another tool: `web: 80`, `db: postgres`, `./data:/data`.

use super::{alternatives, example};
use crate::{
    grammar::{MapOf, Object, Shape},
    node::{Node, Value},
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
        return format!("use the map form, with the path as the key: `{target}: {example}`");
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

/// True for text that needs no quotes in a flow map.
pub(super) fn is_plain(text: &str) -> bool {
    text.len() < 60
        && !text.is_empty()
        && !text.contains(['$', '{', '}', '[', ']', ',', '#', '"', '\'', '\n'])
        && !text.contains(": ")
}

/// Hint for `image:nginx`, which is a string in YAML.
pub(super) fn missing_space(written: &str, is_key: impl Fn(&str) -> bool) -> Option<String> {
    let (key, value) = written.split_once(':')?;
    let value = value.split_whitespace().next().filter(|_| !value.starts_with(char::is_whitespace))?;
    is_key(key).then(|| format!("missing space after `:`; write `{key}: {value}`"))
}

/// Hint for a list instead of a map.
pub(super) fn map(map: &MapOf, name: &str, list: &[Node], example_line: &str) -> String {
    let text = |item: &Node| item.as_str().map(str::to_owned);
    let texts: Option<Vec<String>> = list.iter().take(8).map(text).collect();
    if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
        let entries: Option<Vec<String>> = texts.iter().map(|text| entry(map, text)).collect();
        if let Some(entries) = entries {
            return format!("use a map instead of a list: `{name}: {{{}}}`", entries.join(", "));
        }
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

/// Entry of a map for an item of a list: `A=b`, or the name alone.
fn entry(map: &MapOf, item: &str) -> Option<String> {
    let is_key = |key: &str| map.keys.pattern.is_some() && map.keys.accepts(key) && is_plain(key);
    match (map.values, item.split_once('=')) {
        (Shape::Text(_), Some((key, value))) if is_key(key) && is_plain(value) => {
            // Quoted, since a number or a boolean would not be a string.
            Some(format!("{key}: \"{value}\""))
        }
        (Shape::Object(_), None) if is_key(item) => Some(example(map.values, item, None)),
        _ => None,
    }
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

/// Short value in flow style; none if it is long.
pub(in crate::validate) fn flow(node: &Node) -> Option<String> {
    const MAX_LENGTH: usize = 60;
    let text = match &node.value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Map(map) if map.len() <= 4 => {
            let entry =
                |(key, entry): (&String, &crate::node::Entry)| Some(format!("{key}: {}", flow(&entry.node)?));
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

/// Hint for a port in the syntax of Docker Compose or Kubernetes.
pub(super) fn port(text: &str, min: i64, max: i64) -> String {
    let number = |text: &str| text.trim().parse::<i64>().ok().filter(|number| (min..=max).contains(number));
    if let Some(number) = number(text) {
        return format!("remove the quotes: {number}");
    }
    let (text, protocol) = text.split_once('/').unwrap_or((text, ""));
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
fn words(line: &str) -> Vec<String> {
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
