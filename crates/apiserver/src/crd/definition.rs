//! A definition in typed form.

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
    /// The wanted names.
    pub names: Names,
    /// The versions, in the order they are written.
    pub versions: Vec<Version>,
    /// Whether there is a list of versions, be it empty.
    pub versions_written: bool,
    /// `None` or `Webhook`.
    pub conversion: Option<Conversion>,
    /// The mistake of old versions of the API.
    pub preserve_unknown_fields: bool,
    /// The names that were accepted.
    pub accepted_names: Names,
    /// The versions in which objects may be stored.
    pub stored_versions: Vec<String>,
    /// Whether the kind is served already.
    pub established: bool,
}

/// How objects get from one version to another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversion {
    /// `None` or `Webhook`.
    pub strategy: String,
    /// Whether a webhook is configured.
    pub has_client_config: bool,
    /// Whether the versions of reviews are named.
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
    /// Whether clients can use it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether clients are warned.
    pub deprecated: bool,
    /// What they are told.
    pub deprecation_warning: Option<String>,
    /// What objects look like.
    pub schema: Option<SchemaSource>,
    /// `/status` and `/scale`.
    pub subresources: Option<Subresources>,
    /// The columns of `kubectl get`.
    pub columns: Vec<Column>,
    /// The paths of fields that can be selected.
    pub selectable_fields: Vec<String>,
}

/// A schema with the JSON it was read from: the JSON also holds what a good schema cannot hold.
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
    /// Whether there is `/status`.
    pub status: bool,
    /// What `/scale` reads.
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
    /// Words for people.
    pub description: String,
    /// Zero is always shown.
    pub priority: i64,
    /// Where the value is.
    pub json_path: String,
}
