//! The schema layer: walks a document along the grammar.

use super::hint;
use crate::{
    code::Code,
    diagnostic::{Findings, Severity, quoted},
    grammar::{Field, LengthFault, ListOf, MapOf, Object, Shape, TextRule, WORKLOAD},
    node::{Entry, Map, Node, Value},
    pointer::Path,
    source::{Source, Span},
};

/// Reports everything in which a document is not what the schema wants. Answers whether it keeps within the bounds:
/// checks that take more than linear time are for those documents only.
pub(super) fn check(root: &Node, sources: &[Source], findings: &mut Findings) -> bool {
    let mut walk = Walk { sources, findings, within_bounds: true };
    match &root.value {
        Value::Map(map) => walk.object(&WORKLOAD, map, &Path::Root, root.span.map(Span::head)),
        _ => walk.error(Code::TypeMismatch, &Path::Root, root.span, || {
            (
                format!("a Score document is a map, and this is {}", root.kind()),
                "start with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample".to_owned(),
            )
        }),
    }
    walk.within_bounds
}

struct Walk<'f> {
    sources: &'f [Source],
    findings: &'f mut Findings,
    within_bounds: bool,
}

/// A value on the way down: where it is, and what to underline.
struct Here<'a> {
    node: &'a Node,
    path: &'a Path<'a>,
    span: Option<Span>,
    /// The field, unless it is an entry whose name the author chose.
    field: Option<&'static Field>,
}

