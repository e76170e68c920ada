//! Output of a program in a message: without secrets, on one line, and short.

/// Replacement of a secret.
pub const REDACTED: &str = "***";
/// Longest part of a line in a message.
const MAX_LINE_CHARS: usize = 200;

/// Line of output for a message, without any line of the secrets.
pub fn redacted<'s>(line: &str, secrets: impl IntoIterator<Item = &'s str>) -> String {
    let parts = secrets.into_iter().flat_map(str::lines).map(str::trim).filter(|part| !part.is_empty());
    let mut found: Vec<(usize, usize)> = parts.flat_map(|part| occurrences(line, part)).collect();
    found.sort_unstable();
    let mut text = String::new();
    let (mut start, mut hidden) = (0, None::<(usize, usize)>);
    // A secret may overlap with another one, or contain it.
    for (from, to) in found.into_iter().chain([(line.len(), line.len())]) {
        match &mut hidden {
            Some((_, end)) if from < *end => *end = to.max(*end),
            _ => {
                if let Some((from, to)) = hidden.replace((from, to)) {
                    text.push_str(line.get(start..from).unwrap_or_default());
                    text.push_str(REDACTED);
                    start = to;
                }
            }
        }
    }
    text.push_str(line.get(start..).unwrap_or_default());
    text.chars().map(|c| if c.is_control() || c == '`' { ' ' } else { c }).take(MAX_LINE_CHARS).collect()
}

/// Ranges of a part in a line, which may overlap.
fn occurrences<'a>(line: &'a str, part: &'a str) -> impl Iterator<Item = (usize, usize)> {
    let starts = line.char_indices().map(|(start, _)| start);
    let found = starts.filter(move |start| line.get(*start..).is_some_and(|rest| rest.starts_with(part)));
    found.map(|start| (start, start + part.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_secret_is_left() {
        for (line, secrets, expected) in [
            ("no secret", &["abc"][..], "no secret"),
            ("password abc refused", &["abc"], "password *** refused"),
            ("abcdef", &["abc", "abcdef"], "***"),
            ("abcdef", &["abcdef", "abc"], "***"),
            ("abcdef", &["abcd", "cdef"], "***"),
            ("abcabc", &["abc"], "******"),
            ("aaa", &["aa"], "***"),
            ("it is ümläut!", &["ümläut"], "it is ***!"),
            ("begin one end two", &["one\n\n  two  \n"], "begin *** end ***"),
            ("", &["abc"], ""),
        ] {
            assert_eq!(redacted(line, secrets.iter().copied()), expected, "{line} {secrets:?}");
        }
    }

    #[test]
    fn a_line_is_short_and_has_no_control_characters() {
        assert_eq!(redacted("a\tb`c", []), "a b c");
        assert_eq!(redacted(&"ü".repeat(300), []).chars().count(), MAX_LINE_CHARS);
    }
}
