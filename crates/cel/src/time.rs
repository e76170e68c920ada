//! Timestamps in RFC 3339 and durations in the notation of Go.

use jiff::{SignedDuration, civil::DateTime};

/// Seconds of the years 1 to 9999: the range of a timestamp.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
const NANOS: i128 = 1_000_000_000;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Instant with the offset from UTC that it was written in.
///
/// It is a civil time and an offset, since the timestamps of jiff end a day before the year 9999 does.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    /// Nanoseconds since 1970.
    nanos: i128,
    /// Seconds ahead of UTC.
    offset: i64,
}

impl Timestamp {
    /// Parses RFC 3339: `2024-02-29T12:34:56.7+01:00`.
    pub fn parse(text: &str) -> Option<Self> {
        const LAYOUT: &[u8] = b"0000-00-00T00:00:00";
        let (start, rest) = text.split_at_checked(LAYOUT.len())?;
        let fits =
            |(byte, part): (u8, &u8)| if *part == b'0' { byte.is_ascii_digit() } else { byte == *part };
        // The parser of jiff turns a leap second into the second before it.
        if !start.bytes().zip(LAYOUT).all(fits) || start.ends_with("60") {
            return None;
        }
        let zone = match rest.strip_prefix(['.', ',']) {
            Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
            None => rest,
        };
        let local: DateTime = text[..text.len() - zone.len()].parse().ok()?;
        let offset = offset(zone)?;
        let nanos = local.duration_since(EPOCH).as_nanos() - i128::from(offset) * NANOS;
        Some(Self { offset, ..Self::from_nanos(nanos)? })
    }

    /// Parses a value of format `date-time` in a rule: the zone may be missing, and an empty text is the start of 1970.
    pub(crate) fn parse_date_time(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Self::from_nanos(0);
        }
        Self::parse(text).or_else(|| Self::parse(&format!("{text}Z")))
    }

    /// Parses a value of format `date`: `2024-02-29`.
    pub fn parse_date(text: &str) -> Option<Self> {
        Self::parse(&format!("{text}T00:00:00Z"))
    }

    /// An instant by its nanoseconds since 1970, unless it is out of range.
    pub(crate) fn from_nanos(nanos: i128) -> Option<Self> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).ok()?;
        RANGE.contains(&seconds).then_some(Self { nanos, offset: 0 })
    }

    /// Nanoseconds since 1970.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Whole seconds since 1970.
    pub fn seconds(self) -> i64 {
        i64::try_from(self.nanos.div_euclid(NANOS)).unwrap_or(i64::MAX)
    }

    /// A later or earlier instant.
    pub(crate) fn plus(self, nanos: i128) -> Option<Self> {
        Some(Self { offset: self.offset, ..Self::from_nanos(self.nanos.checked_add(nanos)?)? })
    }

    /// Date and time at an offset from UTC, in seconds.
    pub(crate) fn at(self, offset: i64) -> DateTime {
        let nanos = i32::try_from(self.nanos.rem_euclid(NANOS)).unwrap_or_default();
        EPOCH.saturating_add(SignedDuration::new(self.seconds() + offset, nanos))
    }

    /// RFC 3339 with the offset that it was written in.
    pub(crate) fn text(self) -> String {
        let local = self.at(self.offset);
        match self.offset / 60 {
            0 => format!("{local}Z"),
            minutes => {
                let sign = if minutes < 0 { '-' } else { '+' };
                format!("{local}{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }
        }
    }

    /// RFC 3339 in UTC with six digits after the seconds.
    pub fn utc_with_micros(self) -> String {
        format!("{:.6}Z", self.at(0))
    }
}

/// Seconds since 1970 as RFC 3339 in UTC.
pub fn rfc3339(seconds: i64) -> String {
    format!("{}Z", EPOCH.saturating_add(SignedDuration::from_secs(seconds)))
}

/// Seconds that the zone of an RFC 3339 time is ahead of UTC: `Z` or `+01:30`.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (hours, minutes) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
    (hours.len() == 2 && minutes.len() == 2).then(|| named_zone(zone))?
}

/// Seconds that a time zone in a rule is ahead of UTC: `UTC`, or hours and minutes.
pub(crate) fn named_zone(name: &str) -> Option<i64> {
    if matches!(name, "" | "UTC") {
        return Some(0);
    }
    let (hours, minutes) = name.split_once(':')?;
    let sign = if hours.starts_with('-') { -1 } else { 1 };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let in_range = hours.abs() <= 24 && (0..=60).contains(&minutes);
    in_range.then_some(hours * 3600 + sign * minutes * 60)
}

