//! References to secrets inside text, as score-k8s writes them: `🔐💬name_key💬🔐`.

const OPEN: &str = "🔐💬";
const CLOSE: &str = "💬🔐";

/// A part of a text: as it is, or a value of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Text as it is.
    Literal(String),
    /// The value under a key of a Secret.
    Ref {
        /// The name of the Secret.
        name: String,
        /// The key in it.
        key: String,
    },
}

/// The text that stands for the value under a key of a Secret.
pub fn encode_secret_ref(name: &str, key: &str) -> String {
    format!("{OPEN}{name}_{key}{CLOSE}")
}

/// Takes a text apart. The name of a Secret has no underscore, so the first one ends it; what is not a whole reference
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
    fn a_text_of_references_comes_apart_as_it_was_put_together() {
        let text = format!("a{}:{}", encode_secret_ref("pg", "user"), encode_secret_ref("pg", "pass_word"));
        let reference = |key: &str| Segment::Ref { name: "pg".to_owned(), key: key.to_owned() };
        let literal = |text: &str| Segment::Literal(text.to_owned());
        assert_eq!(
            decode_secret_refs(&text),
            [literal("a"), reference("user"), literal(":"), reference("pass_word")]
        );
    }

    #[test]
    fn what_is_not_a_whole_reference_is_text() {
        for text in ["plain", "🔐💬open", "🔐💬nokey💬🔐", "💬🔐"] {
            assert_eq!(decode_secret_refs(text), [Segment::Literal(text.to_owned())], "{text}");
        }
        assert!(decode_secret_refs("").is_empty());
    }
}
