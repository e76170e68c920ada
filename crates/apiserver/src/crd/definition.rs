//! Definition in typed form.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::Schema;

/// A `CustomResourceDefinition`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crd {
    /// `metadata.name`
    pub name: String,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// The API group.
    pub group: String,
    /// `Cluster` or `Namespaced`.
    pub scope: String,
    /// Requested names.
    pub names: Names,
    /// The versions, in the order they are written.
    pub versions: Vec<Version>,
    /// `None` or `Webhook`.
    pub conversion: Option<Conversion>,
    /// Must be false; a legacy of older API versions.
    pub preserve_unknown_fields: bool,
    /// Accepted names.
    pub accepted_names: Names,
    /// The versions in which objects may be stored.
    pub stored_versions: Vec<String>,
    /// True if the kind is served.
    pub established: bool,
}

/// Conversion between versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversion {
    /// `None` or `Webhook`.
    pub strategy: String,
    /// True if a webhook is configured.
    pub has_client_config: bool,
    /// True if it has `conversionReviewVersions`.
    pub has_review_versions: bool,
}

/// The names of a kind.
#[expect(clippy::struct_field_names, reason = "the words of the API")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// `workloads`
    pub plural: String,
    /// `workload`
    pub singular: String,
    /// `wl`
    pub short_names: Vec<String>,
    /// `Workload`
    pub kind: String,
    /// `WorkloadList`
    pub list_kind: String,
    /// `all`
    pub categories: Vec<String>,
}

/// A version of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    /// `v1`
    pub name: String,
    /// True if objects are stored in it.
    pub storage: bool,
    /// True if clients are warned.
    pub deprecated: bool,
    /// Text of the deprecation warning.
    pub deprecation_warning: Option<String>,
    /// Schema of the objects.
    pub schema: Option<SchemaSource>,
    /// `/status` and `/scale`.
    pub subresources: Option<Subresources>,
    /// The columns of `kubectl get`.
    pub columns: Vec<Column>,
    /// The paths of fields that can be selected.
    pub selectable_fields: Vec<String>,
}

/// Schema with its source JSON, which may also have unsupported keywords.
#[derive(Clone, Debug)]
pub(crate) struct SchemaSource {
    /// The schema.
    pub schema: Schema,
    /// The JSON.
    pub raw: Value,
}

/// The subresources of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subresources {
    /// True if it has `/status`.
    pub status: bool,
    /// Paths of the scale subresource.
    pub scale: Option<Scale>,
}

/// The paths of the scale subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the words of the API")]
pub(crate) struct Scale {
    /// `.spec.replicas`
    pub spec_replicas_path: String,
    /// `.status.replicas`
    pub status_replicas_path: String,
    /// `.status.selector`
    pub label_selector_path: Option<String>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Column {
    /// The header.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// A format of the type.
    pub format: String,
    /// Description.
    pub description: String,
    /// Zero: shown in all outputs.
    pub priority: i64,
    /// JSON path of the value.
    pub json_path: String,
}