const UNITS: &[(&str, i128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a duration in Go syntax (`1h30m`), in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let mut nanos: i128 = 0;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || whole.len() > 19 {
            return None;
        }
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        nanos += if whole.is_empty() { 0 } else { whole.parse::<i128>().ok()? } * scale;
        let fraction = &fraction[..fraction.len().min(18)];
        if !fraction.is_empty() {
            let digits = u32::try_from(fraction.len()).ok()?;
            nanos += fraction.parse::<i128>().ok()? * scale / 10_i128.pow(digits);
        }
        if nanos > i128::from(i64::MAX) {
            return None;
        }
        rest = after;
        if rest.is_empty() {
            return i64::try_from(nanos * sign).ok();
        }
    }
}

/// Parses a value of format `duration`: in Go syntax, or in words (`3 days`).
pub fn parse_spelled_duration(text: &str) -> Option<i64> {
    const DAY: i64 = 86_400_000_000_000;
    const WORDS: &[(&[&str], &str, i64)] = &[
        (&["ns"], "nano", 1),
        (&["us", "µs"], "micro", 1_000),
        (&["ms"], "milli", 1_000_000),
        (&["s"], "sec", 1_000_000_000),
        (&["m"], "min", 60_000_000_000),
        (&["h", "hr"], "hour", 3_600_000_000_000),
        (&["d"], "day", DAY),
        (&["w", "wk"], "week", 7 * DAY),
    ];
    if let Some(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    let mut total = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let after = &rest[start..];
        let (digits, after) =
            after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len()));
        let after = after.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let (unit, after) =
            after.split_at(after.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(after.len()));
        rest = after;
        if unit.is_empty() {
            continue;
        }
        let (unit, factor) = (unit.to_lowercase(), digits.parse::<i64>().ok()?);
        for (_, _, scale) in
            WORDS.iter().filter(|(short, long, _)| short.contains(&unit.as_str()) || unit.starts_with(long))
        {
            total = Some(total.unwrap_or(0_i64).wrapping_add(factor.wrapping_mul(*scale)));
        }
    }
    total
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_parsed_and_printed() {
        for text in [
            "2024-02-29T23:59:59.123Z",
            "0001-01-01T00:00:00Z",
            "1969-12-31T23:59:59+02:30",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().text(), text);
        }
        assert_eq!(Timestamp::parse("1970-01-01T00:00:01,25Z").unwrap().nanos(), 1_250_000_000);
        assert_eq!(Timestamp::parse("1969-12-31T23:59:59.5Z").unwrap().seconds(), -1);
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
    }

    #[test]
    fn only_rfc_3339_is_a_timestamp() {
        for text in [
            "2023-02-29T00:00:00Z",
            "2023-01-01",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:00:60Z",
            "2023-01-01T00:00:00",
            "2023-01-01 00:00:00Z",
            "2023-01-01T00:00:00.Z",
            "2023-01-01T00:00:00z",
            "2023-01-01T00:00:00+0100",
            "2023-é1-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "x",
        ] {
            assert!(Timestamp::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn times_are_printed_at_an_offset() {
        let time = Timestamp::parse("2024-12-31T23:30:05Z").unwrap();
        assert_eq!(time.at(0).to_string(), "2024-12-31T23:30:05");
        assert_eq!(time.at(named_zone("+02:00").unwrap()).to_string(), "2025-01-01T01:30:05");
        assert_eq!(time.at(named_zone("-02:30").unwrap()).to_string(), "2024-12-31T21:00:05");
    }

    #[test]
    fn durations_are_parsed() {
        for (text, nanos) in [
            ("1h30m", Some(5_400_000_000_000)),
            ("-1.5s", Some(-1_500_000_000)),
            ("0", Some(0)),
            ("1us", Some(1_000)),
            ("1d", None),
            ("", None),
            ("1", None),
            ("9999999h", None),
        ] {
            assert_eq!(parse_duration(text), nanos, "{text}");
        }
        assert_eq!(parse_spelled_duration("1 day 2 hours"), Some(26 * 3_600_000_000_000));
        assert_eq!(parse_spelled_duration("soon"), None);
    }
}
