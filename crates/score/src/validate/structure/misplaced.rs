//! Fields that are misspelled, missing, or at the wrong level of an object.

use super::{Walk, wrong_type};
use crate::{
    code::Code,
    diagnostic::backticked,
    grammar::{Field, Object, Shape},
    node::{Entry, Map, Node},
    pointer::Path,
    source::Span,
    suggest::is_similar,
    validate::hint,
};

impl Walk<'_> {
    /// True if nothing precedes a value on its line.
    pub(super) fn is_on_its_own_line(&self, node: &Node) -> bool {
        let before = node.span.and_then(|span| {
            self.sources.get(span.source.0 as usize)?.text.get(..span.start as usize)?.rsplit('\n').next()
        });
        before.is_some_and(|before| before.trim().is_empty())
    }

    /// Null instead of a map whose content is not indented.
    pub(super) fn wrong_indentation(&mut self, shape: Shape, entry: &Entry, path: &Path<'_>, keys: &[&str]) {
        self.error(Code::TypeMismatch, path, entry.highlight(), || {
            let message = format!("{} (wrong indentation)", wrong_type(shape, &entry.node, path));
            let keys = hint::all(keys.get(..8).unwrap_or(keys));
            (message, format!("indent {keys} under {}", backticked(path.name())))
        });
    }

    /// Fields without their parent, such as `path` and `port` in a probe: one error, and their content is checked.
    pub(super) fn missing_level(
        &mut self,
        object: &Object,
        parent: &Field,
        fields: &[&'static Field],
        map: &Map,
        path: &Path<'_>,
    ) {
        for (index, field) in fields.iter().enumerate() {
            let Some(entry) = map.get(field.name) else { continue };
            if index == 0 {
                self.error(
                    Code::UnknownField,
                    &path.key(field.name),
                    entry.key_span.or(entry.node.span),
                    || {
                        let message = format!("unknown field `{}` in {}", field.name, object.noun);
                        (message, format!("write `{}`", hint::with_level(parent, fields, map)))
                    },
                );
            }
            self.entry(field.shape, Some(field), entry, &path.key(field.name));
        }
    }

    /// Content of a misspelled field, checked as that of the field.
    pub(super) fn misspelled(
        &mut self,
        object: &Object,
        map: &Map,
        key: &str,
        entry: &Entry,
        path: &Path<'_>,
    ) {
        let field = hint::similar_field(object, key).filter(|field| !map.contains_key(field.name));
        let Some(field) = field else { return };
        let is_map = matches!(field.shape, Shape::Object(_) | Shape::Map(_) | Shape::MapOrList(..));
        if is_map && entry.node.as_map().is_some() {
            self.entry(field.shape, Some(field), entry, &path.key(key));
        }
    }

    pub(super) fn missing(
        &mut self,
        object: &Object,
        field: &Field,
        map: &Map,
        path: &Path<'_>,
        span: Option<Span>,
    ) {
        // In an object with free keys a misspelled field is no error of its own.
        let misspelled = map.iter().take(100).find(|(key, _)| is_similar(key, field.name));
        let line = misspelled.and_then(|(_, entry)| {
            let span = entry.key_span?;
            Some(self.sources.get(span.source.0 as usize)?.line(span.start as usize))
        });
        self.error(Code::RequiredField, &path.key(field.name), span, || {
            let message = format!("missing required field `{}` in {}", field.name, object.noun);
            let hint = match misspelled {
                Some((key, _)) => {
                    let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
                    format!("did you mean `{}` instead of {}{line}?", field.name, backticked(key))
                }
                None => format!("add `{}`", field.example),
            };
            (message, hint)
        });
    }
}
