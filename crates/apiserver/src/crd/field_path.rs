//! Paths like `.spec.replicas` or `.map['key'].x` that must point to something in a schema.

use crate::schema::Schema;

/// Where a path leads.
pub(super) struct Target<'a> {
    /// The names and keys along the path, for telling paths apart: `spec.replicas`, `map[key]`.
    pub(super) text: String,
    /// The first name.
    pub(super) first: String,
    /// The schema there.
    pub(super) schema: &'a Schema,
}

/// Follows a path, or says why it leads nowhere.
pub(super) fn resolve<'a>(path: &str, schema: &'a Schema, brackets: bool) -> Result<Target<'a>, String> {
    let mut target = Target { text: String::new(), first: String::new(), schema };
    let mut tokens = Tokens { rest: path };
    while let Some(token) = tokens.next() {
        match token {
            "." => {
                let name = tokens.next().ok_or("unexpected end of JSON path")?;
                target.enter(name)?;
            }
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let name = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let name = name.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                target.enter(&unescaped(name)?)?;
                match tokens.next() {
                    Some("]") => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(target)
}

impl Target<'_> {
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        if self.schema.properties.is_empty() {
            self.schema = self.schema.values().ok_or_else(nowhere)?;
            self.text.extend(["[", name, "]"]);
        } else {
            self.schema = self.schema.property(name).ok_or_else(nowhere)?;
            self.text.extend([".", name]);
        }
        if self.first.is_empty() {
            name.clone_into(&mut self.first);
        }
        Ok(())
    }
}

/// Splits a path into `.`, `[`, `]`, texts in single quotes, and everything else.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.rest.chars().next()?;
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let bytes = self.rest.as_bytes();
                let closes =
                    |at: &usize| bytes.get(*at) == Some(&b'\'') && bytes.get(*at - 1) != Some(&b'\\');
                (1..bytes.len()).find(closes).map_or(bytes.len(), |at| at + 1)
            }
            _ => self.rest.find(['.', '[', ']']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (char, char == '\\') {
            (_, false) => out.push(char),
            (_, true) => match chars.next() {
                Some(escaped @ ('\'' | '\\')) => out.push(escaped),
                Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
                None => out.push('\\'),
            },
        }
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_to_a_field_or_nowhere() {
        let schema: Schema = serde_json::from_value(json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a.b": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}}
        }}))
        .unwrap();
        for (path, brackets, result) in [
            (".spec['a.b']", true, Ok(".spec.a.b")),
            (".map.x", false, Ok(".map[x]")),
            (".spec['a.b']", false, Err("array notation is not allowed")),
            (".spec.x", false, Err("does not refer to a valid field")),
            ("spec", false, Err("expected [ or . but got: spec")),
            (".", false, Err("unexpected end of JSON path")),
            (".spec[0]", true, Err("expected single quoted string but got 0")),
        ] {
            let found = resolve(path, &schema, brackets).map(|target| target.text);
            assert_eq!(found, result.map(str::to_owned).map_err(str::to_owned), "{path}");
        }
    }
}
