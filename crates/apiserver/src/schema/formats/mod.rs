//! The formats of strings that a schema may ask for. They accept what the real server accepts, which is sometimes more
//! and sometimes less than the name of the format promises.

mod mail;
mod net;
mod numbers;
mod time;
mod uri;

use std::sync::LazyLock;

use regex::Regex;

pub(crate) use uri::request_uri_parts;

/// Says whether a string has the format.
pub(crate) type Check = fn(&str) -> bool;

/// The check of a format of strings; nothing for a format that the real server does not know and ignores.
pub(crate) fn check_of(format: &str) -> Option<Check> {
    let name = format.replace('-', "");
    Some(match name.as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => |text| request_uri_parts(text).is_some(),
        "email" => mail::is_address,
        "hostname" => net::is_hostname,
        "ipv4" => net::is_ipv4,
        "ipv6" => net::is_ipv6,
        "cidr" => net::is_cidr,
        "mac" => net::is_mac,
        "uuid" => |text| is_uuid(text, None, false),
        "uuid3" => |text| is_uuid(text, Some(b'3'), false),
        "uuid4" => |text| is_uuid(text, Some(b'4'), true),
        "uuid5" => |text| is_uuid(text, Some(b'5'), true),
        "isbn" => |text| numbers::is_isbn10(text) || numbers::is_isbn13(text),
        "isbn10" => numbers::is_isbn10,
        "isbn13" => numbers::is_isbn13,
        "creditcard" => numbers::is_credit_card,
        "ssn" => |text| text.len() == 11 && matches(&SOCIAL_SECURITY, text),
        "hexcolor" => |text| matches(&HEX_COLOR, text),
        "rgbcolor" => |text| matches(&RGB_COLOR, text),
        "byte" => is_base64,
        "password" => |_| true,
        "date" => time::is_date,
        "duration" => time::is_duration,
        "datetime" => time::is_date_time,
        "k8sshortname" => |text| text.len() <= 63 && matches(&SHORT_NAME, text),
        "k8slongname" => |text| text.len() <= 253 && matches(&LONG_NAME, text),
        _ => return None,
    })
}

/// Whether the real server checks a format for values of these types; other formats are ignored.
pub(crate) fn is_recognised(types: &[&str], format: &str) -> bool {
    match types {
        ["integer"] => matches!(format, "int32" | "int64"),
        ["number"] => matches!(format, "float" | "double"),
        ["array" | "object" | "boolean"] => false,
        _ => check_of(format).is_some(),
    }
}

type Lazy = LazyLock<Option<Regex>>;

static SOCIAL_SECURITY: Lazy = LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static HEX_COLOR: Lazy = LazyLock::new(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static RGB_COLOR: Lazy = LazyLock::new(|| {
    let space = r"[\t\n\x0C\r ]*";
    let part = format!("{space}(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5]){space}");
    Regex::new(&format!(r"^rgb\({part},{part},{part}\)$")).ok()
});
static SHORT_NAME: Lazy = LazyLock::new(|| Regex::new("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$").ok());
static LONG_NAME: Lazy =
    LazyLock::new(|| Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok());

fn matches(pattern: &Lazy, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// 32 hexadecimal digits with optional dashes at the usual places.
fn is_uuid(text: &str, version: Option<u8>, strict_variant: bool) -> bool {
    let mut rest = text.as_bytes();
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((part, after)) = rest.split_at_checked(length) else { return false };
        if !part.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        let first = part.first().map(u8::to_ascii_lowercase);
        if index == 2 && version.is_some() && first != version {
            return false;
        }
        if index == 3 && strict_variant && !first.is_some_and(|first| b"89ab".contains(&first)) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// Padded base64 of at least one byte.
fn is_base64(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && data.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_accepts_what_the_real_server_accepts() {
        for (format, good, bad) in [
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd79943901"),
            ("uuid", "A987FBC9-4BED-3078-CF07-9141BA07C9F3", "A987FBC9-4BED-3078-CF07-9141BA07C9F3x"),
            ("uuid4", "57b73598-8764-4ad0-a76a-679bb6640eb1", "57b73598-8764-4ad0-776a-679bb6640eb1"),
            ("uuid3", "a987fbc94bed3078cf079141ba07c9f3", "a987fbc94bed4078cf079141ba07c9f3"),
            ("ssn", "111 11 1111", "00000000"),
            ("hexcolor", "#fff", "#ff"),
            ("rgbcolor", "rgb(0, 31,255)", "rgb(0,31,256)"),
            ("byte", "YQ==", "YQ"),
            ("byte", "YWJj", ""),
            ("date-time", "2014-12-15T19:30:20.000Z", "2014-12-15"),
            ("k8s-short-name", "a-1", "a.b"),
            ("k8s-long-name", "a.b", "-a"),
        ] {
            let accepts = |text| check_of(format).map(|check| check(text));
            assert_eq!((accepts(good), accepts(bad)), (Some(true), Some(false)), "{format}");
        }
        assert!(check_of("uint16").is_none());
    }
}
