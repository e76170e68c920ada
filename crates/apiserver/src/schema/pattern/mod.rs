//! Patterns of a schema. They are written in RE2 syntax with ASCII `\d`, `\w` and `\b`, without look-around, and with
//! errors in the words of Go; this module reads that syntax and says the same in the syntax of the `regex` crate.

mod pieces;

use regex::Regex;

use self::pieces::{class_char, class_escape, counts, escaped, named_class, push_char, push_range};

/// Compiles a pattern, or says what is wrong with it: ``error parsing regexp: missing closing ): `(a` ``.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    regex::RegexBuilder::new(&translated)
        .nest_limit(MOST_NESTED)
        .size_limit(1 << 26)
        .build()
        .map_err(|_| problem("expression too large", pattern))
}

/// How deep groups may nest.
const MOST_NESTED: u32 = 1000;
/// How often counted repetitions may repeat something, multiplied along their nesting.
const MOST_REPEATED: u64 = 1000;
/// A class without members.
const NOTHING: &str = r"[^\x00-\x{10FFFF}]";

fn problem(what: &str, part: &str) -> String {
    format!("error parsing regexp: {what}: `{part}`")
}

fn translate(pattern: &str) -> Result<String, String> {
    let mut translation = Translation {
        pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 16),
        flags: Flags::default(),
        open: Vec::new(),
        operand: None,
        heaviest: 1,
        repetition: None,
        new_flags: None,
    };
    translation.run()?;
    Ok(translation.out)
}

#[derive(Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "the four flags of the syntax")]
struct Flags {
    fold: bool,
    lines: bool,
    dot_all: bool,
    ungreedy: bool,
}

impl Flags {
    /// `ims-U`
    fn text(self) -> String {
        let all = [('i', self.fold), ('m', self.lines), ('s', self.dot_all), ('U', self.ungreedy)];
        let of = |wanted: bool| all.iter().filter(move |(_, on)| *on == wanted).map(|(name, _)| *name);
        let off: String = of(false).collect();
        let dash = if off.is_empty() { "" } else { "-" };
        of(true).collect::<String>() + dash + &off
    }
}

/// What surrounds an open group.
struct Open {
    flags: Flags,
    heaviest: u64,
}

struct Translation<'a> {
    pattern: &'a str,
    rest: &'a str,
    out: String,
    flags: Flags,
    open: Vec<Open>,
    /// How often the last operand repeats something; nothing if there is none to repeat.
    operand: Option<u64>,
    /// The largest such number in the open group.
    heaviest: u64,
    /// Where the repetition starts that was read last, if it was the last thing read.
    repetition: Option<&'a str>,
    /// Flags that were set but not written yet: a repetition right behind them still belongs to the operand before.
    new_flags: Option<String>,
}

