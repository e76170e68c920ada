//! URIs as they stand in the first line of an HTTP request.

use std::net::Ipv6Addr;

/// The scheme and the host of an absolute URI or an absolute path (both empty then); nothing if it is neither.
pub(crate) fn request_uri_parts(text: &str) -> Option<(String, &str)> {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return None;
    }
    if text == "*" {
        return Some((String::new(), ""));
    }
    let (scheme, rest) = split_scheme(text)?;
    let scheme = scheme.to_ascii_lowercase();
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    if !rest.starts_with('/') {
        return (!scheme.is_empty()).then_some((scheme, ""));
    }
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) if !scheme.is_empty() => after.split_at(after.find('/').unwrap_or(after.len())),
        _ => ("", rest),
    };
    (is_authority(&scheme, authority) && escapes_are_whole(path)).then_some((scheme, authority))
}

/// The scheme (empty if there is none) and what follows; nothing if there is a colon without a scheme.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return None,
            b':' => return Some((text.get(..index)?, text.get(index + 1..)?)),
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    let user_char = |char: char| char.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(char);
    user.chars().all(user_char) && escapes_are_whole(user) && is_host(scheme, host)
}

fn is_host(scheme: &str, host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => {
            let Some((address, port)) = host.get(1..).and_then(|inner| inner.rsplit_once(']')) else {
                return false;
            };
            let (address, zone) = match address.split_once("%25") {
                Some((address, zone)) => (address, Some(zone)),
                None => (address, None),
            };
            is_port(port)
                && address.parse::<Ipv6Addr>().is_ok()
                && zone.is_none_or(|zone| {
                    !zone.is_empty() && escapes_are_whole(zone) && zone.bytes().all(is_zone_byte)
                })
        }
        Some(_) => false,
        None => {
            let strict = matches!(scheme, "http" | "https");
            let colon = if strict { host.find(':') } else { host.rfind(':') };
            let (_, port) = host.split_at(colon.unwrap_or(host.len()));
            is_port(port) && has_host_bytes(host)
        }
    }
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_host_byte(byte: u8) -> bool {
    !byte.is_ascii() || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

fn is_zone_byte(byte: u8) -> bool {
    byte == b'%' || is_host_byte(byte)
}

/// Only bytes outside ASCII (and the percent sign) may be escaped in a host.
fn has_host_bytes(host: &str) -> bool {
    escapes_are_whole(host)
        && host.bytes().all(|byte| byte == b'%' || is_host_byte(byte))
        && host.match_indices('%').all(|(at, _)| {
            let escape = host.get(at + 1..at + 3).unwrap_or_default();
            escape == "25"
                || escape.starts_with(|first: char| first.to_digit(16).is_some_and(|digit| digit >= 8))
        })
}

fn escapes_are_whole(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.match_indices('%').all(|(at, _)| {
        bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_absolute_or_an_absolute_path() {
        for (text, good) in [
            ("http://example.com/a?b#c", true),
            ("/a/b", true),
            ("mailto:a@b", true),
            ("*", true),
            ("http://[::1]:80/", true),
            ("http://[fe80::1%25en0]/", true),
            ("http://user:pass@host:80", true),
            ("postgres://a:1,b:2/x", true),
            ("http://a:1:2/", false),
            ("hello", false),
            ("a/b", false),
            ("", false),
            (":a", false),
            ("http://a b/", false),
            ("http://a:x/", false),
            ("/%zz", false),
            ("/a\u{7f}", false),
            ("http://[1.2.3.4]/", false),
            ("http://%41/", false),
        ] {
            assert_eq!(request_uri_parts(text).is_some(), good, "{text}");
        }
    }
}
