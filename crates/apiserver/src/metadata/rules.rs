//! Rules of names, label keys and label values. Each returns the errors in a text.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

/// The rule for the names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// Most kinds, and all custom ones.
    Dns1123Subdomain,
    /// Namespaces, for example.
    Dns1123Label,
    /// Any path segment of a URL: roles, for example.
    PathSegment,
}

impl NameRule {
    /// Errors in a name.
    pub(crate) fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::Dns1123Subdomain => dns1123_subdomain(name),
            Self::Dns1123Label => dns1123_label(name),
            Self::PathSegment => path_segment_name(name),
        }
    }

    /// Errors in a `generateName`, which may end with a dash.
    pub(crate) fn check_prefix(self, prefix: &str) -> Vec<String> {
        if self == Self::PathSegment {
            return path_segment_prefix(prefix);
        }
        // The dash and the character before it become `a`, as in the real server.
        match prefix.strip_suffix('-').filter(|rest| !rest.is_empty()) {
            Some(rest) => match rest.get(..rest.len() - 1) {
                Some(start) => self.check(&format!("{start}a")),
                None => self.check(prefix),
            },
            None => self.check(prefix),
        }
    }
}

/// Checks a DNS name of labels with dots between: `example.com`.
pub(crate) fn dns1123_subdomain(name: &str) -> Vec<String> {
    subdomain(name, "characters")
}

fn subdomain(name: &str, unit: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    too_long(&mut wrong, name, MAX_SUBDOMAIN, unit);
    if !is_subdomain(name) {
        wrong.push(regex_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    wrong
}

/// Checks one label of a DNS name: `my-name`.
pub(crate) fn dns1123_label(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    too_long(&mut wrong, name, MAX_LABEL, "characters");
    if is_label(name) {
        return wrong;
    }
    wrong.push(if is_subdomain(name) {
        "must not contain dots".to_owned()
    } else {
        regex_error(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
             and end with an alphanumeric character",
            LABEL,
            &["my-name", "123-abc"],
        )
    });
    wrong
}

/// Checks a label that starts with a letter.
pub(crate) fn dns1035_label(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    too_long(&mut wrong, name, MAX_LABEL, "characters");
    if !(is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase())) {
        wrong.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            LABEL_1035,
            &["my-name", "abc-123"],
        ));
    }
    wrong
}

/// Checks the key of a label, or the name of a finalizer: `example.com/my-name`, or without the domain.
pub(crate) fn qualified_name(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let error = || {
        regex_error(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
             character",
            QUALIFIED,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let name = match name.split_once('/') {
        None => name,
        Some((_, rest)) if rest.contains('/') => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                error()
            )];
        }
        Some(("", rest)) => {
            wrong.push("prefix part must be non-empty".to_owned());
            rest
        }
        Some((prefix, rest)) => {
            wrong.extend(subdomain(prefix, "bytes").iter().map(|problem| format!("prefix part {problem}")));
            rest
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_LABEL {
        wrong.push(format!("name part must be no more than {MAX_LABEL} bytes"));
    }
    if !is_word(name) {
        wrong.push(format!("name part {}", error()));
    }
    wrong
}

/// Checks the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    too_long(&mut wrong, value, MAX_LABEL, "bytes");
    if !(value.is_empty() || is_word(value)) {
        wrong.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    wrong
}

/// Checks a name that may be any path segment.
pub(crate) fn path_segment_name(name: &str) -> Vec<String> {
    match name {
        "." | ".." => vec![format!("may not be '{name}'")],
        _ => path_segment_prefix(name),
    }
}

/// Checks the prefix of a name that may be any path segment.
pub(crate) fn path_segment_prefix(name: &str) -> Vec<String> {
    ['/', '%'].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

fn too_long(wrong: &mut Vec<String>, text: &str, limit: usize, unit: &str) {
    if text.len() > limit {
        wrong.push(format!("must be no more than {limit} {unit}"));
    }
}

fn regex_error(rule: &str, regex: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

fn is_label(text: &str) -> bool {
    let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_edge) && text.ends_with(is_edge) && text.chars().all(|c| is_edge(c) || c == '-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_word(text: &str) -> bool {
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    text.starts_with(is_edge)
        && text.ends_with(is_edge)
        && text.chars().all(|c| is_edge(c) || matches!(c, '-' | '_' | '.'))
}
