//! Timestamps and durations as Go reads and prints them.

/// The seconds of the year 1 and of the end of the year 9999: what a timestamp may be.
const RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
const NANOS: i128 = 1_000_000_000;

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamp {
    /// Nanoseconds since 1970.
    pub(super) nanos: i128,
    /// The offset of the time zone it was written in, in seconds.
    offset: i64,
}

/// The parts of a time.
pub(super) struct Parts {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: i64,
    /// From 1.
    pub(super) day: i64,
    /// From 0.
    pub(super) day_of_year: i64,
    /// From Sunday, which is 0.
    pub(super) day_of_week: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) nanos: i64,
}

impl Timestamp {
    /// A point in time, unless it is out of range.
    pub(super) fn new(nanos: i128, offset: i64) -> Option<Self> {
        let seconds = i64::try_from(nanos.div_euclid(NANOS)).ok()?;
        RANGE.contains(&seconds).then_some(Self { nanos, offset })
    }

    /// Whole seconds since 1970.
    pub(super) fn seconds(self) -> i64 {
        i64::try_from(self.nanos.div_euclid(NANOS)).unwrap_or(i64::MAX)
    }

    /// A later or earlier time.
    pub(super) fn plus(self, nanos: i128) -> Option<Self> {
        Self::new(self.nanos + nanos, self.offset)
    }

    /// Its parts at an offset from UTC in seconds.
    pub(super) fn parts(self, offset: i64) -> Parts {
        let local = self.seconds() + offset;
        let (days, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let (year, month, day) = date(days);
        Parts {
            year,
            month,
            day,
            day_of_year: days - days_since_1970(year, 1, 1),
            day_of_week: (days + 4).rem_euclid(7),
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
            nanos: i64::try_from(self.nanos.rem_euclid(NANOS)).unwrap_or(0),
        }
    }

    /// As RFC 3339 in the time zone it was written in.
    pub(super) fn text(self) -> String {
        let p = self.parts(self.offset);
        let zone = match self.offset / 60 {
            0 => "Z".to_owned(),
            minutes => {
                let sign = if minutes < 0 { '-' } else { '+' };
                format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }
        };
        let fraction = if p.nanos == 0 {
            String::new()
        } else {
            format!(".{:09}", p.nanos).trim_end_matches('0').to_owned()
        };
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{fraction}{zone}",
            p.year, p.month, p.day, p.hour, p.minute, p.second
        )
    }

    /// Reads RFC 3339.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::read(text, false)
    }

    /// Reads a value of format `date-time`: it may have no zone, and nothing is the start of 1970.
    pub(super) fn parse_date_time(text: &str) -> Option<Self> {
        if text.is_empty() { Self::new(0, 0) } else { Self::read(text, true) }
    }

    /// Reads a value of format `date`.
    pub(super) fn parse_date(text: &str) -> Option<Self> {
        Self::read(&format!("{text}T00:00:00Z"), false).filter(|_| text.len() == 10)
    }

    fn read(text: &str, zoneless: bool) -> Option<Self> {
        let mut cursor = Cursor(text);
        let year = cursor.digits(4)?;
        let month = cursor.after('-')?.digits(2)?;
        let day = cursor.after('-')?.digits(2)?;
        let hour = cursor.after('T')?.digits(2)?;
        let minute = cursor.after(':')?.digits(2)?;
        let second = cursor.after(':')?.digits(2)?;
        let mut nanos = 0;
        if let Some(fraction) = cursor.0.strip_prefix(['.', ',']) {
            let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
            if end == 0 {
                return None;
            }
            nanos = format!("{:0<9}", &fraction[..end])[..9].parse::<i128>().ok()?;
            cursor.0 = &fraction[end..];
        }
        let offset = zone(cursor.0, zoneless)?;
        if !(1..=12).contains(&month)
            || day < 1
            || day > days_of(year, month)
            || hour > 23
            || minute > 59
            || second > 59
        {
            return None;
        }
        let seconds =
            days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Self::new(i128::from(seconds) * NANOS + nanos, offset)
    }
}

fn zone(text: &str, zoneless: bool) -> Option<i64> {
    if text == "Z" || zoneless && text.is_empty() {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let mut cursor = Cursor(text.strip_prefix(['+', '-'])?);
    let hours = cursor.digits(2)?;
    let minutes = cursor.after(':')?.digits(2)?;
    (cursor.0.is_empty() && hours <= 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The offset in seconds of a time zone that a rule names: `UTC`, or hours and minutes.
pub(super) fn named_zone(name: &str) -> Option<i64> {
    if matches!(name, "" | "UTC") {
        return Some(0);
    }
    let (hours, minutes) = name.split_once(':')?;
    let negative = hours.starts_with('-');
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours.abs() > 24 || minutes.abs() > 60 {
        return None;
    }
    Some(60 * if negative { hours * 60 - minutes } else { hours * 60 + minutes })
}

struct Cursor<'t>(&'t str);

impl Cursor<'_> {
    fn digits(&mut self, count: usize) -> Option<i64> {
        let digits = self.0.get(..count).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
        self.0 = &self.0[count..];
        digits.parse().ok()
    }

    fn after(&mut self, c: char) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(c)?;
        Some(self)
    }
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let years = before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    years + months + day - 1 - 719_162
}

fn date(days: i64) -> (i64, i64, i64) {
    // A year that is not too late; few steps lead from it to the right one.
    let mut year = 1970 + days.div_euclid(if days < 0 { 365 } else { 366 });
    while days_since_1970(year + 1, 1, 1) <= days {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days_since_1970(year, month + 1, 1) <= days {
        month += 1;
    }
    (year, month, days - days_since_1970(year, month, 1) + 1)
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

/// Reads a duration as Go writes it (`1h30m`), in nanoseconds.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
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

/// Reads a value of format `duration`: as Go writes it, or in words (`3 days`).
pub(super) fn parse_spelled_duration(text: &str) -> Option<i64> {
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
    fn timestamps_are_read_and_printed() {
        for text in [
            "2024-02-29T23:59:59.123Z",
            "0001-01-01T00:00:00Z",
            "1969-12-31T23:59:59+02:30",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().text(), text);
        }
        for text in ["2023-02-29T00:00:00Z", "2023-01-01", "2023-01-01T24:00:00Z", "2023-01-01T00:00:00", "x"]
        {
            assert!(Timestamp::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn parts_of_a_time_are_found() {
        let parts = Timestamp::parse("2024-12-31T23:30:05Z").unwrap().parts(0);
        assert_eq!(
            (parts.year, parts.month, parts.day, parts.hour, parts.minute, parts.second),
            (2024, 12, 31, 23, 30, 5)
        );
        assert_eq!((parts.day_of_year, parts.day_of_week), (365, 2));
        let east = Timestamp::parse("2024-12-31T23:30:05Z").unwrap().parts(named_zone("+02:00").unwrap());
        assert_eq!((east.year, east.day_of_year, east.hour), (2025, 0, 1));
    }

    #[test]
    fn durations_are_read() {
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
