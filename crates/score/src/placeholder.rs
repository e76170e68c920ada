//! Placeholders: `${resources.db.host}`, `${metadata.name}`, and `$$` for a dollar sign.
//!
//! The syntax of score-go: left to right, one pass, no nesting, no trimming, no defaults; a backslash is an escape
//! only before a dot inside a reference. Expansion returns [`Segment`]s instead of a string, so that a caller can keep
//! a secret as a reference until the last moment; [`join`] concatenates segments.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value as Json;

/// Token of a string with placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// Literal text.
    Text(&'a str),
    /// `$$`, an escaped `$`.
    Dollar,
    /// `$${…}`, an escaped placeholder; holds the literal `${…}`.
    Escaped(&'a str),
    /// `${…}`; holds the text between the braces.
    Reference(&'a str),
}

/// Tokens of a string.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    // The last brace is searched once, so that a string full of unclosed `${` takes linear time.
    let last_close = text.rfind('}');
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = text.len() - rest.len();
        let closed = |from: usize| last_close.is_some_and(|close| close >= at + from);
        let (token, length) = if rest.starts_with("$${") && closed(3) {
            let end = rest.find('}').unwrap_or(rest.len() - 1) + 1;
            (Token::Escaped(&rest[1..end]), end)
        } else if rest.starts_with("${") && closed(2) {
            let end = rest.find('}').unwrap_or(rest.len() - 1) + 1;
            (Token::Reference(&rest[2..end - 1]), end)
        } else if rest.starts_with("$$") {
            (Token::Dollar, 2)
        } else {
            // At least one character, up to the next dollar sign.
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let end = rest[first..].find('$').map_or(rest.len(), |next| first + next);
            (Token::Text(&rest[..end]), end)
        };
        rest = &rest[length..];
        Some(token)
    })
}

/// Parsed reference, the text between the braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `metadata.a.b`: metadata of the workload.
    Metadata(Vec<String>),
    /// `resources.db.host`: an output of a resource. Without keys, the resource itself.
    Resource {
        /// Name of the resource in the workload.
        name: String,
        /// Path of the output.
        keys: Vec<String>,
    },
}

/// Reference without a value. Messages quote the reference as written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// Neither `metadata` nor `resources`.
    #[error("invalid placeholder `${{{0}}}`: must start with `metadata.` or `resources.`")]
    UnknownRoot(String),
    /// `${metadata}` alone.
    #[error("invalid placeholder `${{{0}}}`: missing metadata key, such as `${{metadata.name}}`")]
    MetadataKeyRequired(String),
    /// `${resources}` alone.
    #[error("invalid placeholder `${{{0}}}`: missing resource and output, such as `${{resources.db.host}}`")]
    ResourceNameRequired(String),
    /// A resource without an output, where an output is required.
    #[error("invalid placeholder `${{{0}}}`: missing output of the resource")]
    OutputKeyRequired(String),
    /// Undefined resource.
    #[error("undefined resource `{name}` in placeholder `${{{reference}}}`")]
    UnknownResource {
        /// Reference as written.
        reference: String,
        /// Resource name.
        name: String,
    },
    /// Missing key.
    #[error("placeholder `${{{reference}}}` has no value: `{key}` not found")]
    KeyNotFound {
        /// Reference as written.
        reference: String,
        /// Missing key.
        key: String,
    },
    /// Key of a value that is not a map.
    #[error(
        "placeholder `${{{reference}}}` has no value: `{key}` not found, because its parent is not a map"
    )]
    NotAMap {
        /// Reference as written.
        reference: String,
        /// Missing key.
        key: String,
    },
}

impl Reference {
    /// Parses the text between the braces.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let mut parts = split(text).into_iter();
        match parts.next().as_deref() {
            Some("metadata") => match parts.collect::<Vec<_>>() {
                keys if keys.is_empty() => Err(ReferenceError::MetadataKeyRequired(text.to_owned())),
                keys => Ok(Self::Metadata(keys)),
            },
            Some("resources") => match parts.next() {
                None => Err(ReferenceError::ResourceNameRequired(text.to_owned())),
                Some(name) => Ok(Self::Resource { name, keys: parts.collect() }),
            },
            _ => Err(ReferenceError::UnknownRoot(text.to_owned())),
        }
    }
}

/// Splits at dots; a backslash before a dot makes it part of the key.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut last = String::new();
    for c in text.chars() {
        match c {
            '.' if last.ends_with('\\') => {
                last.pop();
                last.push('.');
            }
            '.' => {
                if let Some(part) = parts.last_mut() {
                    *part = std::mem::take(&mut last);
                }
                parts.push(String::new());
            }
            other => last.push(other),
        }
    }
    if let Some(part) = parts.last_mut() {
        *part = last;
    }
    parts
}

