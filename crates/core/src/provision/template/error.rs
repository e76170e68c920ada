//! Errors of templates, for their authors and the platform's administrators.

use thiserror::Error as ThisError;

use super::extension::ExtensionError;
use crate::template::{Failure, UnsupportedScheme};

/// Error of an entry, or of the orchestrator config that refers to it.
#[derive(Debug, ThisError)]
pub enum TemplateError {
    /// The scheme of the entry is not supported.
    #[error(transparent)]
    Unsupported(#[from] UnsupportedScheme),
    /// The extension of the entry is invalid.
    #[error(transparent)]
    Extension(#[from] ExtensionError),
    /// A template failed.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A rendered object is not admitted.
    #[error("manifest {number}: {source}")]
    Manifest {
        /// Its number, from 1.
        number: usize,
        /// Reason.
        source: ManifestError,
    },
    /// A rendered Secret is invalid.
    #[error("the Secret `{secret}` has invalid base64 in `data.{key}`")]
    InvalidBase64 {
        /// Name of the Secret.
        secret: String,
        /// Its key.
        key: String,
    },
    /// An output refers to a Secret of others.
    #[error(
        "the output `{output}` refers to the key `{key}` of the Secret `{secret}`, which is not among its manifests"
    )]
    ForeignSecret {
        /// The output.
        output: String,
        /// Name of the Secret.
        secret: String,
        /// Its key.
        key: String,
    },
    /// An output composes bytes into a text.
    #[error("the output `{0}` contains a secret that is not UTF-8")]
    BinarySecret(String),
    /// The orchestrator config has an invalid setting.
    #[error("`kinds` must be a list of kinds")]
    InvalidKinds,
    /// The orchestrator config sets a parameter that the entry does not have.
    #[error("the orchestrator config sets the unknown param `{param}` of `{uri}`; known params: {known}")]
    UnknownParam {
        /// The parameter.
        param: String,
        /// URI of the entry.
        uri: String,
        /// Known parameters.
        known: String,
    },
}

/// Reason why a rendered object is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum ManifestError {
    /// It has no kind.
    #[error("it has no `apiVersion` or no `kind`")]
    NoKind,
    /// Its kind is cluster-scoped.
    #[error("a {0} is cluster-scoped, which templates may not create")]
    ClusterScoped(String),
    /// Its kind is not allowed.
    #[error("it may not create a {0}: add `kinds: [{0}]` to the params of its entry, or to `x-orchestra`")]
    KindNotAllowed(String),
    /// Its metadata is not a map.
    #[error("its `metadata` is not a map")]
    InvalidMetadata,
    /// It has no name.
    #[error("the {0} has no `metadata.name`")]
    NoName(String),
    /// It has the name of the Secret of the instance.
    #[error("the name `{0}` is reserved for the Secret of the platform")]
    ReservedName(String),
    /// It sets metadata of the platform.
    #[error("the {kind} `{name}` sets `metadata.{field}`, which is reserved for the platform")]
    ReservedField {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// It is a Secret whose data is not a map.
    #[error("the Secret `{0}` has `data` that is not a map")]
    InvalidData(String),
    /// It is a Secret with data that is not text.
    #[error("the Secret `{0}` has a value in `stringData` that is not a string")]
    InvalidStringData(String),
    /// It has a privilege on nodes.
    #[error(
        "the {kind} `{name}` needs the privilege `{privilege}`: add `privileged: true` to the params of its entry, or to `x-orchestra`"
    )]
    Privileged {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The privilege.
        privilege: &'static str,
    },
}
