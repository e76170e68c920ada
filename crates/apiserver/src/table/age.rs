//! How long ago something was, in two or three significant figures.

const NANOS: i128 = 1_000_000_000;
/// A moment that stands for none: the first of the first month of the first year.
const ZERO: i128 = -62_135_596_800 * NANOS;

/// The age of a timestamp at `now` (seconds of Unix time): `<unknown>` for none, `<invalid>` for one that is no
/// RFC 3339 timestamp or lies in the future.
pub(super) fn since(timestamp: &str, now: i64) -> String {
    if timestamp.is_empty() || timestamp == "null" {
        return "<unknown>".to_owned();
    }
    match nanos(timestamp) {
        None => "<invalid>".to_owned(),
        Some(ZERO) => "<unknown>".to_owned(),
        Some(then) => human(i128::from(now) * NANOS - then),
    }
}

/// A duration in nanoseconds, for people. Durations end at about 292 years.
fn human(nanos: i128) -> String {
    let seconds = nanos.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) / NANOS;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, 'd', hours % 24, 'h'),
        () if hours < 24 * 365 * 2 => format!("{days}d"),
        () if hours < 24 * 365 * 8 => two(years, 'y', days % 365, 'd'),
        () => format!("{years}y"),
    }
}

/// `2m30s`, or `2m` if the smaller part is zero.
fn two(large: i128, large_unit: char, small: i128, small_unit: char) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}

/// The nanoseconds of Unix time of an RFC 3339 timestamp. As lenient as the real server: one digit is enough for the
/// hour, and a comma may stand before the fraction.
fn nanos(timestamp: &str) -> Option<i128> {
    let (date, time) = timestamp.split_at_checked(10)?;
    let date = date.as_bytes();
    let separated = date[4] == b'-' && date[7] == b'-';
    let (year, month, day) = (digits(&date[..4])?, digits(&date[5..7])?, digits(&date[8..])?);
    let time = time.strip_prefix('T')?;
    let (hour, rest) = time.split_once(':')?;
    let (minute, rest) = rest.split_at_checked(2)?;
    let (second, rest) = rest.strip_prefix(':')?.split_at_checked(2)?;
    let (hour, minute, second) = (two_digits(hour)?, digits(minute.as_bytes())?, digits(second.as_bytes())?);
    let (fraction, zone) = fraction(rest)?;
    let offset = offset(zone)?;
    let valid = separated
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = days_before(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    valid.then_some(i128::from(seconds) * NANOS + i128::from(fraction))
}

fn digits(text: &[u8]) -> Option<i64> {
    text.iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

fn two_digits(text: &str) -> Option<i64> {
    (1..=2).contains(&text.len()).then(|| digits(text.as_bytes())).flatten()
}

/// The nanoseconds of a fraction, if there is one, and the rest of the text.
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return Some((0, text)) };
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (all, zone) = rest.split_at_checked(length).filter(|(all, _)| !all.is_empty())?;
    let nine: Vec<u8> = all.bytes().chain(std::iter::repeat(b'0')).take(9).collect();
    Some((digits(&nine)?, zone))
}

/// The seconds that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) =
        rest.split_once(':').filter(|(hours, minutes)| hours.len() == 2 && minutes.len() == 2)?;
    let (hours, minutes) = (digits(hours.as_bytes())?, digits(minutes.as_bytes())?);
    (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from the start of Unix time to a date. Years are counted from March, so that a leap day is the last of
/// its year, and in eras of 400 years, which all have the same number of days.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_or_three_significant_figures() {
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(seconds * NANOS), text, "{seconds}");
        }
    }

    #[test]
    fn timestamps_are_read_with_fractions_and_zones() {
        for (text, nanoseconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:01.5Z", Some(1_500_000_000)),
            ("1970-01-01T0:00:01,25Z", Some(1_250_000_000)),
            ("2000-02-29T12:00:00+01:30", Some(951_820_200 * NANOS)),
            ("2026-11-16T00:38:46Z", Some(1_794_789_526 * NANOS)),
            ("1969-12-31T23:59:59.999999999999Z", Some(-1)),
            ("2001-02-29T12:00:00Z", None),
            ("2001-02-28T24:00:00Z", None),
            ("2001-02-28T12:00:60Z", None),
            ("2001-02-28 12:00:00Z", None),
            ("2001-02-28T12:00:00", None),
            ("2001-02-28T12:00:00.Z", None),
            ("2001-02-28T12:00:00z", None),
            ("2001-é2-28T12:00:00Z", None),
            ("x", None),
        ] {
            assert_eq!(nanos(text), nanoseconds, "{text}");
        }
    }

    #[test]
    fn no_timestamp_is_unknown_and_a_wrong_one_is_invalid() {
        for (text, age) in [("", "<unknown>"), ("0001-01-01T00:00:00Z", "<unknown>"), ("soon", "<invalid>")] {
            assert_eq!(since(text, 0), age);
        }
        assert_eq!(since("1600-01-01T00:00:00Z", 0), "292y");
    }
}
