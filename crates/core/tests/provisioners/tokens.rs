//! Comparison with expected values that contain tokens for generated ones: `{{RANDOM:alphabet:length}}`, with `#2` for the
//! second of its shape and `:lower` for its lower case, and `{{B64:text}}`. Equal tokens are equal values.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// Values of tokens so far.
#[derive(Clone, Default)]
pub(crate) struct Bindings {
    values: BTreeMap<String, String>,
}

impl Bindings {
    /// True if a value matches the expected one.
    pub(crate) fn matches(&mut self, want: &Json, got: &Json) -> bool {
        match (want, got) {
            (Json::String(want), Json::String(got)) => self.text(want, got),
            (Json::Number(want), Json::Number(got)) => want == got,
            (Json::Array(want), Json::Array(got)) => {
                want.len() == got.len() && want.iter().zip(got).all(|(want, got)| self.matches(want, got))
            }
            (Json::Object(want), _) if want.len() == 1 && want.contains_key("$time") => {
                self.matches(&want["$time"], got)
            }
            (Json::Object(want), _) if want.len() == 1 && want.contains_key("$float") => {
                self.matches(&want["$float"], got)
            }
            (Json::Object(want), _) if want.len() == 1 && want.contains_key("$nonStringKeys") => {
                self.matches(&want["$nonStringKeys"], got)
            }
            (Json::Object(want), Json::Object(got)) => {
                want.len() == got.len()
                    && want.iter().all(|(key, want)| {
                        got.iter().any(|(own, got)| {
                            let mut candidate = self.clone();
                            let fits = candidate.text(key, own) && candidate.matches(want, got);
                            if fits {
                                *self = candidate;
                            }
                            fits
                        })
                    })
            }
            _ => want == got,
        }
    }

    fn text(&mut self, want: &str, got: &str) -> bool {
        let Some(start) = ["{{RANDOM:", "{{B64:"].iter().filter_map(|open| want.find(open)).min() else {
            return want == got;
        };
        let Some(got) = got.strip_prefix(&want[..start]) else { return false };
        let token = &want[start..];
        let end = end_of_token(token);
        let (token, rest) = (&token[2..end - 2], &token[end..]);
        if let Some(inner) = token.strip_prefix("B64:") {
            let size = length(inner).div_ceil(3) * 4;
            let Some((encoded, after)) = got.split_at_checked(size) else { return false };
            return decode(encoded).is_some_and(|plain| self.text(inner, &plain)) && self.text(rest, after);
        }
        let (size, alphabet) = shape(token);
        let Some((value, after)) = got.split_at_checked(size) else { return false };
        let lower = token.ends_with(":lower");
        let fits = value.chars().all(|c| match alphabet {
            "numeric" => c.is_ascii_digit(),
            "alpha" => c.is_ascii_alphabetic(),
            _ => c.is_ascii_alphanumeric(),
        });
        let base = token.trim_end_matches(":lower").to_owned();
        let known =
            self.values.get(&base).map(|known| if lower { known.to_lowercase() } else { known.clone() });
        let known = known.or_else(|| self.values.get(token).cloned());
        if !lower
            && let Some(low) = self.values.get(&format!("{base}:lower"))
            && *low != value.to_lowercase()
        {
            return false;
        }
        let fits =
            fits && (!lower || value.to_lowercase() == value) && known.is_none_or(|known| known == value);
        self.values.insert(token.to_owned(), value.to_owned());
        fits && self.text(rest, after)
    }
}

/// End of a token; tokens may be nested.
fn end_of_token(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("{{") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("}}") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length and alphabet of a `RANDOM` token.
fn shape(token: &str) -> (usize, &str) {
    let mut parts = token.split(':').skip(1);
    let alphabet = parts.next().unwrap_or_default();
    let length = parts.next().unwrap_or_default().split('#').next().unwrap_or_default();
    (length.parse().expect("a length"), alphabet)
}

/// Length of a text with tokens.
fn length(text: &str) -> usize {
    match text.find("{{RANDOM:") {
        None => text.len(),
        Some(start) => {
            let end = start + end_of_token(&text[start..]);
            start + shape(&text[start + 2..end - 2]).0 + length(&text[end..])
        }
    }
}

fn decode(text: &str) -> Option<String> {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    String::from_utf8(bytes).ok()
}
