//! What to write instead.
//!
//! People come to Score from Kubernetes, Compose and their habits; a hint says where the thing they meant lives
//! in this language, not only which field looks similar.

use std::sync::LazyLock;

use super::elsewhere::FROM_ELSEWHERE;
use crate::{
    grammar::{CONTAINER, Field, Object, Shape, WORKLOAD},
    nearest::{is_near, nearest},
    node::{Node, Value},
    placeholder,
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

/// Lines to write for some fields of an object.
pub(super) fn examples(object: &Object, names: &[&str]) -> String {
    let lines: Vec<_> =
        names.iter().filter_map(|name| object.field(name)).map(|field| field.example).collect();
    alternatives(&lines)
}

/// What a shape is called.
pub(super) fn shape_kind(shape: Shape) -> &'static str {
    match shape {
        Shape::Object(_) | Shape::Map(_) | Shape::FreeMap | Shape::MapOrList(..) => "a map",
        Shape::List(_) => "a list",
        Shape::Text(_) | Shape::Word(_) => "text",
        Shape::Integer(..) => "a whole number",
        Shape::Boolean => "true or false",
    }
}

/// What to write where a value has the wrong type. `written` is the value as it stands in the text.
pub(super) fn mismatch(
    shape: Shape,
    node: &Node,
    written: Option<&str>,
    name: &str,
    field: Option<&'static Field>,
) -> String {
    let example = example(shape, name, field);
    // As it was written: 0644 is not 420, and 1.10 is not 1.1.
    let written = written.map_or_else(|| placeholder::to_text(&node.to_json()), str::to_owned);
    match (shape, &node.value) {
        (_, Value::Null) if name == "image" => {
            "name an image, or write `image: .` for one that is given at deployment".to_owned()
        }
        (_, Value::Null) if field.is_some_and(|field| field.required) => format!("write `{example}`"),
        (_, Value::Null) => format!("give it a value, such as `{example}`, or remove the key"),
        (Shape::Text(rule), Value::Number(_)) if !rule.accepts(&written) => match rule.suggestion(&written) {
            Some(suggestion) => format!("write \"{suggestion}\""),
            None => format!("write it in quotes; it must be {}", rule.form),
        },
        (Shape::Text(_) | Shape::Word(_), Value::Number(_) | Value::Bool(_) | Value::Timestamp(_)) => {
            let bytes = if name == "memory" { ", with a unit such as Mi unless bytes are meant" } else { "" };
            format!("write it in quotes: \"{written}\"{bytes}")
        }
        (Shape::Text(_), Value::List(_)) if name == "content" => {
            "write the lines as one block of text, after `content: |`".to_owned()
        }
        (Shape::Text(_), Value::Map(map)) if name == "image" && map.contains_key("repository") => {
            "write one text: `image: REPOSITORY:TAG`".to_owned()
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) if CONTAINER.field(name).is_some() => {
            format!("`{name}` is a field of the container; indent it less")
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) => {
            "write text; a structure can be written as JSON in quotes, or after `|`".to_owned()
        }
        (Shape::Integer(min, max), Value::String(text)) => port(text, min, max),
        (Shape::Boolean, Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => "write true, without quotes".to_owned(),
            "false" | "no" | "off" => "write false, without quotes".to_owned(),
            _ => "write true or false".to_owned(),
        },
        (Shape::List(_), Value::String(text)) => {
            let words: Vec<_> =
                words(text).iter().take(8).map(|word| format!("\"{}\"", word.escape_debug())).collect();
            format!("write a list: `{name}: [{}]`", words.join(", "))
        }
        (Shape::Map(_) | Shape::MapOrList(..), Value::List(list)) => {
            let names: Vec<_> = list.iter().filter_map(|item| item.get("name")?.as_str()).take(8).collect();
            if names.is_empty() {
                format!("write a map, such as `{example}`")
            } else {
                format!(
                    "write a map with each name ({}) as the key, such as `{example}`",
                    alternatives(&names)
                )
            }
        }
        (Shape::Object(object), Value::String(text)) => short_form(object, name, text, &example),
        (Shape::Object(object), Value::Number(_)) => short_form(object, name, &written, &example),
        _ => format!("write `{example}`"),
    }
}

