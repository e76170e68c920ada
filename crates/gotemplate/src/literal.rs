//! Go's number and string literals.

use crate::template::Number;

/// Content of a quoted or raw string. Invalid UTF-8 becomes the replacement character.
pub(crate) fn unquote(token: &str) -> Option<String> {
    if let Some(raw) = token.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        return Some(raw.replace('\r', ""));
    }
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut rest = inner;
    while let Some(unit) = unit(&mut rest, '"')? {
        match unit {
            Unit::Char(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Unit::Byte(byte) => bytes.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

enum Unit {
    Char(char),
    Byte(u8),
}

/// Takes one character or escape sequence. `Some(None)` at the end, `None` if it is invalid.
#[expect(clippy::option_option, reason = "the end is not an error")]
fn unit(rest: &mut &str, quote: char) -> Option<Option<Unit>> {
    let mut chars = rest.chars();
    let Some(first) = chars.next() else { return Some(None) };
    if first != '\\' {
        *rest = chars.as_str();
        return (first != quote && first != '\n').then_some(Some(Unit::Char(first)));
    }
    let escape = chars.next()?;
    *rest = chars.as_str();
    let mut digits = |count: usize, base: u32| -> Option<u32> {
        let digits = rest.get(..count)?;
        let value =
            digits.chars().all(|c| c.is_digit(base)).then(|| u32::from_str_radix(digits, base).ok())?;
        *rest = rest.get(count..)?;
        value
    };
    let unit = match escape {
        'a' => Unit::Char('\u{7}'),
        'b' => Unit::Char('\u{8}'),
        'f' => Unit::Char('\u{c}'),
        'n' => Unit::Char('\n'),
        'r' => Unit::Char('\r'),
        't' => Unit::Char('\t'),
        'v' => Unit::Char('\u{b}'),
        '\\' => Unit::Char('\\'),
        '\'' | '"' if escape == quote => Unit::Char(escape),
        'x' => Unit::Byte(u8::try_from(digits(2, 16)?).ok()?),
        'u' => Unit::Char(char::from_u32(digits(4, 16)?)?),
        'U' => Unit::Char(char::from_u32(digits(8, 16)?)?),
        '0'..='7' => {
            let rest = digits(2, 8)?;
            Unit::Byte(u8::try_from(escape.to_digit(8)? * 64 + rest).ok()?)
        }
        _ => return None,
    };
    Some(Some(unit))
}

/// Number or character constant.
pub(crate) fn number(token: &str) -> Option<Number> {
    if let Some(inner) = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        let mut rest = inner;
        let code = match unit(&mut rest, '\'')?? {
            Unit::Char(c) => i64::from(u32::from(c)),
            Unit::Byte(byte) => i64::from(byte),
        };
        #[expect(clippy::cast_precision_loss, reason = "a character is far below 2^53")]
        return rest.is_empty().then_some(Number {
            int: Some(code),
            float: Some(code as f64),
            is_float: false,
        });
    }
    let int = int(token);
    let hexadecimal = token.trim_start_matches(['+', '-']).to_ascii_lowercase().starts_with("0x");
    let is_float = !hexadecimal && token.contains(['.', 'e', 'E', 'p', 'P']);
    #[expect(clippy::cast_precision_loss, reason = "as in Go")]
    let float = match int {
        Some(int) => Some(int as f64),
        None => float(token).filter(|_| is_float || hexadecimal && token.contains(['p', 'P'])),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "only integers round-trip"
    )]
    let int = int.or_else(|| float.filter(|f| (*f as i64) as f64 == *f).map(|f| f as i64));
    // An integer beyond the range of `int` fails when it is used, not here.
    let unsigned = int.is_none() && unsigned(token).is_some();
    (int.is_some() || float.is_some() || unsigned).then_some(Number { int, float, is_float })
}

/// `strconv.ParseInt(text, 0, 64)`.
pub(crate) fn int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = unsigned(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

fn unsigned(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (base, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some(_) if lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    let prefixed = base != 10;
    let misplaced = digits.ends_with('_') || digits.contains("__") || (digits.starts_with('_') && !prefixed);
    if misplaced || digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(&digits.replace('_', ""), base).ok()
}

fn float(text: &str) -> Option<f64> {
    let plain = text.replace('_', "");
    let is_decimal =
        plain.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    plain.parse().ok().filter(|f: &f64| is_decimal && f.is_finite())
}
