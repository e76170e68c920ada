//! Placeholders: `${resources.db.host}`, `${metadata.name}`, and `$$` for a dollar sign.
//!
//! Exactly as score-go reads them: left to right, one pass, no nesting, no trimming, no defaults; a backslash
//! is no escape, except before a dot inside a reference. Expansion does not produce text but [`Segment`]s, so
//! that a caller can keep a secret as a reference and compose it at the last moment; [`join`] makes text of
//! segments where that is wanted.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value as Json;

/// A piece of a text with placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// `$$`, which stands for `$`.
    Dollar,
    /// `$${…}`, which stands for the `${…}` held here.
    Escaped(&'a str),
    /// `${…}`; what stands between the braces.
    Reference(&'a str),
}

/// Takes a text apart.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    // One search for the last brace, or a text full of `${` without an end would be searched again and again.
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
            // At least the character here, be it a dollar sign, up to the next dollar sign.
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let end = rest[first..].find('$').map_or(rest.len(), |next| first + next);
            (Token::Text(&rest[..end]), end)
        };
        rest = &rest[length..];
        Some(token)
    })
}

/// What stands between the braces, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// `metadata.a.b`: a value of the workload's metadata.
    Metadata(Vec<String>),
    /// `resources.db.host`: an output of a resource. Without keys, the resource itself.
    Resource {
        /// The name of the resource in the workload.
        name: String,
        /// The way to the output.
        keys: Vec<String>,
    },
}

/// Why a reference has no value. The wording names the reference as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// It starts with neither `metadata` nor `resources`.
    #[error("`${{{0}}}` refers to nothing: a placeholder starts with `metadata.` or `resources.`")]
    UnknownRoot(String),
    /// `${metadata}` alone.
    #[error("`${{{0}}}` needs the name of a metadata value, such as `${{metadata.name}}`")]
    MetadataKeyRequired(String),
    /// `${resources}` alone.
    #[error("`${{{0}}}` needs the name of a resource and of its output, such as `${{resources.db.host}}`")]
    ResourceNameRequired(String),
    /// A resource without an output, where only an output has a value.
    #[error("`${{{0}}}` names a resource but none of its outputs")]
    OutputKeyRequired(String),
    /// A resource that the workload does not declare.
    #[error("`${{{reference}}}` refers to the resource `{name}`, which the workload does not declare")]
    UnknownResource {
        /// As it was written.
        reference: String,
        /// The resource.
        name: String,
    },
    /// A key that is not there.
    #[error("`${{{reference}}}` has no value: there is no `{key}`")]
    KeyNotFound {
        /// As it was written.
        reference: String,
        /// The key.
        key: String,
    },
    /// A key of something that has no keys.
    #[error("`${{{reference}}}` has no value: `{key}` is looked for in something that is not a map")]
    NotAMap {
        /// As it was written.
        reference: String,
        /// The key.
        key: String,
    },
}

impl Reference {
    /// Understands what stands between the braces.
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

/// Walks into a value, through maps only. `written` is the reference for the error.
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

/// A value as the text that it becomes inside a text: text as it is, everything else as plain JSON.
pub fn to_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => integral(other).to_string(),
    }
}

/// The reference tools print a number without a fraction as an integer, however it was written.
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

/// A piece of an expanded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<R> {
    /// Text.
    Literal(String),
    /// Something that the caller will know the text of later.
    Reference(R),
}

/// Expands a text. `lookup` answers each reference with text, or with a reference of the caller's own to keep.
/// All errors of the text come at once.
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

/// Makes text of segments.
pub fn join<R>(segments: &[Segment<R>], mut text_of: impl FnMut(&R) -> String) -> String {
    segments
        .iter()
        .map(|segment| match segment {
            Segment::Literal(text) => Cow::Borrowed(text.as_str()),
            Segment::Reference(reference) => Cow::Owned(text_of(reference)),
        })
        .collect()
}

/// An expanded value of any depth: the texts in it are segments.
#[derive(Clone, Debug, PartialEq)]
pub enum Template<R> {
    /// A value that is not text.
    Plain(Json),
    /// A text.
    Text(Vec<Segment<R>>),
    /// A list.
    List(Vec<Self>),
    /// A map. Keys are never expanded.
    Map(BTreeMap<String, Self>),
}

impl<R> Template<R> {
    /// Makes a plain value of it.
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

/// An error and the keys and indexes that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<E> {
    /// Keys and indexes.
    pub path: Vec<String>,
    /// What is wrong there.
    pub error: E,
}

/// Expands every text in a value, at any depth.
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
    fn dollars_and_braces_are_read_as_score_go_reads_them() {
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
    fn all_errors_of_a_text_come_at_once() {
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
    fn many_openings_without_an_end_take_linear_time() {
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
