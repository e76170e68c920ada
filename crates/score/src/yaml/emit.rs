//! YAML writer.

use serde::Serialize;

/// Value as YAML: block style, keys in order, and strings quoted that a YAML 1.1 parser would read as a boolean, a
/// number or a date (`"no"`, `"on"`, `"2024-01-01"`).
pub fn to_yaml<T: Serialize>(value: &T) -> Result<String, WriteError> {
    serde_saphyr::to_string(value).map_err(|error| WriteError(error.to_string()))
}

/// A value that cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("failed to write YAML: {0}")]
pub struct WriteError(String);
