//! What to write instead.
//!
//! People come to Score from Kubernetes, Compose and their habits; a hint says where the thing they meant lives
//! in this language, not only which field looks similar.

use std::sync::LazyLock;

use super::elsewhere::FROM_ELSEWHERE;
use crate::{
    grammar::{Field, Object, Shape, WORKLOAD},
    node::{Node, Value},
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
    match (shape, &node.value) {
        (_, Value::Null) if field.is_some_and(|field| field.required) => format!("write `{example}`"),
        (_, Value::Null) => format!("give it a value, such as `{example}`, or remove the key"),
        (Shape::Text(_) | Shape::Word(_), Value::Number(_) | Value::Bool(_) | Value::Timestamp(_)) => {
            // As it was written: 0644 is not 420, and 1.10 is not 1.1.
            let written = written.map_or_else(|| node.to_json().to_string(), str::to_owned);
            format!("write it in quotes: \"{written}\"")
        }
        (Shape::Text(_), Value::List(_)) if name == "content" => {
            "write the lines as one block of text, after `content: |`".to_owned()
        }
        (Shape::Text(_), Value::List(_) | Value::Map(_)) => {
            "write text; a structure can be written as JSON in quotes, or after `|`".to_owned()
        }
        (Shape::Integer(min, max), Value::String(text)) => match text.trim().parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => {
                format!("write the number without quotes: {number}")
            }
            Ok(_) => format!("write a number from {min} to {max}, without quotes"),
            Err(_) => "write the number of the port, not its name".to_owned(),
        },
        (Shape::Boolean, Value::String(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => "write true, without quotes".to_owned(),
            "false" | "no" | "off" => "write false, without quotes".to_owned(),
            _ => "write true or false".to_owned(),
        },
        (Shape::List(_), Value::String(text)) => {
            let words: Vec<_> =
                text.split_whitespace().take(8).map(|word| format!("\"{}\"", word.escape_debug())).collect();
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
        _ => format!("write `{example}`"),
    }
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
pub(super) fn word(word: &str, words: &[&str]) -> String {
    let close = words
        .iter()
        .find(|allowed| allowed.eq_ignore_ascii_case(word.trim()))
        .or_else(|| words.iter().find(|allowed| similar(word, allowed)));
    match (close, words) {
        (Some(close), _) => format!("write {close}"),
        (None, [only]) => format!("write {only}"),
        (None, _) => format!("write {}", alternatives(words)),
    }
}

/// The nearest of some names, if one is near.
pub(super) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = names.into_iter().filter(|known| similar(name, known));
    near.min_by_key(|known| strsim::osa_distance(name, known))
}

/// Whether one word was probably meant as the other: the same letters in another style, or a slip of the hand.
fn similar(a: &str, b: &str) -> bool {
    const LONGEST: usize = 40;
    if a.len() > LONGEST || b.len() > LONGEST {
        return false;
    }
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (a, b) = (plain(a), plain(b));
    let slips = if b.len() <= 4 { 1 } else { 2 };
    a == b || (a.len().max(b.len()) > 2 && strsim::osa_distance(&a, &b) <= slips)
}

/// What to write instead of a field that is not known here.
pub(super) fn unknown_field(object: &'static Object, key: &str) -> String {
    if let Some((_, _, hint)) = FROM_ELSEWHERE
        .iter()
        .find(|(known, noun, _)| *known == key && (noun.is_empty() || object.noun == *noun))
    {
        return (*hint).to_owned();
    }
    if key.starts_with("x-") {
        return "Score has no `x-` extensions; put your own data under `metadata` (for tools: `metadata.annotations`) or into `params` of a resource".to_owned();
    }
    if let Some(sibling) = nearest(key, object.fields.iter().map(|field| field.name)) {
        return format!("did you mean `{sibling}`?");
    }
    if let Some(place) = PLACES.iter().find(|place| place.field.name == key) {
        return place.hint();
    }
    if let Some(place) = PLACES.iter().find(|place| similar(key, place.field.name)) {
        return format!("did you mean `{}`? {}", place.field.name, place.hint());
    }
    let known: Vec<_> = object.fields.iter().map(|field| field.name).collect();
    format!("remove it; {} takes {}", object.noun, list(&known))
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
    use crate::grammar::CONTAINER as CONTAINER_OBJECT;

    #[test]
    fn a_field_of_another_language_is_explained() {
        let hint = |key| unknown_field(&CONTAINER_OBJECT, key);
        assert!(hint("env").contains("`variables`"));
        assert!(hint("ports").contains("service"));
        assert!(hint("x-team").contains("extensions"));
        assert!(hint("replicas").contains("platform"));
    }

    #[test]
    fn a_slip_of_the_hand_finds_the_field_that_was_meant() {
        let hint = |key| unknown_field(&CONTAINER_OBJECT, key);
        assert_eq!(hint("varaibles"), "did you mean `variables`?");
        assert_eq!(hint("liveness_probe"), "did you mean `livenessProbe`?");
        assert_eq!(hint("Image"), "did you mean `image`?");
    }

    #[test]
    fn a_field_at_the_wrong_place_is_sent_to_the_right_one() {
        assert_eq!(
            unknown_field(&CONTAINER_OBJECT, "httpGet"),
            "`httpGet` belongs under `containers.*.livenessProbe`: `httpGet: {path: /ready, port: 8080}`"
        );
        assert!(unknown_field(&CONTAINER_OBJECT, "metadata").contains("top of the document"));
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
