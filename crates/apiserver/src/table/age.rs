//! Age of a timestamp, in two or three significant figures.

use orchestra_cel::time::Timestamp;

const NANOS: i128 = 1_000_000_000;
/// Zero time of Go, which means absent: the start of year 1.
const ZERO: i128 = -62_135_596_800 * NANOS;

/// Age of a timestamp at `now` (Unix seconds): `<unknown>` for none, `<invalid>` if it is not RFC 3339 or in the future.
pub(super) fn since(timestamp: &str, now: i64) -> String {
    if timestamp.is_empty() || timestamp == "null" {
        return "<unknown>".to_owned();
    }
    match Timestamp::parse(timestamp).map(Timestamp::nanos) {
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
    fn a_missing_timestamp_is_unknown_and_a_malformed_one_invalid() {
        for (text, age) in [("", "<unknown>"), ("0001-01-01T00:00:00Z", "<unknown>"), ("soon", "<invalid>")] {
            assert_eq!(since(text, 0), age);
        }
        assert_eq!(since("1600-01-01T00:00:00Z", 0), "292y");
    }
}
