//! Translator of patterns in RE2 syntax, which CRDs, CEL rules and Go templates use, to the syntax of the `regex` crate. Where
//! the two read the same text differently (`\d` is ASCII in RE2, `&&` is no operator in a class, …) the pattern is rewritten.

use std::fmt::Write as _;

pub use regex::Regex;

/// The largest count of a repetition.
const MAX_REPEAT: u32 = 1000;

/// Bytes that a compiled pattern may take.
const MAX_SIZE: usize = 1 << 26;
/// Depth of nested groups, as in RE2.
const MAX_NESTING: u32 = 1000;

/// Error for a pattern that RE2 rejects. It does not quote the pattern, which may be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid regular expression: {0}")]
pub struct InvalidPattern(&'static str);

/// Compiles a pattern.
pub fn compile(pattern: &str) -> Result<Regex, InvalidPattern> {
    let mut rewriter = Rewriter { text: pattern.chars().collect(), at: 0, out: String::new() };
    rewriter.rewrite().map_err(InvalidPattern)?;
    regex::RegexBuilder::new(&rewriter.out).nest_limit(MAX_NESTING).size_limit(MAX_SIZE).build().map_err(
        |error| match error {
            regex::Error::CompiledTooBig(_) => InvalidPattern("expression too large"),
            _ => InvalidPattern("unbalanced parenthesis, empty range or misplaced operator"),
        },
    )
}

struct Rewriter {
    text: Vec<char>,
    at: usize,
    out: String,
}

impl Rewriter {
    fn next(&mut self) -> Option<char> {
        let c = self.text.get(self.at).copied();
        self.at += usize::from(c.is_some());
        c
    }

    fn rest_starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.text.get(self.at + i) == Some(&c))
    }

    fn literal(&mut self, c: char) {
        self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    fn rewrite(&mut self) -> Result<(), &'static str> {
        let mut after_repetition = false;
        while let Some(c) = self.next() {
            let repetition = match c {
                '*' | '+' | '?' => {
                    self.out.push(c);
                    true
                }
                '{' => self.counted()?,
                _ => false,
            };
            if repetition {
                if after_repetition {
                    return Err("invalid nested repetition operator");
                }
                if self.rest_starts_with("?") {
                    self.at += 1;
                    self.out.push('?');
                }
            } else if c != '{' {
                self.plain(c)?;
            }
            after_repetition = repetition;
        }
        Ok(())
    }

    fn plain(&mut self, c: char) -> Result<(), &'static str> {
        match c {
            '\\' => self.escape(false),
            '[' => self.class(),
            '(' => self.group(),
            ')' | '|' | '^' | '$' | '.' => {
                self.out.push(c);
                Ok(())
            }
            other => {
                self.literal(other);
                Ok(())
            }
        }
    }

    /// `{2}`, `{2,}`, `{2,3}`; anything else after a brace is text.
    fn counted(&mut self) -> Result<bool, &'static str> {
        let inside: String = self.text[self.at..].iter().take_while(|c| **c != '}').collect();
        let (low, high) = inside.split_once(',').unwrap_or((&inside, &inside));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let closed = self.text.get(self.at + inside.chars().count()) == Some(&'}');
        if !closed || !digits(low) || !(digits(high) || high.is_empty() && inside.contains(',')) {
            self.literal('{');
            return Ok(false);
        }
        for count in [low, high].into_iter().filter(|count| !count.is_empty()) {
            if count.parse::<u32>().map_or(true, |count| count > MAX_REPEAT) {
                return Err("invalid repeat count");
            }
        }
        self.at += inside.chars().count() + 1;
        self.out.extend(["{", &inside, "}"]);
        Ok(true)
    }

    fn group(&mut self) -> Result<(), &'static str> {
        self.out.push('(');
        if !self.rest_starts_with("?") {
            return Ok(());
        }
        let header: String =
            self.text[self.at..].iter().take_while(|c| !matches!(c, ':' | ')' | '>')).collect();
        let named = header.starts_with("?P<") || header.starts_with("?<");
        if !named && !header[1..].chars().all(|c| "imsU-".contains(c))
            || header.starts_with("?<=")
            || header.starts_with("?<!")
        {
            return Err("invalid or unsupported Perl syntax");
        }
        self.at += header.chars().count();
        self.out.push_str(&header);
        if let Some(end) = self.next() {
            self.out.push(end);
        }
        Ok(())
    }

    fn escape(&mut self, in_class: bool) -> Result<(), &'static str> {
        let c = self.next().ok_or("trailing backslash at end of expression")?;
        let set = match c.to_ascii_lowercase() {
            'd' => Some("0-9"),
            'w' => Some("0-9A-Za-z_"),
            's' => Some("\\t\\n\\x0c\\r "),
            _ => None,
        };
        if let Some(set) = set {
            let not = if c.is_ascii_uppercase() { "^" } else { "" };
            self.out.extend(["[", not, set, "]"]);
            return Ok(());
        }
        match c {
            'b' if !in_class => self.out.push_str("(?-u:\\b)"),
            'B' if !in_class => self.out.push_str("(?-u:\\B)"),
            'a' | 'f' | 't' | 'n' | 'r' | 'v' | 'p' | 'P' | 'x' => self.out.extend(['\\', c]),
            'A' | 'z' if !in_class => self.out.extend(['\\', c]),
            'Q' if !in_class => {
                while !self.rest_starts_with("\\E") {
                    let Some(c) = self.next() else { return Ok(()) };
                    self.literal(c);
                }
                self.at += 2;
            }
            '0'..='7' => self.octal(c)?,
            punctuation if punctuation.is_ascii_punctuation() => self.class_literal(punctuation),
            _ => return Err("invalid escape sequence"),
        }
        if matches!(c, 'p' | 'P' | 'x') && self.rest_starts_with("{") {
            self.copy_to('}');
        }
        Ok(())
    }

    /// Octal escape: `\0`, or two or three octal digits. One other digit would be a back-reference.
    fn octal(&mut self, first: char) -> Result<(), &'static str> {
        let mut code = first.to_digit(8).unwrap_or(0);
        let mut digits = 1;
        while let Some(digit) = self.text.get(self.at).and_then(|c| c.to_digit(8)).filter(|_| digits < 3) {
            code = code * 8 + digit;
            digits += 1;
            self.at += 1;
        }
        if digits == 1 && first != '0' {
            return Err("invalid escape sequence");
        }
        // Writing to a String cannot fail.
        let _ = write!(self.out, "\\x{{{code:X}}}");
        Ok(())
    }

    fn class_literal(&mut self, c: char) {
        if c.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(c);
    }

    fn class(&mut self) -> Result<(), &'static str> {
        self.out.push('[');
        if self.rest_starts_with("^") {
            self.at += 1;
            self.out.push('^');
        }
        let mut first = true;
        let mut range = Range::None;
        loop {
            let c = self.next().ok_or("missing closing ]")?;
            range = match c {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.rest_starts_with(":") => {
                    self.named_class()?;
                    Range::None
                }
                '\\' if self.text.get(self.at).is_some_and(|c| "dDwWsSpP".contains(*c)) => {
                    self.escape(true)?;
                    Range::None
                }
                '-' if range == Range::Low && !self.rest_starts_with("]") => {
                    self.out.push('-');
                    Range::Open
                }
                other => {
                    if other == '\\' {
                        self.escape(true)?;
                    } else {
                        self.class_literal(other);
                    }
                    if range == Range::Open { Range::None } else { Range::Low }
                }
            };
            first = false;
        }
    }

    /// `[:alpha:]` and `[:^alpha:]`, after the `[`.
    fn named_class(&mut self) -> Result<(), &'static str> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let start = self.out.len();
        self.out.push('[');
        self.copy_to(']');
        let name = self.out[start..].strip_prefix("[:").and_then(|class| class.strip_suffix(":]"));
        let known = name.is_some_and(|name| NAMES.contains(&name.strip_prefix('^').unwrap_or(name)));
        if known { Ok(()) } else { Err("invalid character class range") }
    }

    fn copy_to(&mut self, end: char) {
        while let Some(c) = self.next() {
            self.out.push(c);
            if c == end {
                return;
            }
        }
    }
}

