//! Types of plain (unquoted) scalars.
//!
//! The reference tools use Go's yaml.v3, which mixes YAML 1.1 and 1.2: `yes` and `on` are strings, `0644` is the number
//! 420, `1_000` is a number, `2024-01-01` is a date. This module resolves scalars in the same way.

use serde_json::Number;

/// Resolved plain scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    /// `.inf` and `.nan`, which JSON cannot represent.
    NotFinite,
    Timestamp,
    Text,
}

/// Resolves a plain scalar.
pub(crate) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "true" | "True" | "TRUE" => return Scalar::Bool(true),
        "false" | "False" | "FALSE" => return Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => return Scalar::NotFinite,
        _ => {}
    }
    match text.as_bytes().first() {
        Some(b'.') if is_decimal_float(text) => float(text),
        Some(b'0'..=b'9' | b'+' | b'-') if is_timestamp(text) => Scalar::Timestamp,
        Some(b'0'..=b'9' | b'+' | b'-') => {
            let plain = text.replace('_', "");
            if let Some(number) = integer(&plain) {
                Scalar::Number(number)
            } else if is_decimal_float(&plain) {
                float(&plain)
            } else {
                Scalar::Text
            }
        }
        _ => Scalar::Text,
    }
}

fn float(text: &str) -> Scalar {
    // Go refuses a number out of range, so the scalar stays a string.
    text.parse().ok().and_then(Number::from_f64).map_or(Scalar::Text, Scalar::Number)
}

/// Integers as in Go's `ParseInt(…, 0, 64)`: a prefix selects the base, a leading zero means octal.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (base, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    if negative {
        0i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else if text.starts_with('+') {
        i64::try_from(magnitude).ok().map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_decimal_float(text: &str) -> bool {
    fn digits(text: &str) -> (usize, &str) {
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        (count, &text[count..])
    }
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, mut rest) = digits(text);
    if let Some(after_dot) = rest.strip_prefix('.') {
        let (fraction, after) = digits(after_dot);
        if whole == 0 && fraction == 0 {
            return false;
        }
        rest = after;
    } else if whole == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            let (count, after) = digits(exponent);
            count > 0 && after.is_empty()
        }
        None => rest.is_empty(),
    }
}

/// The four forms of yaml.v3: a date, a date and time with `T` or `t` and a zone, or with a space and no zone.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = fixed_digits(text, 4, 4) else { return false };
    let Some((month, rest)) = rest.strip_prefix('-').and_then(|rest| fixed_digits(rest, 1, 2)) else {
        return false;
    };
    let Some((day, rest)) = rest.strip_prefix('-').and_then(|rest| fixed_digits(rest, 1, 2)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    if !(1..=days).contains(&day) {
        return false;
    }
    if rest.is_empty() {
        return true;
    }
    if let Some(time) = rest.strip_prefix(' ') {
        return after_time_of_day(time).is_some_and(str::is_empty);
    }
    let Some(time) = rest.strip_prefix(['T', 't']) else { return false };
    match after_time_of_day(time) {
        Some("Z") => true,
        Some(zone) => zone.strip_prefix(['+', '-']).is_some_and(|zone| {
            fixed_digits(zone, 2, 2)
                .and_then(|(hour, rest)| Some((hour, fixed_digits(rest.strip_prefix(':')?, 2, 2)?)))
                .is_some_and(|(hour, (minute, rest))| hour <= 24 && minute <= 60 && rest.is_empty())
        }),
        None => false,
    }
}

/// Rest after `15:4:5` or `15:4:5.999`.
fn after_time_of_day(text: &str) -> Option<&str> {
    let (hour, rest) = fixed_digits(text, 1, 2)?;
    let (minute, rest) = fixed_digits(rest.strip_prefix(':')?, 1, 2)?;
    let (second, rest) = fixed_digits(rest.strip_prefix(':')?, 1, 2)?;
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

/// Number of `min` to `max` digits, and the rest.
fn fixed_digits(text: &str, min: usize, max: usize) -> Option<(u32, &str)> {
    let count = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    (count >= min).then(|| (text[..count].parse().unwrap_or(0), &text[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> String {
        match resolve(text) {
            Scalar::Number(number) => number.to_string(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn numbers_are_those_of_yaml_v3() {
        for (text, want) in [
            ("0", "0"),
            ("80", "80"),
            ("+80", "80"),
            ("-80", "-80"),
            ("0644", "420"),
            ("-0644", "-420"),
            ("0o644", "420"),
            ("0x1F", "31"),
            ("0b101", "5"),
            ("1_000", "1000"),
            ("1.5", "1.5"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("+.5", "0.5"),
            ("1e3", "1000.0"),
            ("0888", "888.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("-9223372036854775808", "-9223372036854775808"),
        ] {
            assert_eq!(number(text), want, "{text}");
        }
    }

    #[test]
    fn lookalikes_of_other_types_are_strings() {
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "12:30:45",
            "1.2.3",
            "100m",
            ".",
            "..",
            "-",
            "+",
            "0x",
            "0b2",
            "0o9",
            "1e",
            "1e+",
            "._5",
            "<<",
            "tRUE",
            "nULL",
            "2024-01-01x",
            "2024-13-01",
            "2024-02-30",
            "2023-02-29",
            "1e999",
        ] {
            assert_eq!(resolve(text), Scalar::Text, "{text}");
        }
    }

    #[test]
    fn dates_and_times_are_timestamps() {
        for text in [
            "2024-01-01",
            "2024-1-1",
            "2024-02-29",
            "2024-01-01T10:00:00Z",
            "2024-01-01t1:2:3.25+02:00",
            "2024-01-01 10:00:00.5",
        ] {
            assert_eq!(resolve(text), Scalar::Timestamp, "{text}");
        }
        for text in ["2024-01-01T10:00:00", "2024-01-01 10:00:00Z", "2024-01-01T25:00:00Z", "24-01-01"] {
            assert_eq!(resolve(text), Scalar::Text, "{text}");
        }
    }

    #[test]
    fn infinity_and_nan_are_not_finite() {
        for text in [".inf", "-.INF", "+.Inf", ".NaN"] {
            assert_eq!(resolve(text), Scalar::NotFinite, "{text}");
        }
    }
}
