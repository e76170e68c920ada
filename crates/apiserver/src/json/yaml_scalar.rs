//! What an unquoted word of YAML 1.1 means to the real server.
//!
//! The rules are those of Go's yaml.v2: `yes` and `on` are true, `010` is eight, `1_000` is a thousand, and a date is
//! text that is quoted when it is written.

/// The meaning of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer that only an unsigned type holds.
    Uint(u64),
    Float(f64),
    /// A date, which stays text.
    Timestamp,
    Text,
}

impl Scalar {
    /// The name of the type: `str` of `!!str`.
    pub(super) fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp => "timestamp",
            Self::Text => "str",
        }
    }
}

/// Decides what an unquoted word means.
pub(super) fn resolve(word: &str) -> Scalar {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => match word.as_bytes().first() {
            Some(b'.') => fraction(word),
            Some(b'0'..=b'9' | b'+' | b'-') if is_timestamp(word) => Scalar::Timestamp,
            Some(b'0'..=b'9' | b'+' | b'-') => number(&word.replace('_', "")),
            _ => Scalar::Text,
        },
    }
}

/// Whether a YAML 1.1 reader would take the word for a number of base 60, as in `1:30`.
pub(super) fn is_sexagesimal(word: &str) -> bool {
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    let mut parts = unsigned.split(':');
    let is_number = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    };
    let is_sixtieth = |text: &str| match text.as_bytes() {
        [ones] | [b'0'..=b'5', ones] => ones.is_ascii_digit(),
        _ => false,
    };
    let Some(last) = unsigned.contains(':').then(|| parts.next_back()).flatten() else { return false };
    let (last, fraction) = last.split_once('.').unwrap_or((last, ""));
    parts.next().is_some_and(is_number)
        && parts.all(is_sixtieth)
        && is_sixtieth(last)
        && fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

/// A number that begins with its point, where each `_` stands between digits.
fn fraction(word: &str) -> Scalar {
    let digits = word.replace('_', "");
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = word.as_bytes();
    let is_separated = (1..bytes.len())
        .filter(|at| bytes[*at] == b'_')
        .all(|at| is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1)));
    if is_separated && is_decimal(&digits) { float(&digits) } else { Scalar::Text }
}

fn number(word: &str) -> Scalar {
    if let Some(integer) = integer(word) {
        integer
    } else if is_decimal(word) {
        float(word)
    } else {
        Scalar::Text
    }
}

/// A number beyond the range of its type stays text.
fn float(word: &str) -> Scalar {
    word.parse().ok().filter(|float: &f64| float.is_finite()).map_or(Scalar::Text, Scalar::Float)
}

/// An integer: a prefix decides the base, a leading zero means octal.
fn integer(word: &str) -> Option<Scalar> {
    let (is_negative, digits) = match word.as_bytes().first()? {
        b'-' => (true, &word[1..]),
        b'+' => (false, &word[1..]),
        _ => (false, word),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    if is_negative {
        return 0_i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(integer) => Some(Scalar::Int(integer)),
        Err(_) if word.starts_with('+') => None,
        Err(_) => Some(Scalar::Uint(magnitude)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_decimal(word: &str) -> bool {
    fn after_digits(text: &str) -> (usize, &str) {
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        (count, &text[count..])
    }
    let word = word.strip_prefix(['-', '+']).unwrap_or(word);
    let (whole, mut rest) = after_digits(word);
    if let Some(after_dot) = rest.strip_prefix('.') {
        let (fraction, after) = after_digits(after_dot);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = after;
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let (count, after) = after_digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
            count > 0 && after.is_empty()
        }
        None => rest.is_empty(),
    }
}

/// A date, a date and time with `T` or `t` and a zone, or with a space and no zone.
fn is_timestamp(word: &str) -> bool {
    let Some(date) = after_date(word) else { return false };
    if let Some(time) = date.strip_prefix(' ') {
        return after_time(time).is_some_and(str::is_empty);
    }
    match date.strip_prefix(['T', 't']) {
        Some(time) => after_time(time).is_some_and(is_zone),
        None => date.is_empty(),
    }
}

fn is_zone(text: &str) -> bool {
    text == "Z"
        || text.strip_prefix(['+', '-']).is_some_and(|zone| {
            digits(zone, 2, 2)
                .and_then(|(hour, rest)| Some((hour, digits(rest.strip_prefix(':')?, 2, 2)?)))
                .is_some_and(|(hour, (minute, rest))| hour <= 24 && minute <= 60 && rest.is_empty())
        })
}

/// What follows `2006-1-2`.
fn after_date(text: &str) -> Option<&str> {
    let (year, rest) = digits(text, 4, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 1, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(rest)
}

/// What follows `15:4:5` or `15:4:5.999`.
fn after_time(text: &str) -> Option<&str> {
    let (hour, rest) = digits(text, 1, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 1, 2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 1, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            (count > 0).then(|| &fraction[count..])
        }
        None => Some(rest),
    }
}

/// A number of `min` to `max` digits, as many as there are, and what follows.
fn digits(text: &str, min: usize, max: usize) -> Option<(u32, &str)> {
    let count = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    (count >= min).then(|| (text[..count].parse().unwrap_or(0), &text[count..]))
}