/// A short form of another language (`web: 80`, `db: postgres`, `./data:/data`) as Score writes it.
fn short_form(object: &Object, name: &str, written: &str, example: &str) -> String {
    if object.noun == "a resource" && matches!(name, "cpu" | "memory" | "limits" | "requests") {
        return COMPUTE_IN_CONTAINER.to_owned();
    }
    if object.noun == "a service port" && written.parse::<u16>().is_err() {
        return format!("write `{name}: {{port: 80}}`, where: {}", port(written, 1, 65535));
    }
    if name.is_empty() {
        let target = written
            .rsplit(':')
            .next()
            .filter(|target| target.starts_with('/'))
            .unwrap_or("/path/in/container");
        return format!("write the map form, with the path as the key: `{target}: {example}`");
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

/// A port in the writing of Compose or Kubernetes.
fn port(text: &str, min: i64, max: i64) -> String {
    let number = |text: &str| text.trim().parse::<i64>().ok().filter(|number| (min..=max).contains(number));
    if let Some(number) = number(text) {
        return format!("write the number without quotes: {number}");
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
            format!("write a number from {min} to {max}, without quotes")
        }
        _ => "write the number of the port, not its name".to_owned(),
    }
}

/// The words of a command line, with quotes as a shell reads them.
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

/// A line to write for a value of some shape.
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
        Shape::Word(words) => words.first().copied().unwrap_or_default().to_owned(),
        Shape::Integer(min, _) => min.to_string(),
        Shape::Boolean => "true".to_owned(),
    };
    if name.is_empty() { inner } else { format!("{name}: {inner}") }
}

/// What to write instead of a word that is not allowed.
pub(super) fn word(name: &str, word: &str, words: &[&str]) -> String {
    if name == "apiVersion" && !word.contains("score") && word != "v1b1" {
        return "write `apiVersion: score.dev/v1b1` if this is a Score file; it looks like a document of another system".to_owned();
    }
    let close = words
        .iter()
        .find(|allowed| allowed.eq_ignore_ascii_case(word.trim()))
        .or_else(|| words.iter().find(|allowed| is_near(word, allowed)));
    match (close, words) {
        (Some(close), _) => format!("write {close}"),
        (None, [only]) => format!("write {only}"),
        (None, _) => format!("write {}", alternatives(words)),
    }
}

/// What to write instead of a field that is not known here.
pub(super) fn unknown_field(object: &'static Object, key: &str, node: &Node) -> String {
    let is_resource = object.noun == "a resource";
    if is_resource && key == "properties" && declares_outputs(node) {
        return "remove it; early drafts listed the outputs here, and now whoever provides the resource decides them".to_owned();
    }
    if is_resource && matches!(key, "cpu" | "memory") {
        return COMPUTE_IN_CONTAINER.to_owned();
    }
    if object.noun == "the resources of a container" && node.get("type").is_some() {
        return format!(
            "what the workload depends on stands at the top of the document: `resources: {{{key}: {{type: …}}}}`"
        );
    }
    let foreign = FROM_ELSEWHERE.iter().find(|(known, noun, _)| {
        *known == key && (object.noun == *noun || (noun.is_empty() && !is_resource))
    });
    if let Some((_, _, hint)) = foreign {
        return (*hint).to_owned();
    }
    if key.starts_with("x-") {
        return "Score has no `x-` extensions; put your own data under `metadata` (for tools: `metadata.annotations`) or into `params` of a resource".to_owned();
    }
    if let Some(sibling) = nearest(key, object.fields.iter().map(|field| field.name)) {
        return format!("did you mean `{sibling}`?");
    }
    if is_resource {
        return format!("what is special about a resource goes into `params`: `params: {{{key}: …}}`");
    }
    // Words that stand in many places say nothing about where they belong.
    let is_telling = |place: &&Place| {
        !matches!(
            place.field.name,
            "name" | "type" | "path" | "source" | "port" | "value" | "id" | "class" | "host"
        )
    };
    if let Some(place) = PLACES.iter().filter(is_telling).find(|place| place.field.name == key) {
        return place.hint();
    }
    let slip =
        |place: &&Place| strsim::osa_distance(&key.to_lowercase(), &place.field.name.to_lowercase()) <= 1;
    if key.len() < 40
        && let Some(place) = PLACES.iter().filter(is_telling).find(slip)
    {
        return format!("did you mean `{}`? {}", place.field.name, place.hint());
    }
    let known: Vec<_> = object.fields.iter().map(|field| field.name).collect();
    format!("remove it; {} takes {}", object.noun, list(&known))
}