/// Value at a path of map keys. `written` is the reference, for errors.
pub fn walk<'v>(value: &'v Json, keys: &[String], written: &str) -> Result<&'v Json, ReferenceError> {
    let mut value = value;
    for key in keys {
        let Json::Object(map) = value else {
            return Err(ReferenceError::NotAMap { reference: written.to_owned(), key: key.clone() });
        };
        value = map
            .get(key)
            .ok_or_else(|| ReferenceError::KeyNotFound { reference: written.to_owned(), key: key.clone() })?;
    }
    Ok(value)
}

/// Value as text inside a string: strings as they are, everything else as JSON.
pub fn to_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => integral(other).to_string(),
    }
}

/// Numbers without a fraction as integers, as the reference tools print them.
fn integral(value: &Json) -> Cow<'_, Json> {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
    match value {
        Json::Number(number) => match number.as_f64() {
            Some(f) if number.is_f64() && f.fract() == 0.0 && f.abs() < 1e15 => {
                Cow::Owned(Json::from(f as i64))
            }
            _ => Cow::Borrowed(value),
        },
        Json::Array(list) => Cow::Owned(list.iter().map(|item| integral(item).into_owned()).collect()),
        Json::Object(map) => Cow::Owned(Json::Object(
            map.iter().map(|(key, item)| (key.clone(), integral(item).into_owned())).collect(),
        )),
        _ => Cow::Borrowed(value),
    }
}

/// Segment of an expanded string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<R> {
    /// Literal text.
    Literal(String),
    /// Reference that the caller resolves later.
    Reference(R),
}

/// Expands a string. `lookup` resolves each reference to text, or to a reference of the caller's own.
/// Returns all errors at once.
pub fn expand<R, E>(
    text: &str,
    mut lookup: impl FnMut(&str) -> Result<Segment<R>, E>,
) -> Result<Vec<Segment<R>>, Vec<E>> {
    let mut segments = Vec::new();
    let mut literal = String::new();
    let mut errors = Vec::new();
    for token in tokens(text) {
        match token {
            Token::Text(text) | Token::Escaped(text) => literal.push_str(text),
            Token::Dollar => literal.push('$'),
            Token::Reference(reference) => match lookup(reference) {
                Ok(Segment::Literal(text)) => literal.push_str(&text),
                Ok(kept @ Segment::Reference(_)) => {
                    if !literal.is_empty() {
                        segments.push(Segment::Literal(std::mem::take(&mut literal)));
                    }
                    segments.push(kept);
                }
                Err(error) => errors.push(error),
            },
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if !literal.is_empty() || segments.is_empty() {
        segments.push(Segment::Literal(literal));
    }
    Ok(segments)
}

/// Concatenates segments.
pub fn join<R>(segments: &[Segment<R>], mut text_of: impl FnMut(&R) -> String) -> String {
    segments
        .iter()
        .map(|segment| match segment {
            Segment::Literal(text) => Cow::Borrowed(text.as_str()),
            Segment::Reference(reference) => Cow::Owned(text_of(reference)),
        })
        .collect()
}

/// Expanded value of any depth, with strings as segments.
#[derive(Clone, Debug, PartialEq)]
pub enum Template<R> {
    /// Value that is not a string.
    Plain(Json),
    /// Expanded string.
    Text(Vec<Segment<R>>),
    /// A list.
    List(Vec<Self>),
    /// A map. Keys are not expanded.
    Map(BTreeMap<String, Self>),
}

impl<R> Template<R> {
    /// Plain value, with segments concatenated.
    pub fn join(&self, text_of: &mut dyn FnMut(&R) -> String) -> Json {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(segments) => Json::String(join(segments, text_of)),
            Self::List(list) => list.iter().map(|item| item.join(text_of)).collect(),
            Self::Map(map) => {
                Json::Object(map.iter().map(|(key, item)| (key.clone(), item.join(text_of))).collect())
            }
        }
    }
}

/// Error with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<E> {
    /// Keys and indexes.
    pub path: Vec<String>,
    /// The error.
    pub error: E,
}

/// Expands every string in a value, at any depth.
pub fn expand_value<R, E>(
    value: &Json,
    lookup: &mut dyn FnMut(&str) -> Result<Segment<R>, E>,
) -> Result<Template<R>, Vec<At<E>>> {
    let mut errors = Vec::new();
    let template = expand_at(value, lookup, &mut Vec::new(), &mut errors);
    if errors.is_empty() { Ok(template) } else { Err(errors) }
}

