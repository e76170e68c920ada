//! References to secrets in text, in the notation of score-k8s: `🔐💬name_key💬🔐`.

const OPEN: &str = "🔐💬";
const CLOSE: &str = "💬🔐";

/// Part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Literal text.
    Literal(String),
    /// Value of a Secret.
    Ref {
        /// Name of the Secret.
        name: String,
        /// Key in the Secret.
        key: String,
    },
}

/// Reference to the value of a key of a Secret.
pub fn encode_secret_ref(name: &str, key: &str) -> String {
    format!("{OPEN}{name}_{key}{CLOSE}")
}

/// Splits a text into segments. The name of a Secret has no underscore, so the first one ends it; an incomplete reference
/// is text.
pub fn decode_secret_refs(text: &str) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let inside = &rest[start + OPEN.len()..];
        let reference = inside
            .find(CLOSE)
            .and_then(|end| Some((inside[..end].split_once('_')?, &inside[end + CLOSE.len()..])));
        literal.push_str(&rest[..start]);
        let Some(((name, key), after)) = reference else {
            literal.push_str(OPEN);
            rest = inside;
            continue;
        };
        if !literal.is_empty() {
            segments.push(Segment::Literal(std::mem::take(&mut literal)));
        }
        segments.push(Segment::Ref { name: name.to_owned(), key: key.to_owned() });
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        segments.push(Segment::Literal(literal));
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_round_trip() {
        let text = format!("a{}:{}", encode_secret_ref("pg", "user"), encode_secret_ref("pg", "pass_word"));
        let reference = |key: &str| Segment::Ref { name: "pg".to_owned(), key: key.to_owned() };
        let literal = |text: &str| Segment::Literal(text.to_owned());
        assert_eq!(
            decode_secret_refs(&text),
            [literal("a"), reference("user"), literal(":"), reference("pass_word")]
        );
    }

    #[test]
    fn an_incomplete_reference_is_text() {
        for text in ["plain", "🔐💬open", "🔐💬nokey💬🔐", "💬🔐"] {
            assert_eq!(decode_secret_refs(text), [Segment::Literal(text.to_owned())], "{text}");
        }
        assert!(decode_secret_refs("").is_empty());
    }
}
