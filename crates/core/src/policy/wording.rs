//! The words that messages share.

/// What every message about a violation ends with.
pub(super) const ASK: &str = "or ask the platform team";
/// How many things of a list are named.
const NAMED: usize = 5;

/// How much of a text is shown.
const SHOWN: usize = 200;

/// A text from outside, marked as such, on one line and cut to what fits into a sentence.
pub(super) fn code(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// `a`, `b` and `c`; of long lists, the first few.
pub(super) fn list<'t>(items: impl IntoIterator<Item = &'t str>) -> String {
    let mut shown: Vec<_> = items.into_iter().map(code).collect();
    if shown.len() > NAMED {
        let others = shown.len() - NAMED + 1;
        shown.truncate(NAMED - 1);
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
    fn long_lists_are_cut_short() {
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
    fn texts_from_outside_stay_short_and_on_one_line() {
        assert_eq!(code("a\nb"), "`a b`");
        assert_eq!(code(&"ä".repeat(300)), format!("`{}…`", "ä".repeat(200)));
    }
}