impl<'a> Translation<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some(char) = self.rest.chars().next() {
            let before = self.repetition.take();
            match char {
                '(' if self.rest.starts_with("(?") => self.special_group()?,
                '(' => {
                    self.skip(1);
                    self.open_group("(?:", self.flags)?;
                }
                ')' => self.close_group()?,
                '|' => {
                    self.skip(1);
                    self.write_flags();
                    self.out.push('|');
                    self.operand = None;
                }
                '^' | '$' | '.' => {
                    self.skip(1);
                    self.operand(&char.to_string());
                }
                '[' => self.class()?,
                '*' | '+' | '?' => {
                    let start = self.rest;
                    self.skip(1);
                    self.repeat(start, 1, before)?;
                }
                '{' => self.counted(before)?,
                '\\' => self.escape()?,
                other => {
                    self.skip(other.len_utf8());
                    self.literal(u32::from(other));
                }
            }
        }
        if self.open.is_empty() { Ok(()) } else { Err(problem("missing closing )", self.pattern)) }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn write_flags(&mut self) {
        if let Some(flags) = self.new_flags.take() {
            self.out.extend(["(?", &flags, ")"]);
        }
    }

    fn operand(&mut self, text: &str) {
        self.write_flags();
        self.out.push_str(text);
        self.operand = Some(1);
    }

    fn literal(&mut self, code: u32) {
        self.write_flags();
        match char::from_u32(code) {
            Some(char) => push_char(&mut self.out, char),
            None => self.out.push_str(NOTHING),
        }
        self.operand = Some(1);
    }

    fn open_group(&mut self, opening: &str, inside: Flags) -> Result<(), String> {
        if self.open.len() >= MOST_NESTED as usize {
            return Err(problem("expression nests too deeply", self.pattern));
        }
        self.write_flags();
        self.out.push_str(opening);
        self.open.push(Open { flags: self.flags, heaviest: self.heaviest });
        self.flags = inside;
        self.heaviest = 1;
        self.operand = None;
        Ok(())
    }

    fn close_group(&mut self) -> Result<(), String> {
        let Some(outer) = self.open.pop() else { return Err(problem("unexpected )", self.pattern)) };
        self.skip(1);
        self.new_flags = None;
        self.out.push(')');
        self.operand = Some(self.heaviest);
        self.heaviest = outer.heaviest.max(self.heaviest);
        self.flags = outer.flags;
        Ok(())
    }

    /// `(?P<name>`, `(?<name>`, `(?i)`, `(?i-s:`
    fn special_group(&mut self) -> Result<(), String> {
        let start = self.rest;
        for opening in ["(?P<", "(?<"] {
            let Some(named) = start.strip_prefix(opening) else { continue };
            let Some((name, rest)) = named.split_once('>') else {
                return Err(problem("invalid named capture", start));
            };
            if name.is_empty() || !name.chars().all(|char| char == '_' || char.is_ascii_alphanumeric()) {
                return Err(problem("invalid named capture", &format!("{opening}{name}>")));
            }
            self.rest = rest;
            return self.open_group("(?:", self.flags);
        }
        let mut flags = self.flags;
        let (mut on, mut seen) = (true, false);
        let mut read = 2;
        for char in start.get(2..).unwrap_or_default().chars() {
            read += char.len_utf8();
            match char {
                'i' => flags.fold = on,
                'm' => flags.lines = on,
                's' => flags.dot_all = on,
                'U' => flags.ungreedy = on,
                '-' if on => {
                    (on, seen) = (false, false);
                    continue;
                }
                ':' | ')' if on || seen => {
                    self.skip(read);
                    let text = flags.text();
                    if char == ':' {
                        return self.open_group(&format!("(?{text}:"), flags);
                    }
                    self.flags = flags;
                    self.new_flags = Some(text);
                    return Ok(());
                }
                _ => break,
            }
            seen = true;
        }
        Err(problem("invalid or unsupported Perl syntax", start.get(..read).unwrap_or(start)))
    }

    /// `{2}`, `{2,}`, `{2,5}`; anything else is a literal brace.
    fn counted(&mut self, before: Option<&'a str>) -> Result<(), String> {
        let start = self.rest;
        let Some((least, most, after)) = counts(start) else {
            self.skip(1);
            self.literal(u32::from('{'));
            return Ok(());
        };
        let used = start.len() - after.len();
        let too_many = |count: u64| count > MOST_REPEATED;
        if too_many(least) || most.is_some_and(|most| too_many(most) || least > most) {
            return Err(problem("invalid repeat count", start.get(..used).unwrap_or(start)));
        }
        self.rest = after;
        self.repeat(start, most.unwrap_or(least), before)
    }

    fn repeat(&mut self, start: &'a str, times: u64, before: Option<&'a str>) -> Result<(), String> {
        if self.rest.starts_with('?') {
            self.skip(1);
        }
        let since = |from: &'a str| from.get(..from.len() - self.rest.len()).unwrap_or(from);
        if let Some(before) = before {
            return Err(problem("invalid nested repetition operator", since(before)));
        }
        let Some(operand) = self.operand else {
            return Err(problem("missing argument to repetition operator", since(start)));
        };
        let weight = if times == 0 { 1 } else { times.saturating_mul(operand) };
        if times >= 2 && weight > MOST_REPEATED {
            return Err(problem("invalid repeat count", since(start)));
        }
        self.out.push_str(since(start));
        self.heaviest = self.heaviest.max(weight);
        self.operand = Some(weight);
        self.repetition = Some(start);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let start = self.rest;
        match start.as_bytes().get(1).copied() {
            Some(b'A' | b'z') => {
                self.operand(start.get(..2).unwrap_or_default());
                self.skip(2);
            }
            Some(b'b') => {
                self.operand(r"(?-u:\b)");
                self.skip(2);
            }
            Some(b'B') => {
                self.operand(r"(?-u:\B)");
                self.skip(2);
            }
            Some(b'C') => return Err(problem("invalid escape sequence", r"\C")),
            Some(b'Q') => {
                self.skip(2);
                let (quoted, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
                quoted.chars().for_each(|char| self.literal(u32::from(char)));
                self.rest = rest;
            }
            _ => {
                let mut class = String::new();
                if let Some(rest) = class_escape(start, &mut class)? {
                    self.rest = rest;
                    self.operand(&class);
                } else {
                    let (code, rest) = escaped(start)?;
                    self.rest = rest;
                    self.literal(code);
                }
            }
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        let mut rest = whole.get(1..).unwrap_or_default();
        let negated = rest.starts_with('^');
        if negated {
            rest = rest.get(1..).unwrap_or_default();
        }
        let mut members = String::new();
        let mut first = true;
        while first || !rest.starts_with(']') {
            first = false;
            if let Some(name) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) {
                members.push_str(&named_class(name.0)?);
                rest = name.1;
                continue;
            }
            if let Some(after) = class_escape(rest, &mut members)? {
                rest = after;
                continue;
            }
            let start = rest;
            let (low, after) = class_char(rest, whole)?;
            rest = after;
            let mut high = low;
            if rest.len() >= 2 && rest.starts_with('-') && !rest.starts_with("-]") {
                (high, rest) = class_char(rest.get(1..).unwrap_or_default(), whole)?;
                if high < low {
                    let range = start.get(..start.len() - rest.len()).unwrap_or(start);
                    return Err(problem("invalid character class range", range));
                }
            }
            push_range(&mut members, low, high);
        }
        self.rest = rest.get(1..).unwrap_or_default();
        let text = match (members.is_empty(), negated) {
            (true, false) => NOTHING.to_owned(),
            (true, true) => r"[\x00-\x{10FFFF}]".to_owned(),
            (false, false) => format!("[{members}]"),
            (false, true) => format!("[^{members}]"),
        };
        self.operand(&text);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_re2() {
        for (pattern, text, matches) in [
            ("^a", "ab", true),
            (r"^\d+$", "٣", false),
            (r"^\W$", "é", true),
            (r"\bfoo\b", "a foo", true),
            (r"o\Bo", "foo", true),
            (r"^[\w.-]+$", "a.b-c_1", true),
            (r"^[^\s]$", "\u{a0}", true),
            ("^.$", "\n", false),
            ("(?s)^.$", "\n", true),
            ("(?i)^straße$", "STRAßE", true),
            ("a$", "a\n", false),
            ("(?m)a$", "a\n", true),
            (r"^\p{Greek}+$", "αβ", true),
            (r"^[[:alpha:]&&b]+$", "a&b", true),
            ("x{,3}", "x{,3}", true),
            (r"\Qa.b\E", "axb", false),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            (r"\x41\x{42}\103", "ABC", true),
            ("(?P<n>a)|b", "b", true),
            ("(?)a(?i:B)c", "abc", true),
            ("^a(?i){2}B$", "aab", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} {text:?}");
        }
    }

    #[test]
    fn a_bad_pattern_is_refused_in_the_words_of_go() {
        for (pattern, message) in [
            ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<!a)b", "invalid named capture: `(?<!a)b`"),
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(a{100}){100}", "invalid repeat count: `{100}`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            (r"a\", "trailing backslash at end of expression: ``"),
            (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
            ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
        ] {
            assert_eq!(compile(pattern).unwrap_err(), format!("error parsing regexp: {message}"));
        }
    }
}
