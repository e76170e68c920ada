//! Hints: how to fix a diagnostic.
//!
//! Users come from Kubernetes and Docker Compose; a hint names the Score field for what they meant, not only the most
//! similar name.

use std::sync::LazyLock;

use super::foreign_fields::FOREIGN_FIELDS;
use crate::{
    grammar::{CONTAINER, Field, Object, Shape, WORKLOAD},
    node::{Node, Value},
    placeholder,
    suggest::{is_similar, suggest},
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
        (_, Value::Null) => format!("add a value, such as `{example}`, or remove the key"),
        (Shape::Text(rule), Value::Number(_)) if !rule.accepts(&written) => match rule.suggestion(&written) {
            Some(suggestion) => format!("write \"{suggestion}\""),
            None => format!("quote the value; it must be {}", rule.form),
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
        (Shape::Text(_), Value::List(_) | Value::Map(_)) if CONTAINER.field(name).is_some() => {
            format!("check the indentation: `{name}` is a field of the container")
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) => {
            "write a string; for structured data use a JSON string in quotes, or a block string after `|`"
                .to_owned()
        }
        (Shape::Integer(min, max), Value::String(text)) => port(text, min, max),
        (Shape::Boolean, Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => "write `true` without quotes".to_owned(),
            "false" | "no" | "off" => "write `false` without quotes".to_owned(),
            _ => "write `true` or `false`".to_owned(),
        },
        (Shape::List(_), Value::String(text)) => {
            let words: Vec<_> =
                words(text).iter().take(8).map(|word| format!("\"{}\"", word.escape_debug())).collect();
            format!("use a list: `{name}: [{}]`", words.join(", "))
        }
        (Shape::Map(_) | Shape::MapOrList(..), Value::List(list)) => {
            let names: Vec<_> = list.iter().filter_map(|item| item.get("name")?.as_str()).take(8).collect();
            if names.is_empty() {
                format!("use a map instead of a list, such as `{example}`")
            } else {
                format!(
                    "use a map instead of a list, with each name ({}) as the key, such as `{example}`",
                    alternatives(&names)
                )
            }
        }
        (Shape::Object(object), Value::String(text)) => short_form(object, name, text, &example),
        (Shape::Object(object), Value::Number(_)) => short_form(object, name, &written, &example),
        _ => format!("write `{example}`"),
    }
}

/// Hint for the short form of another language: `web: 80`, `db: postgres`, `./data:/data`.
fn short_form(object: &Object, name: &str, written: &str, example: &str) -> String {
    if object.noun == "a resource" && matches!(name, "cpu" | "memory" | "limits" | "requests") {
        return COMPUTE_IN_CONTAINER.to_owned();
    }
    if object.noun == "a service port" && written.parse::<u16>().is_err() {
        return format!("write `{name}: {{port: 80}}`; {}", port(written, 1, 65535));
    }
    if name.is_empty() {
        let target = written
            .rsplit(':')
            .next()
            .filter(|target| target.starts_with('/'))
            .unwrap_or("/path/in/container");
        return format!("use the map form, with the path as the key: `{target}: {example}`");
    }
    let is_plain = written.len() < 60
        && !written.is_empty()
        && !written.contains(['$', '{', '}', '[', ']', ',', '#', '"', '\'', '\n'])
        && !written.contains(": ");
    let first = object.fields.iter().find(|field| {
        field.required
            || object.choice.is_some_and(|choice| choice.exclusive && choice.of.contains(&field.name))
    });
    match first {
        Some(field) if is_plain && matches!(field.shape, Shape::Text(_) | Shape::Integer(..)) => {
            format!("write `{name}: {{{}: {written}}}`", field.name)
        }
        _ => format!("write `{example}`"),
    }
}

const COMPUTE_IN_CONTAINER: &str =
    "cpu and memory belong to a container: `containers: {main: {resources: {limits: {cpu: 500m}}}}`";

/// Hint for a port in the syntax of Docker Compose or Kubernetes.
fn port(text: &str, min: i64, max: i64) -> String {
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
        .or_else(|| allowed.iter().find(|allowed| is_similar(value, allowed)));
    match (similar, allowed) {
        (Some(only), _) | (None, [only]) => format!("write `{name}: {only}`"),
        (None, _) => format!("write {}", alternatives(allowed)),
    }
}

/// Hint for an unknown field.
pub(super) fn unknown_field(object: &'static Object, key: &str, node: &Node) -> String {
    let is_resource = object.noun == "a resource";
    if is_resource && key == "properties" && declares_outputs(node) {
        return "remove it; early drafts of Score listed outputs here, now the provisioner defines them"
            .to_owned();
    }
    if is_resource && matches!(key, "cpu" | "memory") {
        return COMPUTE_IN_CONTAINER.to_owned();
    }
    if object.noun == "the resources of a container" && node.get("type").is_some() {
        return format!(
            "resources of the workload belong at the top level: `resources: {{{key}: {{type: …}}}}`"
        );
    }
    let foreign = FOREIGN_FIELDS.iter().find(|(known, noun, _)| {
        *known == key && (object.noun == *noun || (noun.is_empty() && !is_resource))
    });
    if let Some((_, _, hint)) = foreign {
        return (*hint).to_owned();
    }
    if key.starts_with("x-") {
        return "Score has no `x-` extensions; put custom data under `metadata`, `metadata.annotations` or the `params` of a resource".to_owned();
    }
    if let Some(sibling) = suggest(key, object.fields.iter().map(|field| field.name)) {
        return format!("did you mean `{sibling}`?");
    }
    if is_resource {
        return format!("resource parameters belong under `params`: `params: {{{key}: …}}`");
    }
    // Common names are fields of many objects.
    let is_specific = |location: &&FieldLocation| {
        !matches!(
            location.field.name,
            "name" | "type" | "path" | "source" | "port" | "value" | "id" | "class" | "host"
        )
    };
    if let Some(location) =
        FIELD_LOCATIONS.iter().filter(is_specific).find(|location| location.field.name == key)
    {
        return location.hint();
    }
    let is_typo = |location: &&FieldLocation| {
        strsim::osa_distance(&key.to_lowercase(), &location.field.name.to_lowercase()) <= 1
    };
    if key.len() < 40
        && let Some(location) = FIELD_LOCATIONS.iter().filter(is_specific).find(is_typo)
    {
        return format!("did you mean `{}`? {}", location.field.name, location.hint());
    }
    let known: Vec<_> = object.fields.iter().map(|field| field.name).collect();
    format!("remove it; {} has the fields {}", object.noun, all(&known))
}

