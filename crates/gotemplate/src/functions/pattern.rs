//! Regular expressions of templates, which Go reads as RE2. The `regex_lite` crate reads some of that syntax differently: it is
//! translated, or refused, so that no pattern silently matches something else.

use regex_lite::Regex;

/// Whitespace in RE2; `regex_lite` includes the vertical tab.
const WHITESPACE: &str = "\\t\\n\\x0C\\r ";
/// Largest count of a repetition in RE2.
const MAX_REPEAT: u32 = 1000;

/// Errors of `regex_lite` about patterns that are invalid in Go, too.
const INVALID_IN_GO: [&str; 5] = [
    "found open group without closing ')'",
    "expected closing ')', but got end of pattern",
    "found closing ')' without matching '('",
    "look-around is not supported",
    "uncounted repetition operator must be applied to a sub-expression",
];

/// Compiles a pattern; `None` if it is invalid in Go, too. The error is a message about a pattern that may be valid there. It
/// does not have the pattern, which may be secret.
pub(super) fn compile(pattern: &str) -> Result<Option<Regex>, String> {
    let mut translator = Translator { rest: pattern, out: String::new() };
    translator
        .translate(pattern.is_ascii())
        .map_err(|syntax| format!("unsupported syntax in a regular expression: {syntax}"))?;
    match Regex::new(&translator.out) {
        Ok(regex) => Ok(Some(regex)),
        Err(error) if INVALID_IN_GO.contains(&error.to_string().as_str()) => Ok(None),
        Err(error) => Err(format!("invalid or unsupported regular expression: {error}")),
    }
}

struct Translator<'p> {
    rest: &'p str,
    out: String,
}

impl Translator<'_> {
    /// Translates the pattern. The error names the first syntax without a translation.
    fn translate(&mut self, is_ascii: bool) -> Result<(), &'static str> {
        let mut after_repetition = false;
        while let Some(c) = self.rest.chars().next() {
            let is_repetition = matches!(c, '*' | '+' | '?' | '{');
            if is_repetition && after_repetition {
                return Err("nested repetition operator");
            }
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group(is_ascii)?,
                '{' => self.counted()?,
                _ => self.copy(c.len_utf8()),
            }
            if is_repetition && self.rest.starts_with('?') {
                self.copy(1);
            }
            after_repetition = is_repetition;
        }
        Ok(())
    }

    /// Copies bytes of the pattern.
    fn copy(&mut self, length: usize) {
        let (copied, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.out.push_str(copied);
        self.rest = rest;
    }

    fn escape(&mut self, in_class: bool) -> Result<(), &'static str> {
        let escaped = self.rest[1..].chars().next();
        let length = 1 + escaped.map_or(0, char::len_utf8);
        let set = match (escaped, in_class) {
            (Some('s'), true) => WHITESPACE.to_owned(),
            (Some('s'), false) => format!("[{WHITESPACE}]"),
            (Some('S'), false) => format!("[^{WHITESPACE}]"),
            (Some('S'), true) => return Err(r"`\S` in brackets"),
            // Word boundaries and code points of `regex_lite`.
            (Some('<' | '>' | 'u' | 'U'), _) => return Err(r"`\<`, `\>`, `\u` or `\U`"),
            (Some('b'), false) if self.rest.starts_with(r"\b{") => return Err(r"`\b{`"),
            _ => {
                self.copy(length);
                return Ok(());
            }
        };
        self.out.push_str(&set);
        self.rest = &self.rest[length..];
        Ok(())
    }

    fn class(&mut self) -> Result<(), &'static str> {
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        // A bracket at the beginning is text.
        if self.rest.starts_with(']') {
            self.copy(1);
        }
        while let Some(c) = self.rest.chars().next() {
            match c {
                '\\' => self.escape(true)?,
                '[' if self.rest.starts_with("[:") => {
                    self.copy(self.rest.find(":]").map_or(1, |end| end + 2));
                }
                _ => self.copy(c.len_utf8()),
            }
            if c == ']' {
                break;
            }
        }
        Ok(())
    }

    fn group(&mut self, is_ascii: bool) -> Result<(), &'static str> {
        let end = self.rest.find([':', ')', '<', '=', '!']).map_or(self.rest.len(), |end| end + 1);
        if let Some(flags) = self.rest[..end].strip_prefix("(?") {
            let flags = flags.trim_end_matches("P<");
            if flags.contains(['x', 'R']) {
                return Err("flag `x` or `R`");
            }
            // `regex_lite` folds the case of ASCII only.
            if flags.contains('i') && !is_ascii {
                return Err("flag `i` with characters other than ASCII");
            }
            self.copy(end);
        } else {
            self.copy(1);
        }
        Ok(())
    }

    fn counted(&mut self) -> Result<(), &'static str> {
        let end = self.rest.find('}').map_or(self.rest.len(), |end| end + 1);
        let mut counts = self.rest[1..end].trim_end_matches('}').split(',');
        if counts.any(|count| count.parse::<u32>().is_ok_and(|count| count > MAX_REPEAT)) {
            return Err("repetition of more than 1000");
        }
        self.copy(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, text, expected) in [
            (r"^\d{2,3}$", "12", true),
            (r"^\s$", "\t", true),
            (r"^\s$", "\u{b}", false),
            (r"^\S$", "\u{b}", true),
            (r"^[\s,]+$", " ,", true),
            (r"^[\s,]+$", "\u{b}", false),
            (r"^[]a]+?$", "a]", true),
            (r"^[^]a]$", "b", true),
            (r"^[[:alpha:]_]+$", "a_b", true),
            (r"(?i)^ABC$", "abc", true),
            (r"^(?P<n>a|b)(?:c)*$", "bcc", true),
            (r"\.\*\{", "a.*{", true),
        ] {
            let compiled = compile(pattern);
            let matched = compiled.map(|regex| regex.map(|regex| regex.is_match(text)));
            assert_eq!(matched, Ok(Some(expected)), "{pattern} on {text:?}");
        }
    }

    #[test]
    fn a_pattern_that_would_match_something_else_than_in_go_is_refused() {
        for (pattern, part) in [
            (r"\<a\>", r"`\<`"),
            (r"a\b{start}", r"`\b{`"),
            (r"\u0041", r"`\u`"),
            (r"[^\S]", r"`\S`"),
            ("(?x)a b", "flag `x`"),
            ("(?i)é", "flag `i`"),
            ("a**", "nested"),
            ("a{1001}", "1000"),
            // Valid in Go.
            (r"\p{Greek}", "unsupported"),
            (r"\Qa.b\E", "unsupported"),
            (r"\101", "unsupported"),
            ("[a&&b]", "unsupported"),
            ("a{,2}", "unsupported"),
        ] {
            let error = compile(pattern).unwrap_err();
            assert!(error.contains(part), "{pattern}: {error}");
        }
    }

    #[test]
    fn a_pattern_that_is_invalid_in_go_has_no_expression() {
        for pattern in ["(", "a)", "(?=a)", "(?!a)", "*a"] {
            assert!(matches!(compile(pattern), Ok(None)), "{pattern}");
        }
    }
}
