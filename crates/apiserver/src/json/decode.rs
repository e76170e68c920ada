//! From the bytes of a JSON body to a value.

use serde_json::Value;

use super::reader::{Place, Reader};

/// A body, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decoded {
    /// What it says; of a field that stands twice, the last one.
    pub value: Value,
    /// The fields that stand twice, for strict decoding.
    pub duplicates: Duplicates,
}

/// Fields that stand twice in one object. JSON and YAML bodies are reported in different words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Duplicates {
    /// Of a JSON body: `duplicate field "spec.a"`.
    Fields(Vec<String>),
    /// Of a YAML body: `line 7: key "a" already set in map`.
    Lines(Vec<String>),
}

impl Duplicates {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        let (Self::Fields(list) | Self::Lines(list)) = self;
        list.is_empty()
    }

    /// The texts that a strict request fails with, to be joined with those of unknown fields.
    pub(crate) fn errors(&self) -> Vec<String> {
        match self {
            Self::Fields(fields) => fields.clone(),
            Self::Lines(lines) if lines.is_empty() => Vec::new(),
            Self::Lines(lines) => vec![format!("yaml: unmarshal errors:\n  {}", lines.join("\n  "))],
        }
    }

    /// The texts of the `Warning` headers of any other request.
    pub(crate) fn warnings(&self) -> &[String] {
        let (Self::Fields(list) | Self::Lines(list)) = self;
        list
    }
}

/// Why a body cannot be read. The text is what the real server says, without its `couldn't get version/kind; json
/// parse error: ` for [`DecodeError::Syntax`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    /// The text is not JSON. Found before anything of the object is known.
    #[error("{0}")]
    Syntax(String),
    /// A number is too large for every type. Found when the kind of the object is known already.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    OutOfRange(String),
    /// The text is not YAML, or says something that JSON has no words for.
    #[error("{0}")]
    Yaml(String),
}

/// Reads a JSON body.
pub(crate) fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = reader.value(&Place::ROOT)?;
    match reader.finish()? {
        (_, Some(number)) => Err(DecodeError::OutOfRange(number)),
        (notes, None) => Ok(Decoded { value, duplicates: Duplicates::Fields(notes) }),
    }
}

/// How a message shows the body that it is about: the beginning of an object, and hexadecimal bytes of anything else.
pub(crate) fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let shown = &body[..body.len().min(SHOWN)];
    let hex =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
    let mut text = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().flat_map(hex).collect(),
    };
    if body.len() > SHOWN {
        text.push_str(" ...");
    }
    text
}
