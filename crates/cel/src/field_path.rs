//! Paths to fields of a schema: the `fieldPath` of a rule (`.foo['bar']`), and selectable fields.

use crate::schema::Schema;

/// Resolved path.
pub struct FieldPath<'s> {
    /// Path in an error: `foo[bar]`.
    pub text: String,
    /// Schema of the field.
    pub schema: &'s Schema,
}

/// Resolves a path; none if it refers to no field of the schema.
pub fn resolve_field_path<'s>(path: &str, schema: &'s Schema) -> Option<FieldPath<'s>> {
    let mut shown = String::new();
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            name = after[..end].to_owned();
            rest = &after[end..];
        } else {
            let after = rest.strip_prefix("['")?;
            let end = closing_quote(after)?;
            name = unquoted(&after[..end])?;
            rest = after[end..].strip_prefix("']")?;
        }
        if name.is_empty() {
            return None;
        }
        if schema.properties.is_empty() {
            schema = schema.values()?;
            shown.extend(["[", &name, "]"]);
        } else {
            schema = schema.property(&name)?;
            let dot = if shown.is_empty() { "" } else { "." };
            shown.extend([dot, &name]);
        }
    }
    (!shown.is_empty()).then_some(FieldPath { text: shown, schema })
}

fn closing_quote(text: &str) -> Option<usize> {
    text.char_indices().find(|(at, c)| *c == '\'' && !text[..*at].ends_with('\\')).map(|(at, _)| at)
}

fn unquoted(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        out.push(match c {
            '\\' => match characters.next()? {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                same @ ('\'' | '\\') => same,
                _ => return None,
            },
            plain => plain,
        });
    }
    Some(out)
}
