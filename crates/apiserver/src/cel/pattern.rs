//! Patterns in the syntax of RE2, which the real server uses, as patterns of the `regex` crate. Where the two read the
//! same text differently (`\d` is ASCII in RE2, `&&` is no operator in a class, …) the pattern is rewritten.

use regex::Regex;

const UNCLOSED_CLASS: &str = "missing closing ]";
/// The largest count of a repetition.
const MAX_REPEAT: u32 = 1000;

/// Compiles a pattern, or says what is wrong with it.
pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    let mut rewriter =
        Rewriter { text: pattern.chars().collect(), at: 0, out: String::new(), problem_from: 0 };
    rewriter.rewrite().map_err(|problem| {
        let from = rewriter.problem_from.min(rewriter.text.len());
        let to = if problem == UNCLOSED_CLASS {
            rewriter.text.len()
        } else {
            rewriter.at.min(rewriter.text.len())
        };
        let snippet: String = rewriter.text[from.min(to)..to].iter().collect();
        format!("error parsing regexp: {problem}: `{snippet}`")
    })?;
    Regex::new(&rewriter.out).map_err(|_| format!("error parsing regexp: not understood: `{pattern}`"))
}

struct Rewriter {
    text: Vec<char>,
    at: usize,
    out: String,
    /// Where the construct starts that is being read.
    problem_from: usize,
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
            if !after_repetition || !"*+?{".contains(c) {
                self.problem_from = self.at - 1;
            }
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
            punctuation if punctuation.is_ascii_punctuation() => self.class_literal(punctuation),
            _ => return Err("invalid escape sequence"),
        }
        if matches!(c, 'p' | 'P' | 'x') && self.rest_starts_with("{") {
            self.copy_to('}');
        }
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
            let c = self.next().ok_or(UNCLOSED_CLASS)?;
            range = match c {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.rest_starts_with(":") => {
                    self.out.push('[');
                    self.copy_to(']');
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

    fn copy_to(&mut self, end: char) {
        while let Some(c) = self.next() {
            self.out.push(c);
            if c == end {
                return;
            }
        }
    }
}

/// How far a range in a class is: `a`, then `a-`, then `a-z`, which is over.
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
    fn patterns_mean_what_re2_means() {
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
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_re2_refuses_is_refused() {
        for pattern in [
            "a**", "(?=a)", "a{1001}", "[a", "(", "\\", "(?x)a", "\\Z", "\\u0041", "(?<!a)b", "[z-a]", "*a",
            "[a--b]",
        ] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
