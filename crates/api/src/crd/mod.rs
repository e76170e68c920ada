//! `CustomResourceDefinitions` of all kinds.
//!
//! They are derived from the types, so that whatever the server stores can be deserialized. This module adds what the
//! derive cannot express: the schema of Score (`score`), immutable fields, and fixes for API servers (`normalize_schema`).

mod normalize_schema;
pub(crate) mod score;
#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, ValidationRule,
};
use kube::CustomResourceExt;
use orchestra_score::yaml;
use serde_json::{Number, Value as Json};

use self::normalize_schema::normalize_schema;
use crate::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};

/// Oldest version of Kubernetes whose API server accepts the CRDs, as major and minor version.
pub const MIN_KUBERNETES: (u32, u32) = (1, 34);

/// CRDs of all kinds.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        complete(Workload::crd(), workload),
        complete(PlatformPolicy::crd(), |_| ()),
        complete(ResourceClaim::crd(), claim),
        complete(WorkloadPlan::crd(), plan),
        complete(WorkloadExposure::crd(), |exposure| immutable(exposure, "workloadRef")),
    ]
}

/// Completes a derived CRD. `more` adds what is specific to the kind.
fn complete(
    mut definition: CustomResourceDefinition,
    more: fn(&mut JSONSchemaProps),
) -> CustomResourceDefinition {
    let schemas = definition.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut());
    for schema in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        normalize_schema(schema);
        describe(schema);
        more(schema);
    }
    definition
}

/// Moves the description of the spec type to the kind, which it describes.
fn describe(schema: &mut JSONSchemaProps) {
    let Some(spec) = property(schema, "spec") else { return };
    schema.description = spec.description.replace("Desired state.".to_owned());
    schema.title = None;
}

/// Restricts the name to that of Score. A CRD cannot restrict other metadata.
fn workload(schema: &mut JSONSchemaProps) {
    let text = |text: &str| Some(text.to_owned());
    let name = JSONSchemaProps {
        type_: text("string"),
        description: text("Name of the workload."),
        pattern: score::name_pattern(),
        ..JSONSchemaProps::default()
    };
    let metadata = JSONSchemaProps {
        type_: text("object"),
        properties: Some([("name".to_owned(), name)].into()),
        ..JSONSchemaProps::default()
    };
    schema.properties.get_or_insert_default().insert("metadata".to_owned(), metadata);
}

/// Makes the identity of a claim immutable, because its name is derived from it.
fn claim(schema: &mut JSONSchemaProps) {
    for field in ["workloadRef", "key", "type", "class"] {
        immutable(schema, field);
    }
    // A rule on the field itself is not evaluated when it is set or removed.
    rule(
        property(schema, "spec"),
        "has(self.id) == has(oldSelf.id) && (!has(self.id) || self.id == oldSelf.id)",
        "id cannot be changed, set or removed",
    );
}

/// Ties the spec of a plan to its revision.
fn plan(schema: &mut JSONSchemaProps) {
    immutable(schema, "workloadRef");
    rule(
        property(schema, "spec"),
        "self.revision != oldSelf.revision || self == oldSelf",
        "a plan can only be changed together with its revision",
    );
}

/// Makes a required field of the spec immutable.
fn immutable(schema: &mut JSONSchemaProps, field: &str) {
    let field_of_spec = property(schema, "spec").and_then(|spec| property(spec, field));
    rule(field_of_spec, "self == oldSelf", &format!("{field} cannot be changed"));
}

fn property<'a>(schema: &'a mut JSONSchemaProps, name: &str) -> Option<&'a mut JSONSchemaProps> {
    schema.properties.as_mut()?.get_mut(name)
}

fn rule(schema: Option<&mut JSONSchemaProps>, rule: &str, message: &str) {
    if let Some(schema) = schema {
        schema.x_kubernetes_validations.get_or_insert_default().push(ValidationRule {
            rule: rule.to_owned(),
            message: Some(message.to_owned()),
            ..ValidationRule::default()
        });
    }
}

/// CRD that cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the CRD: {0}")]
pub struct WriteError(String);

/// CRD as YAML, as it is installed.
pub fn yaml(definition: &CustomResourceDefinition) -> Result<String, WriteError> {
    let mut json = serde_json::to_value(definition).map_err(|error| WriteError(error.to_string()))?;
    write_whole(&mut json);
    yaml::to_yaml(&json).map_err(|error| WriteError(error.to_string()))
}

/// Writes the bounds of schemas, which are `f64` in the type of a CRD, as integers.
fn write_whole(json: &mut Json) {
    match json {
        Json::Number(number) if number.is_f64() => {
            // Bounds are at most 2^32, which an `f64` represents exactly.
            let whole = number.as_f64().filter(|number| number.fract() == 0.0).map(|n| format!("{n:.0}"));
            if let Some(whole) = whole.and_then(|whole| whole.parse::<Number>().ok()) {
                *number = whole;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(write_whole),
        Json::Object(fields) => fields.values_mut().for_each(write_whole),
        _ => {}
    }
}
