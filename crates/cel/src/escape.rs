//! Names of fields as rules write them: `__dash__` for `-`, `__namespace__` for a reserved word.

use crate::parser::RESERVED;

const SEQUENCES: &[(&str, &str)] = &[("__", "underscores"), (".", "dot"), ("-", "dash"), ("/", "slash")];

/// True if a name is a reserved word.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "true" | "false" | "null" | "in") || RESERVED.contains(&name)
}

/// Escaped name; none if rules cannot refer to it.
pub(crate) fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some((text, word)) = SEQUENCES.iter().find(|(text, _)| rest.starts_with(text)) {
            escaped.extend(["__", word, "__"]);
            rest = &rest[text.len()..];
        } else if c.is_ascii_alphanumeric() || c == '_' {
            escaped.push(c);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(escaped)
}

/// Name of the field; none if the escape is invalid.
pub(crate) fn unescape(escaped: &str) -> Option<String> {
    let mut name = String::new();
    let mut rest = escaped;
    while let Some(c) = rest.chars().next() {
        let word = rest.strip_prefix("__").and_then(|after| {
            let end = after.find('_')?;
            (end > 0 && after[end..].starts_with("__")).then(|| &after[..end])
        });
        let Some(word) = word else {
            name.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        match SEQUENCES.iter().find(|(_, known)| *known == word) {
            Some((text, _)) => name.push_str(text),
            None if is_reserved(word) && word.len() + 4 == escaped.len() => name.push_str(word),
            None => return None,
        }
        rest = &rest[word.len() + 4..];
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_unescaped() {
        for (name, escaped) in [
            ("plain", Some("plain")),
            ("a-b", Some("a__dash__b")),
            ("a.b/c", Some("a__dot__b__slash__c")),
            ("a__b", Some("a__underscores__b")),
            ("namespace", Some("__namespace__")),
            ("1st", None),
            ("a b", None),
            ("", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
            if let Some(escaped) = escaped {
                assert_eq!(unescape(escaped).as_deref(), Some(name));
            }
        }
    }

    #[test]
    fn an_unknown_escape_is_not_a_name() {
        assert_eq!(unescape("a__what__b"), None);
        assert_eq!(unescape("a__for__"), None);
        assert_eq!(unescape("_a_"), Some("_a_".to_owned()));
    }
}
