//! Field selectors: `metadata.name=a,status.phase!=Running`.

/// Field selector: all its requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// Requirement on one field of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldRequirement {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// The value it is compared with.
    pub value: String,
    /// True if the field must have another value.
    pub is_negated: bool,
}

impl FieldSelector {
    /// Parses a selector. The error is the message of a `400`.
    pub(crate) fn parse(selector: &str) -> Result<Self, String> {
        let mut terms = terms(selector);
        terms.sort_unstable();
        let mut requirements = Vec::new();
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let (field, is_negated, value) = split(term)
                .ok_or_else(|| format!("invalid selector: '{selector}'; can't understand '{term}'"))?;
            let requirement =
                FieldRequirement { field: field.to_owned(), value: unescape(value)?, is_negated };
            // `=` alone is no requirement.
            if !(requirement.field.is_empty() && requirement.value.is_empty()) {
                requirements.push(requirement);
            }
        }
        Ok(Self { requirements })
    }

    /// Requirements, sorted.
    pub(crate) fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// True if it selects the object with these fields. An absent field is empty.
    pub(crate) fn matches(&self, field: &dyn Fn(&str) -> Option<String>) -> bool {
        self.requirements.iter().all(|requirement| {
            let is_equal = field(&requirement.field).unwrap_or_default() == requirement.value;
            is_equal != requirement.is_negated
        })
    }
}

/// The parts between commas that no backslash precedes.
fn terms(selector: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut is_escaped = false;
    for (at, byte) in selector.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b',' => {
                terms.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&selector[start..]);
    terms
}

/// Field, negation, and escaped value.
fn split(term: &str) -> Option<(&str, bool, &str)> {
    let bytes = term.as_bytes();
    let at = (0..bytes.len()).find(|at| bytes[*at] == b'=' || bytes[*at..].starts_with(b"!="))?;
    let operator = ["!=", "==", "="].into_iter().find(|operator| term[at..].starts_with(operator))?;
    Some((&term[..at], operator == "!=", &term[at + operator.len()..]))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => text.push(c),
                Some(other) => {
                    return Err(format!("invalid field selector: invalid escape sequence: \\{other}"));
                }
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => text.push(c),
        }
    }
    Ok(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at once")]
mod tests {
    use super::*;

    fn field(name: &str) -> Option<String> {
        match name {
            "metadata.name" => Some("a,b".to_owned()),
            "status.phase" => Some("Running".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn requirements_match_fields() {
        for (selector, is_match) in [
            ("", true),
            (",,", true),
            ("status.phase=Running", true),
            ("status.phase==Running", true),
            ("status.phase!=Running", false),
            ("status.phase=Running,status.phase!=Failed", true),
            (r"metadata.name=a\,b", true),
            ("metadata.name=a", false),
            ("other=", true),
            ("other!=", false),
        ] {
            assert_eq!(FieldSelector::parse(selector).unwrap().matches(&field), is_match, "{selector}");
        }
    }

    #[test]
    fn errors_name_the_invalid_token() {
        for (selector, message) in [
            ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
            ("metadata.name=a,b", "invalid selector: 'metadata.name=a,b'; can't understand 'b'"),
            (r"a=\b", r"invalid field selector: invalid escape sequence: \b"),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            ("a=\\", "invalid field selector: invalid escape sequence: \\"),
        ] {
            assert_eq!(FieldSelector::parse(selector), Err(message.to_owned()), "{selector}");
        }
    }

    #[test]
    fn requirements_are_sorted() {
        let selector = FieldSelector::parse("b=1,a!=2").unwrap();
        let fields: Vec<&str> = selector.requirements().iter().map(|one| one.field.as_str()).collect();
        assert_eq!(fields, ["a", "b"]);
        assert!(selector.requirements()[0].is_negated);
    }
}