/// State of a range in a class: `a`, then `a-`, then complete as `a-z`.
#[derive(PartialEq)]
enum Range {
    None,
    Low,
    Open,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_re2() {
        for (pattern, text, matches) in [
            (r"^\d+$", "٣", false),
            (r"^\d+$", "12", true),
            (r"^[\w.-]+$", "a-b.c_d", true),
            (r"[a&&b]", "&", true),
            (r"^[^\s]$", "\u{b}", true),
            (r"a{,2}", "a{,2}", true),
            (r"^a{2,}$", "aaa", true),
            (r"\Qa.b\E$", "a.b", true),
            (r"\Qa.b\E$", "axb", false),
            (r"(?i)^ABC$", "abc", true),
            (r"\<a\>", "<a>", true),
            (r"^[]a]$", "]", true),
            (r"\bé", "é", false),
            (r"^[+--]$", ",", true),
            (r"^\x41\x{42}\103[\104]$", "ABCD", true),
            (r"^\p{Greek}\pL$", "αβ", true),
            (r"^[[:alpha:]&&b]+$", "a&b", true),
            ("^.$", "\n", false),
            ("(?s)^.$", "\n", true),
            ("(?m)a$", "a\n", true),
            ("(?P<n>a)|b", "b", true),
            (r"^[]a]+?$", "a]", true),
            (r"^[^]a]$", "b", true),
            (r"^[\s,]+$", "\u{b}", false),
            (r"^[^\S]$", " ", true),
            (r"^\d{2,3}$", "12", true),
            ("(?i)^É$", "é", true),
            (r"\.\*\{", "a.*{", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn patterns_that_re2_rejects_are_rejected() {
        for pattern in [
            "a**",
            "(?=a)",
            "a{1001}",
            "[a",
            "(",
            "\\",
            "(?x)a",
            "\\Z",
            "\\u0041",
            "(?<!a)b",
            "[z-a]",
            "*a",
            "[a--b]",
            "\\1",
            "\\p{Nope}",
            "[[:nope:]]",
            "a)",
            "(?R)a",
            r"a\b{start}\Z",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
