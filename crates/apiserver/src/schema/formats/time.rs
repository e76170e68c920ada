//! Dates and durations.

/// `2006-01-02`, a day that exists.
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = bytes else { return false };
    let (Some(year), Some(month), Some(day)) =
        (number(&[*y1, *y2, *y3, *y4]), number(&[*m1, *m2]), number(&[*d1, *d2]))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| Some(sum * 10 + char::from(*digit).to_digit(10)?))
}

/// A date, a `T`, a time with seconds, a fraction or none, and `Z` or an offset.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(([h1, h2, b':', m1, m2, b':', s1, s2], _)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let in_day = |digits: [u8; 2], most: u32| number(&digits).is_some_and(|value| value <= most);
    if !(in_day([*h1, *h2], 23) && in_day([*m1, *m2], 59) && in_day([*s1, *s2], 59)) {
        return false;
    }
    let rest = text.get(8..).unwrap_or_default();
    is_zone(rest) || after_fraction(rest).is_some_and(is_zone)
}

/// What follows a separator (any character but a line break) and digits.
fn after_fraction(text: &str) -> Option<&str> {
    let separator = text.chars().next().filter(|char| *char != '\n')?;
    let digits = text.get(separator.len_utf8()..)?;
    let rest = digits.trim_start_matches(|char: char| char.is_ascii_digit());
    (rest.len() < digits.len()).then_some(rest)
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => number(&[*h1, *h2, *m1, *m2]).is_some(),
        _ => false,
    }
}

/// A duration as Go writes it (`1h30m`, `1.5s`, `0`) or in words (`22 ns`, `3 weeks`).
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || has_duration_in_words(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|char: char| char.is_ascii_digit());
        let unit =
            unit.strip_prefix('.').map_or(unit, |f| f.trim_start_matches(|char: char| char.is_ascii_digit()));
        let number = rest.get(..rest.len() - unit.len()).unwrap_or_default();
        let whole = number.split_once('.').map_or(number, |(whole, _)| whole);
        let too_large = !whole.is_empty() && whole.parse::<i64>().is_err();
        if too_large || !number.bytes().any(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let end = unit.find(|char: char| char == '.' || char.is_ascii_digit()).unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        if !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        rest = after;
    }
    true
}

/// Whether there is a number with a unit anywhere, and no number with a unit that is too large.
fn has_duration_in_words(text: &str) -> bool {
    let is_letter = |char: char| char.is_ascii_alphabetic() || char == 'µ';
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let from = rest.get(start..).unwrap_or_default();
        let after = from.trim_start_matches(|char: char| char.is_ascii_digit());
        let number = from.get(..from.len() - after.len()).unwrap_or_default();
        let unit = after.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        rest = unit.trim_start_matches(is_letter);
        let unit = unit.get(..unit.len() - rest.len()).unwrap_or_default();
        if unit.is_empty() {
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        found |= is_unit(&unit.to_lowercase());
    }
    found
}

fn is_unit(unit: &str) -> bool {
    const SHORT: [&str; 11] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    const STEMS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    SHORT.contains(&unit) || STEMS.iter().any(|stem| unit.starts_with(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_exist_are_dates() {
        for (text, good) in [
            ("2024-02-29", true),
            ("2023-02-29", false),
            ("1900-02-29", false),
            ("2000-02-29", true),
            ("2024-04-31", false),
            ("2024-13-01", false),
            ("2024-1-1", false),
        ] {
            assert_eq!(is_date(text), good, "{text}");
        }
    }

    #[test]
    fn a_date_time_needs_seconds_and_a_zone() {
        for (text, good) in [
            ("2024-01-01T00:00:00Z", true),
            ("2024-01-01t00:00:00z", true),
            ("2024-01-01T00:00:00,5+01:00", true),
            ("2024-01-01T00:00:00", false),
            ("2024-01-01T24:00:00Z", false),
            ("2024-01-01 00:00:00Z", false),
            ("2024-01-01T23:59:60Z", false),
        ] {
            assert_eq!(is_date_time(text), good, "{text}");
        }
    }

    #[test]
    fn a_duration_may_be_written_in_words() {
        for (text, good) in [
            ("1h30m", true),
            ("-1.5s", true),
            ("0", true),
            ("1.s", true),
            ("3 weeks", true),
            ("2 fortnights and 1 day", true),
            ("1", false),
            ("", false),
            ("s", false),
            ("99999999999999999999 s", false),
            ("99999999999999999999s", false),
        ] {
            assert_eq!(is_duration(text), good, "{text}");
        }
    }
}
