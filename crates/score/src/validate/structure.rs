//! Schema layer: checks a document against the grammar.

mod misplaced;

use super::{
    foreign_document::foreign_document,
    hint,
    levels::{self, Unindented},
    nesting::{Nesting, Verdict},
};
use crate::{
    code::Code,
    diagnostic::{Findings, Severity, backticked, quoted},
    grammar::{Field, LengthError, ListOf, MapOf, Object, Shape, TextRule, WORKLOAD, doubt},
    node::{Entry, Map, Node, Value},
    pointer::Path,
    source::{Source, Span},
    yaml::foreign_text,
};

/// Reports all schema violations. Returns true if the document is within the limits: checks that take more than linear
/// time run only then.
pub(super) fn check(root: &Node, sources: &[Source], findings: &mut Findings) -> bool {
    let mut walk = Walk { sources, findings, within_bounds: true };
    match &root.value {
        Value::Map(map) if let Some((key, tool)) = foreign_document(map) => {
            let path = Path::Root.key(key);
            walk.error(Code::UnknownField, &path, map.get(key).and_then(|entry| entry.key_span), || {
                let message = format!("unknown field `{key}`: this looks like {tool}, not a Score file");
                (message, "a Score file starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample".to_owned())
            });
        }
        Value::Map(map) => walk.object(&WORKLOAD, map, &Path::Root, root.span.map(Span::head)),
        _ => walk.error(Code::TypeMismatch, &Path::Root, root.span, || {
            let text = root.span.and_then(|span| sources.get(span.source.0 as usize));
            let tool = text.and_then(|source| foreign_text(&source.text));
            let tool = tool.map_or_else(String::new, |tool| format!(": this looks like {tool}, not a Score file"));
            (
                format!("invalid type: expected map, found {}{tool}", root.type_name()),
                "a Score file is a map that starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample".to_owned(),
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

/// Value during the walk, with its path and the span to underline.
struct Here<'a> {
    node: &'a Node,
    path: &'a Path<'a>,
    span: Option<Span>,
    /// Field of the grammar; none for entries of maps and lists.
    field: Option<&'static Field>,
}

impl Walk<'_> {
    fn error(
        &mut self,
        code: Code,
        path: &Path<'_>,
        span: Option<Span>,
        describe: impl FnOnce() -> (String, String),
    ) {
        self.findings.report(Severity::Error, code, path, span, describe);
    }

    /// Warns about a valid value that is probably a mistake.
    fn warn(&mut self, path: &Path<'_>, span: Option<Span>, message: String, hint: String) {
        self.findings.report(Severity::Warning, Code::SuspiciousValue, path, span, || (message, hint));
    }

    fn written(&self, node: &Node) -> Option<&str> {
        node.span.and_then(|span| self.sources.get(span.source.0 as usize)?.slice(span))
    }

    /// Comment instead of a value, such as `#fff`.
    fn comment(&self, here: &Here<'_>) -> Option<&str> {
        let key = here.span.filter(|_| matches!(here.node.value, Value::Null))?;
        let source = self.sources.get(key.source.0 as usize)?;
        let line = source.text.get(key.end as usize..)?.lines().next()?;
        let comment = line.trim_start_matches(['"', '\'']).strip_prefix(':')?.trim();
        let is_value = comment.strip_prefix('#').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        Some(comment).filter(|_| is_value)
    }

    /// A leading zero makes a number octal.
    fn octal(&mut self, value: i64, here: &Here<'_>) {
        let written = self.written(here.node).unwrap_or_default();
        let digits = written.trim_start_matches('0');
        // `080` has no octal digits, and is 80.
        let is_octal =
            digits.len() < written.len() && digits.parse::<i64>().is_ok_and(|plain| plain != value);
        if is_octal {
            let message = format!("octal number: {written} is {value}");
            let hint = format!("write {digits} without the leading zero, or {value}");
            self.warn(here.path, here.span, message, hint);
        }
    }

    /// A plain item that goes on with ` - ` in the next line is two items, the second indented too much.
    fn continued_item(&mut self, node: &Node, path: &Path<'_>) {
        let lines = || self.written(node).into_iter().flat_map(str::lines);
        let is_plain = self.written(node).is_some_and(|text| !text.starts_with(['"', '\'', '|', '>']));
        if is_plain
            && node.as_str().is_some()
            && lines().skip(1).any(|line| line.trim_start().starts_with("- "))
        {
            let message =
                format!("list item {} continues on the next line", quoted(node.as_str().unwrap_or_default()));
            let hint = "indent all items of the list equally, or quote the text".to_owned();
            self.warn(path, node.span, message, hint);
        }
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
            (Shape::Enum(allowed), Value::String(value)) => {
                if !allowed.contains(&value.as_str()) {
                    self.error(Code::ValueNotAllowed, here.path, here.span, || {
                        let name = here.path.name();
                        let options = hint::alternatives(allowed);
                        let message =
                            format!("invalid value {} for `{name}`: must be {options}", quoted(value));
                        (message, hint::allowed_value(name, value, allowed))
                    });
                }
            }
            (Shape::Integer(min, max), Value::Number(number)) => match here.node.as_integer() {
                Some(value) if (min..=max).contains(&value) => self.octal(value, here),
                None if number.as_f64().is_some_and(|f| f.fract() != 0.0) => self.mismatch(shape, here),
                _ => self.out_of_range(number, min, max, here),
            },
            (Shape::Boolean, Value::Bool(_)) | (Shape::FreeMap, Value::Map(_)) => {}
            _ => self.mismatch(shape, here),
        }
    }

    fn mismatch(&mut self, shape: Shape, here: &Here<'_>) {
        let name = here.path.name();
        let written = self.written(here.node).map(str::to_owned);
        let comment = self.comment(here).map(str::to_owned);
        let is_block = self.is_on_its_own_line(here.node);
        self.error(Code::TypeMismatch, here.path, here.span, || {
            let hint = match &comment {
                Some(comment) => format!("`#` starts a comment; quote the value: {}", quoted(comment)),
                None if is_block && let Some(hint) = hint::missing_dash_space(shape, here.node) => hint,
                None => hint::mismatch(shape, here.node, written.as_deref(), name, here.field),
            };
            (wrong_type(shape, here.node, here.path), hint)
        });
    }

    fn out_of_range(&mut self, number: &serde_json::Number, min: i64, max: i64, here: &Here<'_>) {
        let written = self.written(here.node).map_or_else(|| number.to_string(), str::to_owned);
        self.error(Code::ValueOutOfRange, here.path, here.span, || {
            let name = here.path.name();
            let message = format!(
                "invalid value {written} for `{name}`: out of range, must be between {min} and {max}"
            );
            (message, format!("use a number from {min} to {max}"))
        });
    }

    fn object(&mut self, object: &'static Object, map: &Map, path: &Path<'_>, span: Option<Span>) {
        if object.noun == "a header"
            && let Some(header) = hint::header_of(map)
        {
            let entry = map.first().and_then(|(_, entry)| entry.key_span).or(span);
            let key = map.first().map_or("", |(key, _)| key.as_str());
            return self.error(Code::UnknownField, &path.key(key), entry, || {
                (format!("unknown field {} in {}", backticked(key), object.noun), format!("write `{header}`"))
            });
        }
        let unindented = levels::unindented(object, map);
        let level = levels::missing_level(object, map).filter(|_| unindented.is_empty());
        if let Some((parent, fields)) = &level {
            self.missing_level(object, parent, fields, map, path);
        }
        let in_level = |key: &str| {
            level.as_ref().is_some_and(|(_, fields)| fields.iter().any(|field| field.name == key))
        };
        for (key, entry) in map {
            if let Some(found) = unindented.iter().find(|found| found.key == key) {
                if let Some((shape, field)) = found.content {
                    self.entry(shape, field, entry, &path.key(key));
                }
                continue;
            }
            match object.field(key) {
                Some(field) => {
                    let below = |found: &&Unindented<'_>| std::ptr::eq(found.parent, field);
                    let keys: Vec<&str> = unindented.iter().filter(below).map(|found| found.key).collect();
                    if keys.is_empty() {
                        self.entry(field.shape, Some(field), entry, &path.key(key));
                    } else {
                        self.wrong_indentation(field.shape, entry, &path.key(key), &keys);
                    }
                }
                None if object.open || in_level(key) => {}
                None => {
                    self.error(
                        Code::UnknownField,
                        &path.key(key),
                        entry.key_span.or(entry.node.span),
                        || {
                            let mut message = format!("unknown field {} in {}", backticked(key), object.noun);
                            if key.starts_with("//") || key.starts_with("/*") {
                                message = format!("comments are not allowed in JSON: {message}");
                            }
                            (message, hint::unknown_field(object, key, map))
                        },
                    );
                    self.misspelled(object, map, key, entry, path);
                }
            }
        }
        let unknown = || map.keys().filter(|key| object.field(key).is_none() && !object.open).take(100);
        let is_misspelled = |field: &Field| unknown().any(|key| hint::is_meant_as(key, field));
        for field in object.fields.iter().filter(|field| field.required && !map.contains_key(field.name)) {
            if !is_misspelled(field) {
                self.missing(object, field, map, path, span);
            }
        }
        let Some(choice) = object.choice else { return };
        let given: Vec<_> = choice.of.iter().filter(|name| map.contains_key(**name)).copied().collect();
        let options = hint::alternatives(choice.of);
        match given.as_slice() {
            [] if level.is_some() => {}
            [] if choice.of.iter().filter_map(|name| object.field(name)).any(is_misspelled) => {}
            [] => self.error(Code::ChoiceRequired, path, span, || {
                let how_many = if choice.exclusive { "one" } else { "at least one" };
                let message =
                    format!("missing required field: {} needs {how_many} of {options}", object.noun);
                (message, format!("add {}", hint::examples(object, choice.of)))
            }),
            [_, second, ..] if choice.exclusive => self.error(
                Code::ChoiceConflict,
                path,
                map.get(*second).and_then(|entry| entry.key_span).or(span),
                || {
                    let both = hint::all(&given);
                    let message =
                        format!("{both} are mutually exclusive: {} takes only one of {options}", object.noun);
                    (message, format!("keep one of {} and remove the rest", hint::alternatives(&given)))
                },
            ),
            _ => {}
        }
    }

    fn map(&mut self, map_of: &'static MapOf, map: &Map, here: &Here<'_>) {
        if map.len() < map_of.min {
            self.error(Code::EmptyValue, here.path, here.span, || {
                let hint = here
                    .field
                    .map_or_else(|| "add an entry".to_owned(), |field| format!("write `{}`", field.example));
                (format!("`{}` must not be empty: at least one entry is required", here.path.name()), hint)
            });
        }
        self.limit(map.len(), map_of.limit, here);
        let nesting = Nesting::of(map_of, map);
        for (key, entry) in map {
            let path = here.path.key(key);
            let verdict = nesting.as_ref().map(|nesting| nesting.verdict(key, &entry.node, here.field));
            match verdict {
                None | Some(Verdict::Entry) => {}
                Some(Verdict::Reported) => continue,
                Some(Verdict::Content(field)) => {
                    self.entry(field.shape, Some(field), entry, &path);
                    continue;
                }
                Some(Verdict::Unindented(fields)) => {
                    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                    self.wrong_indentation(map_of.values, entry, &path, &fields);
                    continue;
                }
                Some(Verdict::Misplaced(code, message, hint)) => {
                    let message = message.unwrap_or_else(|| wrong_type(map_of.values, &entry.node, &path));
                    self.error(code, &path, entry.key_span.or(entry.node.span), || (message, hint));
                    continue;
                }
            }
            if !map_of.keys.accepts(key) {
                let span = entry.key_span.or(entry.node.span);
                self.invalid_form(map_of.keys, key, &path, span);
            } else if let Some(doubt) = (map_of.keys.doubt)(key) {
                self.warn(&path, entry.key_span.or(entry.node.span), doubt.message, doubt.hint);
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
            self.continued_item(node, &path);
        }
    }

    fn entry(&mut self, shape: Shape, field: Option<&'static Field>, entry: &Entry, path: &Path<'_>) {
        self.value(shape, &Here { node: &entry.node, path, span: entry.highlight(), field });
    }

    fn limit(&mut self, length: usize, limit: usize, here: &Here<'_>) {
        if length > limit {
            self.within_bounds = false;
            self.error(Code::LimitExceeded, here.path, here.span, || {
                let name = here.path.name();
                let message = format!("too many entries in `{name}`: {length}, the limit is {limit}");
                (message, "split the workload into several".to_owned())
            });
        }
    }

    fn text(&mut self, rule: &'static TextRule, text: &str, path: &Path<'_>, span: Option<Span>) {
        // A template without quotes is reported by the parser.
        let written = span.and_then(|span| self.sources.get(span.source.0 as usize)?.slice(span));
        if written.is_some_and(|written| written.starts_with("{{")) {
            return;
        }
        if rule.accepts(text) {
            if let Some(doubt) = (rule.doubt)(text).or_else(|| doubt(text)) {
                self.warn(path, span, doubt.message, doubt.hint);
            }
            return;
        }
        if text.is_empty() && rule.pattern.is_none() {
            self.error(Code::EmptyValue, path, span, || {
                (format!("{} must not be empty", rule.noun), format!("write {}", rule.form))
            });
        } else {
            self.invalid_form(rule, text, path, span);
        }
    }

    fn invalid_form(&mut self, rule: &'static TextRule, text: &str, path: &Path<'_>, span: Option<Span>) {
        self.error(Code::PatternMismatch, path, span, || {
            let text_shown = quoted(text);
            let noun = rule.noun;
            let message = match rule.length_error(text) {
                Some(LengthError::TooShort(_)) if text.is_empty() => format!("{noun} must not be empty"),
                Some(LengthError::TooShort(min)) => {
                    format!("invalid {noun} {text_shown}: too short, must be at least {min} characters")
                }
                Some(LengthError::TooLong(max)) => {
                    format!("invalid {noun} {text_shown}: too long, must be no more than {max} characters")
                }
                None => {
                    let pattern = rule.pattern.as_ref().map_or(rule.form, |pattern| pattern.text);
                    format!("invalid {noun} {text_shown}: must match pattern {pattern}")
                }
            };
            let hint = match rule.suggestion(text) {
                Some(suggestion) if rule.noun == "resource type" && text.contains(':') => {
                    format!("write `type: {suggestion}`; a version belongs under `params`: `params: {{version: \"16\"}}`")
                }
                Some(suggestion) => format!("write \"{suggestion}\"; it must be {}", rule.form),
                None => hint::form(rule, text),
            };
            (message, hint)
        });
    }
}

fn wrong_type(shape: Shape, node: &Node, path: &Path<'_>) -> String {
    let of = match path {
        Path::Root => String::new(),
        Path::Key(_, name) => format!(" for {}", backticked(name)),
        Path::Index(list, _) => format!(" for an item of {}", backticked(list.name())),
    };
    format!("invalid type: expected {}, found {}{of}", hint::shape_type(shape), node.type_name())
}

#[cfg(test)]
mod tests {
    use crate::{Document, Source};

    #[test]
    fn a_name_of_the_wrong_length_is_reported_as_too_short_or_too_long() {
        let messages = |id: &str| {
            let text = format!(
                "apiVersion: score.dev/v1b1\nmetadata: {{name: web}}\ncontainers: {{main: {{image: x}}}}\nresources: {{db: {{type: redis, id: {id}}}}}\n"
            );
            let report = Document::parse(Source::new("score.yaml", text)).check();
            report.errors().map(|error| error.message.clone()).collect::<Vec<_>>()
        };
        assert_eq!(messages("x"), ["invalid resource id \"x\": too short, must be at least 2 characters"]);
        assert_eq!(
            messages(&"x".repeat(64)),
            [format!(
                "invalid resource id \"{}\": too long, must be no more than 63 characters",
                "x".repeat(64)
            )]
        );
        assert_eq!(messages("''"), ["resource id must not be empty"]);
        assert!(messages("X")[0].contains("must match pattern"), "{:?}", messages("X"));
    }
}
