//! Addresses and names of the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// Four numbers up to 255, with or without leading zeros.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *octet = part
            .trim_start_matches('0')
            .parse()
            .ok()
            .or_else(|| part.bytes().all(|b| b == b'0').then_some(0))?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// An IPv4 address, also one inside an IPv6 address.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (ipv4(text).is_some() || text.parse::<Ipv6Addr>().is_ok())
}

/// An IPv6 address without a zone.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// An address of either kind in strict form, as in the domain of a mail address.
pub(super) fn is_ip(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

/// An address, a slash and the length of the mask.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, mask)) = text.split_once('/') else { return false };
    let most = if ipv4(address).is_some() {
        32
    } else if is_ipv6(address) {
        128
    } else {
        return false;
    };
    !mask.is_empty()
        && mask.bytes().all(|byte| byte.is_ascii_digit())
        && mask.parse::<u32>().is_ok_and(|length| length <= most)
}

/// 6, 8 or 20 bytes: pairs of digits with `:` or `-` between them, groups of four with `.`, or only digits.
pub(super) fn is_mac(text: &str) -> bool {
    let (separator, width) = match text.as_bytes() {
        [_, _, separator @ (b':' | b'-'), ..] => (*separator, 2),
        [_, _, _, _, b'.', ..] => (b'.', 4),
        digits => return matches!(digits.len(), 12 | 16 | 40) && digits.iter().all(u8::is_ascii_hexdigit),
    };
    let groups: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == separator).collect();
    let good = |group: &&[u8]| group.len() == width && group.iter().all(u8::is_ascii_hexdigit);
    matches!(groups.len() * width / 2, 6 | 8 | 20) && groups.iter().all(good)
}

/// One label with at most one dash, right behind its first character, or a domain with a top level of letters.
pub(super) fn is_hostname(text: &str) -> bool {
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && if text.contains('.') { is_domain(text) } else { is_single_label(text) }
}

fn is_single_label(text: &str) -> bool {
    let mut chars = text.chars();
    if !chars.next().is_some_and(is_name_char) {
        return false;
    }
    let rest = chars.as_str();
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    rest.chars().count() <= 62 && rest.chars().all(is_name_char)
}

fn is_domain(text: &str) -> bool {
    let Some((domain, top)) = text.rsplit_once('.') else { return false };
    let label = |label: &str| {
        let inner = label.chars().all(|char| char == '-' || is_name_char(char));
        inner && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    domain.split('.').all(label) && (2..=63).contains(&top.chars().count()) && top.chars().all(is_letter)
}

static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}").ok());
static SYMBOL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{S}").ok());

fn has(class: &LazyLock<Option<Regex>>, char: char) -> bool {
    class.as_ref().is_some_and(|class| class.is_match(char.encode_utf8(&mut [0; 4])))
}

fn is_letter(char: char) -> bool {
    char.is_ascii_alphabetic() || (!char.is_ascii() && has(&LETTER, char))
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_digit() || is_letter(char) || has(&SYMBOL, char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_real_server_reads_them() {
        for (check, good, bad) in [
            (is_ipv4 as fn(&str) -> bool, "010.0.0.1", "256.0.0.1"),
            (is_ipv4, "::ffff:1.2.3.4", "::1"),
            (is_ipv6, "fe80::1", "fe80::1%eth0"),
            (is_cidr, "10.0.0.0/08", "10.0.0.0/33"),
            (is_cidr, "::/128", "::/129"),
            (is_mac, "01:23:45:67:89:ab", "01:23:45:67:89"),
            (is_mac, "0123.4567.89ab", "01-23:45-67-89-ab"),
            (is_mac, "0123456789ab", "0123456789a"),
            (is_hostname, "a-b", "a-b-c"),
            (is_hostname, "a-b-c.example", "a.b1"),
            (is_hostname, "bücher.example", "-a.example"),
        ] {
            assert!(check(good), "{good}");
            assert!(!check(bad), "{bad}");
        }
    }
}
