//! The pieces of a pattern: counts, escapes and classes.

use std::fmt::Write as _;

use regex::Regex;

use super::problem;

/// `{least}`, `{least,}`, `{least,most}`: the numbers (no most means no bound) and what follows.
pub(super) fn counts(text: &str) -> Option<(u64, Option<u64>, &str)> {
    let (least, rest) = count(text.strip_prefix('{')?)?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((least, Some(least), after));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((least, None, after));
    }
    let (most, rest) = count(rest)?;
    Some((least, Some(most), rest.strip_prefix('}')?))
}

fn count(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u64::MAX), rest))
}

/// A character of a class, and what follows.
pub(super) fn class_char<'a>(text: &'a str, whole: &str) -> Result<(u32, &'a str), String> {
    match text.chars().next() {
        None => Err(problem("missing closing ]", whole)),
        Some('\\') => escaped(text),
        Some(char) => Ok((u32::from(char), text.get(char.len_utf8()..).unwrap_or_default())),
    }
}

/// Reads `\d` or `\pL` at the start of a text into `members`, and says what follows; nothing if there is none.
pub(super) fn class_escape<'a>(text: &'a str, members: &mut String) -> Result<Option<&'a str>, String> {
    let Some(after) = text.strip_prefix('\\') else { return Ok(None) };
    let class = match after.as_bytes().first() {
        Some(b'd') => "[0-9]",
        Some(b'D') => "[^0-9]",
        Some(b's') => r"[\t\n\x0C\r ]",
        Some(b'S') => r"[^\t\n\x0C\r ]",
        Some(b'w') => "[0-9A-Za-z_]",
        Some(b'W') => "[^0-9A-Za-z_]",
        Some(b'p' | b'P') => return unicode_class(text, members).map(Some),
        _ => return Ok(None),
    };
    members.push_str(class);
    Ok(after.get(1..))
}

/// `\pL`, `\p{Greek}`, `\P{^Lu}`
fn unicode_class<'a>(text: &'a str, members: &mut String) -> Result<&'a str, String> {
    let bad = |part: &str| problem("invalid character class range", part);
    let mut negated = text.starts_with(r"\P");
    let after = text.get(2..).unwrap_or_default();
    let Some(first) = after.chars().next() else { return Err(bad(text)) };
    let (mut name, used) = if first == '{' {
        let end = after.find('}').ok_or_else(|| bad(text))?;
        (after.get(1..end).unwrap_or_default(), 2 + end + 1)
    } else {
        (after.get(..first.len_utf8()).unwrap_or_default(), 2 + first.len_utf8())
    };
    let (sequence, rest) = text.split_at(used);
    if let Some(inner) = name.strip_prefix('^') {
        negated = !negated;
        name = inner;
    }
    let class = format!(r"\{}{{{name}}}", if negated { 'P' } else { 'p' });
    let known = name.chars().all(|char| char.is_ascii_alphanumeric() || "_- ".contains(char));
    if !known || Regex::new(&class).is_err() {
        return Err(bad(sequence));
    }
    members.push_str(&class);
    Ok(rest)
}

/// The inside of `[:alpha:]`
pub(super) fn named_class(name: &str) -> Result<String, String> {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "word", "xdigit",
    ];
    if NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
        Ok(format!("[:{name}:]"))
    } else {
        Err(problem("invalid character class range", &format!("[:{name}:]")))
    }
}

/// An escape that stands for one character, and what follows.
pub(super) fn escaped(text: &str) -> Result<(u32, &str), String> {
    let after = text.strip_prefix('\\').unwrap_or(text);
    let Some(first) = after.chars().next() else {
        return Err(problem("trailing backslash at end of expression", ""));
    };
    let rest = after.get(first.len_utf8()..).unwrap_or_default();
    let bad =
        |rest: &str| problem("invalid escape sequence", text.get(..text.len() - rest.len()).unwrap_or(text));
    let code = match first {
        '0' => return Ok(octal(after)),
        '1'..='7' if rest.starts_with(|char| ('0'..='7').contains(&char)) => return Ok(octal(after)),
        'x' => return hexadecimal(rest).map_err(bad),
        'a' => 7,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => u32::from(other),
        _ => return Err(bad(rest)),
    };
    Ok((code, rest))
}

fn octal(digits: &str) -> (u32, &str) {
    let used = digits.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let (digits, rest) = digits.split_at(used);
    (u32::from_str_radix(digits, 8).unwrap_or_default(), rest)
}

/// What follows `\x`; the error is what follows the part that is wrong.
fn hexadecimal(text: &str) -> Result<(u32, &str), &str> {
    let digit = |char: char| char.to_digit(16);
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return Err(text) };
    if first != '{' {
        let second = chars.next();
        return match (digit(first), second.and_then(digit)) {
            (Some(high), Some(low)) => Ok((high * 16 + low, chars.as_str())),
            _ => Err(chars.as_str()),
        };
    }
    let (mut code, mut digits) = (0, 0);
    loop {
        match chars.next() {
            Some('}') if digits > 0 => return Ok((code, chars.as_str())),
            Some(char) => match digit(char) {
                Some(value) if code * 16 + value <= 0x10_ffff => {
                    code = code * 16 + value;
                    digits += 1;
                }
                _ => return Err(chars.as_str()),
            },
            None => return Err(""),
        }
    }
}

pub(super) fn push_char(out: &mut String, char: char) {
    if char.is_ascii_alphanumeric() || !char.is_ascii() {
        out.push(char);
    } else {
        // Writing to a String cannot fail.
        let _ = write!(out, r"\x{{{:X}}}", u32::from(char));
    }
}

/// A range of a class; code points that are no characters match nothing.
pub(super) fn push_range(out: &mut String, low: u32, high: u32) {
    let low = char::from_u32(low).unwrap_or('\u{e000}');
    let high = char::from_u32(high).unwrap_or('\u{d7ff}');
    if low > high {
        return;
    }
    push_char(out, low);
    if low < high {
        out.push('-');
        push_char(out, high);
    }
}
