//! Extension of provisioner files for this platform: `x-orchestra`.

use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// Extension of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Extension {
    /// Parameters that only the orchestrator config may set, such as `image`.
    pub settings: Vec<String>,
    /// Additional kinds that it may create, such as `Component.dapr.io`.
    pub kinds: Vec<String>,
    /// True if its objects may have privileges on nodes.
    pub privileged: bool,
    /// Kinds that the policy `Retain` keeps, besides volumes and Secrets.
    pub keep: Vec<String>,
    /// Readiness conditions, by kind.
    pub ready: std::collections::BTreeMap<String, String>,
    /// Outputs that are public although they contain random values.
    pub public: Vec<String>,
    /// Workload that must declare a port before anything is created.
    pub target: Option<Target>,
    /// Values that the engine generates into `.State.generated`.
    pub generates: Option<Generates>,
    /// True if `.Params.values` has the environment of the namespace.
    pub environment: bool,
}

/// Workload that must declare a port. Its name and that of the port are in `.Params.workload` and `.Params.port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The Workload of the resource.
    Own,
    /// The Workload in `params.workload`, or else of the id or key.
    Other,
}

/// Values that the engine generates once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generates {
    /// A value for each name in `params.keys`.
    Values,
    /// A certificate for the names in `params.hosts` and `params.dns`, renewed before it expires.
    Certificate,
}

/// Error of the field `x-orchestra`; a message for the author of the entry.
#[derive(Debug, thiserror::Error)]
#[error("`x-orchestra`: {0}")]
pub struct ExtensionError(#[from] serde_json::Error);

impl Extension {
    /// Parses the value of `x-orchestra`.
    pub fn read(extension: &Map<String, Json>) -> Result<Self, ExtensionError> {
        Ok(Self::deserialize(&Json::Object(extension.clone()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(extension: &Json) -> Result<Extension, ExtensionError> {
        Extension::read(extension.as_object().unwrap())
    }

    #[test]
    fn an_unknown_field_is_rejected_by_name() {
        let refused = read(&json!({"kindz": []})).unwrap_err().to_string();
        assert!(refused.starts_with("`x-orchestra`: unknown field `kindz`"), "{refused}");
    }

    #[test]
    fn an_empty_extension_has_no_permissions() {
        assert_eq!(read(&json!({})).unwrap(), Extension::default());
        assert_eq!(read(&json!({"target": "own"})).unwrap().target, Some(Target::Own));
    }
}
