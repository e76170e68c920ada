//! The `fieldPath` of a rule: where below its place a rule says that something is wrong (`.foo['bar']`).

use crate::schema::Schema;

/// The path as errors show it (`foo[bar]`); none if it leads nowhere in the schema.
pub(super) fn normalised(path: &str, schema: &Schema) -> Option<String> {
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
    Some(shown).filter(|shown| !shown.is_empty())
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
