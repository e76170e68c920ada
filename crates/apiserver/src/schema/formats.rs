//! Formats of strings (the keyword `format`). A format that is not known here is ignored, as a real server ignores formats
//! that it does not know.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use orchestra_cel::{
    Url,
    time::{Timestamp, parse_spelled_duration},
};

use crate::metadata::{dns1123_label, dns1123_subdomain};

/// Check of a string.
pub(crate) type Check = fn(&str) -> bool;

/// Check of a format; none if the format is ignored.
pub(crate) fn check_of(format: &str) -> Option<Check> {
    Some(match format.replace('-', "").as_str() {
        "uri" => |text| Url::parse(text).is_ok(),
        "ipv4" => |text| text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => |text| text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr,
        "uuid" => |text| text.len() <= 36 && text.parse::<uuid::Uuid>().is_ok(),
        "byte" => |text| !text.is_empty() && STANDARD.decode(text).is_ok(),
        "password" => |_| true,
        "date" => |text| Timestamp::parse_date(text).is_some(),
        "duration" => |text| parse_spelled_duration(text).is_some(),
        "datetime" => |text| Timestamp::parse(&text.to_ascii_uppercase()).is_some(),
        "k8sshortname" => |text| dns1123_label(text).is_empty(),
        "k8slongname" => |text| dns1123_subdomain(text).is_empty(),
        _ => return None,
    })
}

/// True if a format is checked for values of these types; other formats are ignored.
pub(crate) fn is_recognised(types: &[&str], format: &str) -> bool {
    match types {
        ["integer"] => matches!(format, "int32" | "int64"),
        ["number"] => matches!(format, "float" | "double"),
        ["array" | "object" | "boolean"] => false,
        _ => check_of(format).is_some(),
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let max = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    length.bytes().all(|byte| byte.is_ascii_digit()) && length.parse::<u8>().is_ok_and(|length| length <= max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_accepts_and_rejects_strings() {
        for (format, good, bad) in [
            ("uri", "http://example.com/a?b", "a b"),
            ("uri", "/a/b", "hello"),
            ("ipv4", "10.0.0.1", "256.0.0.1"),
            ("ipv6", "fe80::1", "fe80::1%eth0"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("cidr", "::/128", "::/129"),
            ("uuid", "A987FBC9-4BED-3078-CF07-9141BA07C9F3", "A987FBC9-4BED-3078-CF07-9141BA07C9F3x"),
            ("byte", "YQ==", "YQ"),
            ("byte", "YWJj", ""),
            ("date", "2024-02-29", "2023-02-29"),
            ("date-time", "2014-12-15T19:30:20.000Z", "2014-12-15"),
            ("date-time", "2014-12-15t19:30:20z", "2014-12-15 19:30:20Z"),
            ("duration", "1h30m", "1"),
            ("duration", "3 weeks", "soon"),
            ("k8s-short-name", "a-1", "a.b"),
            ("k8s-long-name", "a.b", "-a"),
        ] {
            let accepts = |text| check_of(format).map(|check| check(text));
            assert_eq!((accepts(good), accepts(bad)), (Some(true), Some(false)), "{format}");
        }
        assert!(check_of("isbn").is_none());
    }
}