/// True if `properties` of a resource lists outputs, as in early drafts of Score.
fn declares_outputs(node: &Node) -> bool {
    node.as_map().is_some_and(|map| {
        !map.is_empty()
            && map.values().all(|entry| match &entry.node.value {
                Value::Null => true,
                Value::Map(inner) => {
                    inner.keys().all(|key| matches!(key.as_str(), "type" | "default" | "required" | "secret"))
                }
                _ => false,
            })
    })
}

/// True if an unknown field is probably meant as this one, so that it is not reported as missing too.
pub(super) fn is_meant_as(key: &str, field: &Field) -> bool {
    matches!((key, field.name), ("spec" | "services" | "workloads" | "container", "containers"))
        || matches!((key, field.name), ("img", "image"))
        || is_similar(key, field.name)
}

/// Field of the grammar and its parent.
struct FieldLocation {
    field: &'static Field,
    parent: String,
}

impl FieldLocation {
    fn hint(&self) -> String {
        if self.parent.is_empty() {
            format!("`{}` belongs at the top level: `{}`", self.field.name, self.field.example)
        } else {
            format!("`{}` belongs under `{}`: `{}`", self.field.name, self.parent, self.field.example)
        }
    }
}

/// All fields of the grammar, top level first.
static FIELD_LOCATIONS: LazyLock<Vec<FieldLocation>> = LazyLock::new(|| {
    fn visit(shape: Shape, parent: &str, depth: usize, locations: &mut Vec<(usize, FieldLocation)>) {
        let below = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
        match shape {
            Shape::Object(object) => {
                for field in object.fields {
                    locations.push((depth, FieldLocation { field, parent: parent.to_owned() }));
                    visit(field.shape, &below(field.name), depth + 1, locations);
                }
            }
            Shape::Map(map) | Shape::MapOrList(map, _) => {
                visit(map.values, &below("*"), depth + 1, locations);
            }
            Shape::List(list) => visit(list.items, &below("*"), depth + 1, locations),
            _ => {}
        }
    }
    let mut locations = Vec::new();
    visit(Shape::Object(&WORKLOAD), "", 0, &mut locations);
    locations.sort_by_key(|(depth, _)| *depth);
    locations.into_iter().map(|(_, location)| location).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_another_language_is_explained() {
        let hint = |key| unknown_field(&CONTAINER, key, &Node::new(Value::Null));
        assert!(hint("env").contains("`variables`"));
        assert!(hint("ports").contains("service"));
        assert!(hint("x-team").contains("extensions"));
        assert!(hint("replicas").contains("platform"));
    }

    #[test]
    fn a_typo_suggests_the_field_that_was_meant() {
        let hint = |key| unknown_field(&CONTAINER, key, &Node::new(Value::Null));
        assert_eq!(hint("varaibles"), "did you mean `variables`?");
        assert_eq!(hint("liveness_probe"), "did you mean `livenessProbe`?");
        assert_eq!(hint("Image"), "did you mean `image`?");
    }

    #[test]
    fn a_misplaced_field_is_hinted_to_its_parent() {
        assert_eq!(
            unknown_field(&CONTAINER, "httpGet", &Node::new(Value::Null)),
            "`httpGet` belongs under `containers.*.livenessProbe`: `httpGet: {path: /ready, port: 8080}`"
        );
        assert!(unknown_field(&CONTAINER, "metadata", &Node::new(Value::Null)).contains("top level"));
    }

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

    #[test]
    fn no_row_of_the_table_is_shadowed_by_an_earlier_one() {
        for (number, (key, noun, _)) in FOREIGN_FIELDS.iter().enumerate() {
            // A row for any object does not apply to resources.
            let shadows = |(other, any, _): &&(&str, &str, &str)| {
                other == key && (any == noun || (any.is_empty() && *noun != "a resource"))
            };
            assert!(FOREIGN_FIELDS[..number].iter().find(shadows).is_none(), "{key} of {noun:?}");
        }
    }

    #[test]
    fn objects_named_in_the_table_exist() {
        let nouns: Vec<_> = {
            fn visit(shape: Shape, nouns: &mut Vec<&'static str>) {
                match shape {
                    Shape::Object(object) => {
                        nouns.push(object.noun);
                        object.fields.iter().for_each(|field| visit(field.shape, nouns));
                    }
                    Shape::Map(map) | Shape::MapOrList(map, _) => visit(map.values, nouns),
                    Shape::List(list) => visit(list.items, nouns),
                    _ => {}
                }
            }
            let mut nouns = Vec::new();
            visit(Shape::Object(&WORKLOAD), &mut nouns);
            nouns
        };
        for (key, noun, _) in FOREIGN_FIELDS {
            assert!(noun.is_empty() || nouns.contains(noun), "{key}: {noun}");
        }
    }
}
