//! Writing YAML that every reader takes the same way.

use serde::Serialize;

/// Writes a value as YAML: block style, keys in the order of the value, and everything quoted that a YAML 1.1
/// reader would take for a boolean, a number or a date (`"no"`, `"on"`, `"2024-01-01"`).
pub fn to_yaml<T: Serialize>(value: &T) -> Result<String, WriteError> {
    serde_saphyr::to_string(value).map_err(|error| WriteError(error.to_string()))
}

/// A value that cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("failed to write YAML: {0}")]
pub struct WriteError(String);
