//! Times of metadata: read as RFC 3339 with any offset, kept as UTC in whole seconds.

use crate::json::quote;

/// The layout that messages name.
const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// Reads a time. It is none for the zero time, which stands for no time at all.
pub(super) fn parse(text: &str) -> Result<Option<String>, String> {
    let mut scan = Scan { text, rest: text };
    let year = scan.number("2006", 4, 4)?;
    scan.literal("-")?;
    let month = scan.number("01", 2, 2)?;
    scan.range((1..=12).contains(&month), "month")?;
    scan.literal("-")?;
    let day = scan.number("02", 2, 2)?;
    scan.literal("T")?;
    let hour = scan.number("15", 1, 2)?;
    scan.range(hour < 24, "hour")?;
    scan.literal(":")?;
    let minute = scan.number("04", 2, 2)?;
    scan.range(minute < 60, "minute")?;
    scan.literal(":")?;
    let second = scan.number("05", 2, 2)?;
    scan.range(second < 60, "second")?;
    scan.skip_fraction();
    let offset = scan.zone()?;
    if !scan.rest.is_empty() {
        return Err(format!("parsing time {}: extra text: {}", quote(text), quote(scan.rest)));
    }
    scan.range(day >= 1 && day <= days_in(year, month), "day")?;
    let seconds = days_before(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset;
    let utc = printed(seconds);
    Ok(Some(utc).filter(|utc| utc != "0001-01-01T00:00:00Z"))
}

/// A time in UTC, in whole seconds.
pub(crate) fn utc(text: &str) -> Option<String> {
    parse(text).ok().flatten()
}

struct Scan<'text> {
    text: &'text str,
    rest: &'text str,
}

impl Scan<'_> {
    fn cannot_parse(&self, part: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(self.text),
            quote(LAYOUT),
            quote(self.rest),
            quote(part)
        )
    }

    fn literal(&mut self, part: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(part).ok_or_else(|| self.cannot_parse(part))?;
        Ok(())
    }

    fn number(&mut self, part: &str, min: usize, max: usize) -> Result<i64, String> {
        let count = self.rest.bytes().take(max).take_while(u8::is_ascii_digit).count();
        if count < min {
            return Err(self.cannot_parse(part));
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(digits.parse().unwrap_or(0))
    }

    fn range(&self, is_inside: bool, what: &str) -> Result<(), String> {
        if is_inside {
            Ok(())
        } else {
            Err(format!("parsing time {}: {what} out of range", quote(self.text)))
        }
    }

    fn skip_fraction(&mut self) {
        if let Some(fraction) = self.rest.strip_prefix(['.', ','])
            && fraction.starts_with(|c: char| c.is_ascii_digit())
        {
            self.rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        }
    }

    /// The seconds that the zone is ahead of UTC.
    fn zone(&mut self) -> Result<i64, String> {
        const PART: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bad = self.cannot_parse(PART);
        let sign = match self.rest.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(bad),
        };
        let number = |text: Option<&str>| {
            text.filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|text| text.parse::<i64>().ok())
        };
        let hour = number(self.rest.get(1..3));
        let colon = self.rest.get(3..4).filter(|colon| *colon == ":");
        let minute = number(self.rest.get(4..6));
        let (Some(hour), Some(_), Some(minute)) = (hour, colon, minute) else { return Err(bad) };
        self.range(hour <= 24, "time zone offset hour")?;
        self.range(minute <= 60, "time zone offset minute")?;
        self.rest = self.rest.get(6..).unwrap_or_default();
        Ok(sign * (hour * 3_600 + minute * 60))
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first of March of the year 0, where a year of this calendar starts.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month + 2) / 5 + day - 1
}

/// The inverse of [`days_before`], with the time of the day.
fn printed(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + i64::from(month >= 10);
    let month = if month < 10 { month + 3 } else { month - 9 };
    format!(
        "{year:04}-{month:02}-{day_of_month:02}T{:02}:{:02}:{:02}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn times_are_kept_in_utc() {
        for (text, utc) in [
            ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
            ("2024-03-01T00:30:00.999+01:00", "2024-02-29T23:30:00Z"),
            ("2023-12-31T23:00:00-02:30", "2024-01-01T01:30:00Z"),
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            ("2000-12-31T1:00:00Z", "2000-12-31T01:00:00Z"),
        ] {
            assert_eq!(parse(text), Ok(Some(utc.to_owned())));
        }
        assert_eq!(parse("0001-01-01T00:00:00Z"), Ok(None));
    }

    #[test]
    fn mistakes_name_the_part_that_is_wrong() {
        let layout = "2006-01-02T15:04:05Z07:00";
        for (text, problem) in [
            ("x", format!(" as \"{layout}\": cannot parse \"x\" as \"2006\"")),
            ("2024-1-01T00:00:00Z", format!(" as \"{layout}\": cannot parse \"1-01T00:00:00Z\" as \"01\"")),
            ("2024-01-01", format!(" as \"{layout}\": cannot parse \"\" as \"T\"")),
            ("2024-01-01T00:00:00", format!(" as \"{layout}\": cannot parse \"\" as \"Z07:00\"")),
            ("2024-13-01T00:00:00Z", ": month out of range".to_owned()),
            ("2023-02-29T00:00:00Z", ": day out of range".to_owned()),
            ("2024-01-01T24:00:00Z", ": hour out of range".to_owned()),
            ("2024-01-01T00:00:00Zx", ": extra text: \"x\"".to_owned()),
        ] {
            assert_eq!(parse(text), Err(format!("parsing time \"{text}\"{problem}")));
        }
    }
}
