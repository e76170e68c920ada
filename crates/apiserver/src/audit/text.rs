//! Texts of callers, fit for the log: bounded, on one line, without tokens.

use std::{borrow::Cow, fmt::Write};

use axum::http::Uri;

/// Longest name, group or annotation.
pub(super) const MAX_NAME: usize = 256;
/// Longest user agent, as in a real server.
pub(super) const MAX_USER_AGENT: usize = 1024;
/// Longest URI.
const MAX_URI: usize = 2048;

const TRUNCATED: &str = "...TRUNCATED";
const REDACTED: &str = "REDACTED";
/// Shortest run that is taken for a JSON web token: header and claims.
const MIN_TOKEN: usize = 20;

/// Options whose values are recorded. They are no place for secrets, in contrast to what a client makes up.
const QUERY: &[&str] = &[
    "allowWatchBookmarks",
    "delete",
    "dryRun",
    "fieldManager",
    "fieldSelector",
    "fieldValidation",
    "follow",
    "force",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "since",
    "sinceSeconds",
    "tail",
    "timeout",
    "timeoutSeconds",
    "timestamps",
    "watch",
];

/// Text of at most this many bytes, without control characters, and without what looks like a token.
pub(super) fn clean(text: &str, max: usize) -> Cow<'_, str> {
    let is_harmless =
        text.len() <= max && !text.contains("eyJ") && !text.contains(|c: char| is_unprintable(c));
    if is_harmless {
        return Cow::Borrowed(text);
    }
    // A token may begin before the end of the permitted length.
    let mut clean: String =
        without_tokens(text).chars().map(|c| if is_unprintable(c) { '\u{fffd}' } else { c }).collect();
    if clean.len() > max {
        clean.truncate(clean.floor_char_boundary(max - TRUNCATED.len()));
        clean.push_str(TRUNCATED);
    }
    Cow::Owned(clean)
}

/// Path and known options of a URI. Other options are left out.
pub(super) fn uri(uri: &Uri) -> String {
    let mut text = uri.path().to_owned();
    let mut separator = '?';
    for pair in uri.query().unwrap_or_default().split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if QUERY.contains(&name) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{name}={value}");
            separator = '&';
        }
    }
    clean(&text, MAX_URI).into_owned()
}

/// Control characters, also those of terminals, and ends of lines.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Replaces JSON web tokens: runs of base64url and dots that begin with `{"`, encoded.
fn without_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("eyJ") {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '=');
        let end = found.find(|c| !is_part(c)).unwrap_or(found.len());
        let (token, after) = found.split_at(end);
        out.push_str(if token.len() >= MIN_TOKEN { REDACTED } else { token });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln_bmF0-dXJl";

    #[test]
    fn texts_are_one_bounded_line_without_tokens() {
        for (text, expected) in [
            ("kubectl/v1.36", "kubectl/v1.36".to_owned()),
            (
                "a\nb\r\u{1b}[31m\u{9b}c\u{2028}d",
                "a\u{fffd}b\u{fffd}\u{fffd}[31m\u{fffd}c\u{fffd}d".to_owned(),
            ),
            (&format!("Bearer {TOKEN}, {TOKEN}"), "Bearer REDACTED, REDACTED".to_owned()),
            ("eyJ", "eyJ".to_owned()),
            (&"ä".repeat(200), format!("{}{TRUNCATED}", "ä".repeat(122))),
        ] {
            assert_eq!(clean(text, MAX_NAME), expected);
            assert!(clean(text, MAX_NAME).len() <= MAX_NAME);
        }
        let cut = format!("{}{TOKEN}", "x".repeat(MAX_NAME - 30));
        assert!(!clean(&cut, MAX_NAME).contains("eyJ"), "a token at the end of the text");
    }

    #[test]
    fn uris_have_known_options_only() {
        for (given, expected) in [
            ("/api/v1/secrets?watch=true&limit=5", "/api/v1/secrets?watch=true&limit=5"),
            ("/api/v1/secrets?token=5ecret&watch=1&5ecret", "/api/v1/secrets?watch=1"),
            ("https://user:5ecret@host/api/v1", "/api/v1"),
            (&format!("/{TOKEN}/x?fieldManager={TOKEN}"), "/REDACTED/x?fieldManager=REDACTED"),
            ("/a%0ab", "/a%0ab"),
        ] {
            assert_eq!(uri(&given.parse().unwrap()), expected);
        }
        assert_eq!(uri(&format!("/{}", "a".repeat(5000)).parse().unwrap()).len(), MAX_URI);
    }
}