/// Whether `properties` of a resource is the list of outputs that early drafts of Score had there.
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

/// Whether an unknown field is probably meant as this one, so that it need not be said to be missing too.
pub(super) fn stands_for(key: &str, field: &Field) -> bool {
    matches!((key, field.name), ("spec" | "services" | "workloads" | "container", "containers"))
        || matches!((key, field.name), ("img", "image"))
        || is_near(key, field.name)
}

fn list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => format!("only {last}"),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// A field of the language and where it belongs.
struct Place {
    field: &'static Field,
    parent: String,
}

impl Place {
    fn hint(&self) -> String {
        if self.parent.is_empty() {
            format!("`{}` stands at the top of the document: `{}`", self.field.name, self.field.example)
        } else {
            format!("`{}` belongs under `{}`: `{}`", self.field.name, self.parent, self.field.example)
        }
    }
}

/// Every field of the language, nearest to the top first.
static PLACES: LazyLock<Vec<Place>> = LazyLock::new(|| {
    fn visit(shape: Shape, parent: &str, depth: usize, places: &mut Vec<(usize, Place)>) {
        let below = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
        match shape {
            Shape::Object(object) => {
                for field in object.fields {
                    places.push((depth, Place { field, parent: parent.to_owned() }));
                    visit(field.shape, &below(field.name), depth + 1, places);
                }
            }
            Shape::Map(map) | Shape::MapOrList(map, _) => visit(map.values, &below("*"), depth + 1, places),
            Shape::List(list) => visit(list.items, &below("*"), depth + 1, places),
            _ => {}
        }
    }
    let mut places = Vec::new();
    visit(Shape::Object(&WORKLOAD), "", 0, &mut places);
    places.sort_by_key(|(depth, _)| *depth);
    places.into_iter().map(|(_, place)| place).collect()
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
    fn a_slip_of_the_hand_finds_the_field_that_was_meant() {
        let hint = |key| unknown_field(&CONTAINER, key, &Node::new(Value::Null));
        assert_eq!(hint("varaibles"), "did you mean `variables`?");
        assert_eq!(hint("liveness_probe"), "did you mean `livenessProbe`?");
        assert_eq!(hint("Image"), "did you mean `image`?");
    }

    #[test]
    fn a_field_at_the_wrong_place_is_sent_to_the_right_one() {
        assert_eq!(
            unknown_field(&CONTAINER, "httpGet", &Node::new(Value::Null)),
            "`httpGet` belongs under `containers.*.livenessProbe`: `httpGet: {path: /ready, port: 8080}`"
        );
        assert!(
            unknown_field(&CONTAINER, "metadata", &Node::new(Value::Null)).contains("top of the document")
        );
    }

    #[test]
    fn a_command_line_is_split_as_a_shell_does() {
        assert_eq!(words(r#"/bin/sh -c "sleep 10" ''"#), ["/bin/sh", "-c", "sleep 10", ""]);
    }

    #[test]
    fn ports_of_other_languages_are_taken_apart() {
        assert_eq!(port("8080", 1, 65535), "write the number without quotes: 8080");
        assert_eq!(port("8080:80", 1, 65535), "write `port: 8080` and `targetPort: 80`");
        assert_eq!(port("53/udp", 1, 65535), "write 53, and `protocol: UDP`");
        assert_eq!(port("99999", 1, 65535), "write a number from 1 to 65535, without quotes");
        assert_eq!(port("http", 1, 65535), "write the number of the port, not its name");
    }

    #[test]
    fn no_row_of_the_table_is_hidden_by_one_before_it() {
        for (number, (key, noun, _)) in FROM_ELSEWHERE.iter().enumerate() {
            // A row for any object does not count for resources.
            let hides = |(other, any, _): &&(&str, &str, &str)| {
                other == key && (any == noun || (any.is_empty() && *noun != "a resource"))
            };
            assert!(FROM_ELSEWHERE[..number].iter().find(hides).is_none(), "{key} of {noun:?}");
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
        for (key, noun, _) in FROM_ELSEWHERE {
            assert!(noun.is_empty() || nouns.contains(noun), "{key}: {noun}");
        }
    }
}