impl Walk<'_> {
    fn error(
        &mut self,
        code: Code,
        path: &Path<'_>,
        span: Option<Span>,
        word: impl FnOnce() -> (String, String),
    ) {
        self.findings.report(Severity::Error, code, path, span, word);
    }

    fn value(&mut self, shape: Shape, here: &Here<'_>) {
        match (shape, &here.node.value) {
            (Shape::Object(object), Value::Map(map)) => self.object(object, map, here.path, here.span),
            (Shape::Map(map_of) | Shape::MapOrList(map_of, _), Value::Map(map)) => {
                self.map(map_of, map, here);
            }
            (Shape::List(list_of) | Shape::MapOrList(_, list_of), Value::List(list)) => {
                self.list(list_of, list, here);
            }
            (Shape::Text(rule), Value::String(text)) => self.text(rule, text, here.path, here.span),
            (Shape::Word(words), Value::String(word)) => {
                if !words.contains(&word.as_str()) {
                    self.error(Code::ValueNotAllowed, here.path, here.span, || {
                        let message = format!("{} is not a value of `{}`", quoted(word), here.path.name());
                        (message, hint::word(here.path.name(), word, words))
                    });
                }
            }
            (Shape::Integer(min, max), Value::Number(number)) => match here.node.as_integer() {
                Some(value) if (min..=max).contains(&value) => {}
                None if number.as_f64().is_some_and(|f| f.fract() != 0.0) => self.mismatch(shape, here),
                _ => self.out_of_range(number, min, max, here),
            },
            (Shape::Boolean, Value::Bool(_)) | (Shape::FreeMap, Value::Map(_)) => {}
            _ => self.mismatch(shape, here),
        }
    }

    fn mismatch(&mut self, shape: Shape, here: &Here<'_>) {
        let name = here.path.name();
        let written = here.node.span.and_then(|span| self.sources.get(span.source.0 as usize)?.slice(span));
        let subject = if name.is_empty() { "this entry".to_owned() } else { format!("`{name}`") };
        self.error(Code::TypeMismatch, here.path, here.span, || {
            let message =
                format!("{subject} must be {}, and this is {}", hint::shape_kind(shape), here.node.kind());
            (message, hint::mismatch(shape, here.node, written, name, here.field))
        });
    }

    fn out_of_range(&mut self, number: &serde_json::Number, min: i64, max: i64, here: &Here<'_>) {
        self.error(Code::ValueOutOfRange, here.path, here.span, || {
            let message =
                format!("`{}` must be between {min} and {max}, and this is {number}", here.path.name());
            (message, format!("write a number from {min} to {max}"))
        });
    }

    fn object(&mut self, object: &'static Object, map: &Map, path: &Path<'_>, span: Option<Span>) {
        for (key, entry) in map {
            match object.field(key) {
                Some(field) => self.entry(field.shape, Some(field), entry, &path.key(key)),
                None if object.open => {}
                None => {
                    self.error(
                        Code::UnknownField,
                        &path.key(key),
                        entry.key_span.or(entry.node.span),
                        || {
                            let message = format!("{} is not a field of {}", quoted(key), object.noun);
                            (message, hint::unknown_field(object, key, &entry.node))
                        },
                    );
                }
            }
        }
        let unknown = || map.keys().filter(|key| object.field(key).is_none() && !object.open).take(100);
        for field in object.fields.iter().filter(|field| field.required && !map.contains_key(field.name)) {
            if !unknown().any(|key| hint::stands_for(key, field)) {
                self.missing(object, field, path, span);
            }
        }
        let Some(choice) = object.choice else { return };
        let given: Vec<_> = choice.of.iter().filter(|name| map.contains_key(**name)).copied().collect();
        let options = hint::alternatives(choice.of);
        match given.as_slice() {
            [] => self.error(Code::ChoiceRequired, path, span, || {
                let how_many = if choice.exclusive { "one" } else { "at least one" };
                let message = format!("{} needs {how_many} of {options}", object.noun);
                (message, format!("add {}", hint::examples(object, choice.of)))
            }),
            [_, second, ..] if choice.exclusive => self.error(
                Code::ChoiceConflict,
                path,
                map.get(*second).and_then(|entry| entry.key_span).or(span),
                || {
                    let hint = format!("keep one of {} and remove the rest", hint::alternatives(&given));
                    (format!("{} takes only one of {options}", object.noun), hint)
                },
            ),
            _ => {}
        }
    }

    fn missing(&mut self, object: &Object, field: &Field, path: &Path<'_>, span: Option<Span>) {
        self.error(Code::RequiredField, &path.key(field.name), span, || {
            (format!("{} needs `{}`", object.noun, field.name), format!("add `{}`", field.example))
        });
    }

    fn map(&mut self, map_of: &'static MapOf, map: &Map, here: &Here<'_>) {
        if map.len() < map_of.min {
            self.error(Code::EmptyValue, here.path, here.span, || {
                let hint = here
                    .field
                    .map_or_else(|| "add an entry".to_owned(), |field| format!("write `{}`", field.example));
                (format!("`{}` must not be empty", here.path.name()), hint)
            });
        }
        self.limit(map.len(), map_of.limit, here);
        for (key, entry) in map {
            let path = here.path.key(key);
            if !map_of.keys.accepts(key) {
                let span = entry.key_span.or(entry.node.span);
                self.form(map_of.keys, key, &path, span);
            }
            self.entry(map_of.values, None, entry, &path);
        }
    }

    fn list(&mut self, list_of: &'static ListOf, list: &[Node], here: &Here<'_>) {
        self.limit(list.len(), list_of.limit, here);
        for (index, node) in list.iter().enumerate() {
            let path = here.path.index(index);
            let span = match node.value {
                Value::Map(_) | Value::List(_) => node.span.map(Span::head),
                _ => node.span,
            };
            self.value(list_of.items, &Here { node, path: &path, span, field: None });
        }
    }

    fn entry(&mut self, shape: Shape, field: Option<&'static Field>, entry: &Entry, path: &Path<'_>) {
        self.value(shape, &Here { node: &entry.node, path, span: entry.highlight(), field });
    }

    fn limit(&mut self, length: usize, limit: usize, here: &Here<'_>) {
        if length > limit {
            self.within_bounds = false;
            self.error(Code::LimitExceeded, here.path, here.span, || {
                let message =
                    format!("`{}` has {length} entries; at most {limit} are taken", here.path.name());
                (message, "split the workload into several".to_owned())
            });
        }
    }

    fn text(&mut self, rule: &'static TextRule, text: &str, path: &Path<'_>, span: Option<Span>) {
        if rule.accepts(text) {
            return;
        }
        if text.is_empty() && rule.pattern.is_none() {
            self.error(Code::EmptyValue, path, span, || {
                (format!("the {} must not be empty", rule.noun), format!("write {}", rule.form))
            });
        } else {
            self.form(rule, text, path, span);
        }
    }

    fn form(&mut self, rule: &'static TextRule, text: &str, path: &Path<'_>, span: Option<Span>) {
        self.error(Code::PatternMismatch, path, span, || {
            let text_shown = quoted(text);
            let noun = rule.noun;
            let message = match rule.length_fault(text) {
                Some(LengthFault::Below(_)) if text.is_empty() => format!("the {noun} must not be empty"),
                Some(LengthFault::Below(min)) => {
                    format!("the {noun} {text_shown} is shorter than {min} characters")
                }
                Some(LengthFault::Above(max)) => {
                    format!("the {noun} {text_shown} is longer than {max} characters")
                }
                None => {
                    let pattern = rule.pattern.as_ref().map_or(rule.form, |pattern| pattern.text);
                    format!("the {noun} {text_shown} does not match the pattern {pattern}")
                }
            };
            let hint = match rule.suggestion(text) {
                Some(suggestion) => format!("write \"{suggestion}\"; it must be {}", rule.form),
                None => format!("it must be {}", rule.form),
            };
            (message, hint)
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::{Document, Source};

    #[test]
    fn a_name_of_the_wrong_length_is_said_to_be_just_that() {
        let said = |id: &str| {
            let text = format!(
                "apiVersion: score.dev/v1b1\nmetadata: {{name: web}}\ncontainers: {{main: {{image: x}}}}\nresources: {{db: {{type: redis, id: {id}}}}}\n"
            );
            let report = Document::parse(Source::new("score.yaml", text)).check();
            report.errors().map(|error| error.message.clone()).collect::<Vec<_>>()
        };
        assert_eq!(said("x"), ["the resource id \"x\" is shorter than 2 characters"]);
        assert_eq!(
            said(&"x".repeat(64)),
            [format!("the resource id \"{}\" is longer than 63 characters", "x".repeat(64))]
        );
        assert_eq!(said("''"), ["the resource id must not be empty"]);
        assert!(said("X")[0].contains("does not match the pattern"), "{:?}", said("X"));
    }
}
