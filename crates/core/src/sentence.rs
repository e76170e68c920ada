//! Formatting of messages as sentences for conditions.

/// Sentence with a capital and one full stop, and the number of further messages.
pub(crate) fn sentence(text: &str, more: usize) -> String {
    let text = text.trim();
    let is_question = text.ends_with(['?', '!']);
    let text = text.trim_end_matches('.');
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let end = if is_question && more.is_empty() { "" } else { "." };
    let mut rest = text.chars();
    let first = rest.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}{more}{end}", rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_a_capital_and_one_full_stop() {
        for (text, more, expected) in [
            ("there is none; add one", 0, "There is none; add one."),
            ("There is none.", 2, "There is none (and 2 more)."),
            ("no `imag`; did you mean `image`?", 0, "No `imag`; did you mean `image`?"),
            ("no `imag`; did you mean `image`?", 1, "No `imag`; did you mean `image`? (and 1 more)."),
            ("`a` is wrong", 0, "`a` is wrong."),
        ] {
            assert_eq!(sentence(text, more), expected);
        }
    }
}