fn expand_at<R, E>(
    value: &Json,
    lookup: &mut dyn FnMut(&str) -> Result<Segment<R>, E>,
    path: &mut Vec<String>,
    errors: &mut Vec<At<E>>,
) -> Template<R> {
    match value {
        Json::String(text) => match expand(text, &mut *lookup) {
            Ok(segments) => Template::Text(segments),
            Err(found) => {
                errors.extend(found.into_iter().map(|error| At { path: path.clone(), error }));
                Template::Plain(Json::Null)
            }
        },
        Json::Array(list) => Template::List(
            list.iter()
                .enumerate()
                .map(|(index, item)| {
                    path.push(index.to_string());
                    let template = expand_at(item, lookup, path, errors);
                    path.pop();
                    template
                })
                .collect(),
        ),
        Json::Object(map) => Template::Map(
            map.iter()
                .map(|(key, item)| {
                    path.push(key.clone());
                    let template = expand_at(item, lookup, path, errors);
                    path.pop();
                    (key.clone(), template)
                })
                .collect(),
        ),
        other => Template::Plain(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shout(text: &str) -> String {
        let result: Result<_, Vec<()>> =
            expand(text, |reference| Ok(Segment::<()>::Literal(format!("<{reference}>"))));
        join(&result.unwrap(), |()| String::new())
    }

    #[test]
    fn dollars_and_braces_are_lexed_as_in_score_go() {
        for (text, want) in [
            ("", ""),
            ("$abc", "$abc"),
            ("$ {a}", "$ {a}"),
            ("${a", "${a"),
            ("$$", "$"),
            ("$$$", "$$"),
            ("$$$$", "$$"),
            ("$${a}", "${a}"),
            ("$$${a}", "$<a>"),
            ("$$$${a}", "$${a}"),
            ("$${a", "${a"),
            ("${a${b}}", "<a${b>}"),
            ("${}", "<>"),
            ("\\${a}", "\\<a>"),
            ("${x\ny}", "<x\ny>"),
            ("a ${b} c ${d", "a <b> c ${d"),
            ("é${a}✓", "é<a>✓"),
            ("}${", "}${"),
        ] {
            assert_eq!(shout(text), want, "{text}");
        }
    }

    #[test]
    fn a_kept_reference_stays_apart_from_the_text_around_it() {
        let segments =
            expand("a${x}b$$c", |reference| Ok::<_, ()>(Segment::Reference(reference.to_owned()))).unwrap();
        assert_eq!(
            segments,
            [
                Segment::Literal("a".to_owned()),
                Segment::Reference("x".to_owned()),
                Segment::Literal("b$c".to_owned())
            ]
        );
    }

    #[test]
    fn results_are_not_expanded_again() {
        let segments = expand("${x}", |_| Ok::<_, ()>(Segment::<()>::Literal("${y} $$".to_owned()))).unwrap();
        assert_eq!(join(&segments, |()| String::new()), "${y} $$");
    }

    #[test]
    fn all_errors_of_a_string_are_returned_at_once() {
        let errors = expand("${a}${b}", |reference| Err::<Segment<()>, _>(reference.to_owned())).unwrap_err();
        assert_eq!(errors, ["a", "b"]);
    }

    #[test]
    fn a_backslash_keeps_a_dot_in_a_key() {
        assert_eq!(
            Reference::parse("metadata.annotations.key\\.com/foo"),
            Ok(Reference::Metadata(vec!["annotations".to_owned(), "key.com/foo".to_owned()]))
        );
        assert_eq!(split("a\\\\.b"), ["a\\.b"]);
        assert_eq!(split("a..b."), ["a", "", "b", ""]);
    }

    #[test]
    fn many_unclosed_placeholders_take_linear_time() {
        let text = "${".repeat(200_000);
        assert_eq!(shout(&text), text);
    }

    #[test]
    fn values_become_plain_json_inside_text() {
        for (value, want) in [
            (serde_json::json!("<a>"), "<a>"),
            (serde_json::json!(5432), "5432"),
            (serde_json::json!(1.0), "1"),
            (serde_json::json!(1.5), "1.5"),
            (serde_json::json!(null), "null"),
            (serde_json::json!({"b": 2.0, "a": [true]}), r#"{"a":[true],"b":2}"#),
        ] {
            assert_eq!(to_text(&value), want);
        }
    }
}
