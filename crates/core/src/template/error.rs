//! Errors of provisioner files, for their authors.

use thiserror::Error as ThisError;

/// Fault of a provisioner file.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum FileFault {
    /// The file is not YAML.
    #[error("the file cannot be read: {0}")]
    Yaml(String),
    /// The file has no content.
    #[error("the file is empty")]
    Empty,
    /// The file is something else than a list.
    #[error("a provisioner file must be a list of entries")]
    NotAList,
    /// An entry is invalid.
    #[error("entry {}: {source}", .index + 1)]
    Entry {
        /// Its index.
        index: usize,
        /// Its fault.
        source: EntryError,
    },
}

/// Fault of an entry.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum EntryError {
    /// It is not a map.
    #[error("an entry must be a map, found {found}")]
    NotAMap {
        /// Type of the value.
        found: &'static str,
    },
    /// It has no URI.
    #[error("`uri` is missing")]
    NoUri,
    /// Its URI has control characters.
    #[error("`uri` is not a URI")]
    InvalidUri,
    /// Its URI has no scheme.
    #[error("`uri` has no scheme, such as `template://`")]
    NoScheme,
    /// It has no resource type.
    #[error("`type` is missing")]
    NoType,
    /// A field is invalid.
    #[error("`{field}` {source}")]
    Field {
        /// Name of the field.
        field: String,
        /// Its fault.
        source: FieldError,
    },
}

/// Fault of a field of an entry.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum FieldError {
    /// The field is not known.
    #[error("is not a field of a provisioner")]
    Unknown,
    /// The value is not text.
    #[error("must be text, found {found}")]
    NotText {
        /// Type of the value.
        found: &'static str,
    },
    /// The value is not a list.
    #[error("must be a list of names, found {found}")]
    NotAList {
        /// Type of the value.
        found: &'static str,
    },
    /// The value is not a map.
    #[error("must be a map, found {found}")]
    NotAMap {
        /// Type of the value.
        found: &'static str,
    },
}

/// Scheme that entries cannot have here.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum UnsupportedScheme {
    /// The entry runs a command.
    #[error("it runs a command (`cmd://`), which is not supported")]
    Command,
    /// Any other scheme.
    #[error("the scheme `{0}://` is not supported")]
    Unknown(String),
}
