//! Formatting of messages.

/// End of every message about a violation.
pub(super) const REMEDY: &str = "or have the policy changed";
/// Maximum number of listed items.
const MAX_ITEMS: usize = 5;

/// Maximum length of a quoted text.
const MAX_CHARS: usize = 200;

/// Quoted text from outside, on one line and truncated.
pub(super) fn code(text: &str) -> String {
    let mut shown: String =
        text.chars().take(MAX_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// `a`, `b` and `c`; long lists are truncated.
pub(super) fn list<'t>(items: impl IntoIterator<Item = &'t str>) -> String {
    let mut shown: Vec<_> = items.into_iter().map(code).collect();
    if shown.len() > MAX_ITEMS {
        let others = shown.len() - MAX_ITEMS + 1;
        shown.truncate(MAX_ITEMS - 1);
        shown.push(format!("{others} others"));
    }
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_truncated() {
        for (items, want) in [
            ("a", "`a`"),
            ("a b", "`a` and `b`"),
            ("a b c d e", "`a`, `b`, `c`, `d` and `e`"),
            ("a b c d e f", "`a`, `b`, `c`, `d` and 2 others"),
        ] {
            assert_eq!(list(items.split(' ')), want);
        }
    }

    #[test]
    fn quoted_texts_are_truncated_and_on_one_line() {
        assert_eq!(code("a\nb"), "`a b`");
        assert_eq!(code(&"ä".repeat(300)), format!("`{}…`", "ä".repeat(200)));
    }
}
