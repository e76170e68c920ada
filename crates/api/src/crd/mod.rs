//! The definitions of the kinds.
//!
//! They are derived from the types, so that what the server stores is what the types can read. Three things no type
//! can say are added here: the schema of Score (`score`), what must never change once it is written, and what a
//! server wants otherwise than the derive writes it (`tidy`).

pub(crate) mod score;
#[cfg(test)]
mod tests;
mod tidy;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, ValidationRule,
};
use kube::CustomResourceExt;
use orchestra_score::yaml;
use serde_json::{Number, Value as Json};

use crate::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan};

/// The definitions of all kinds.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        complete(Workload::crd(), workload),
        complete(PlatformPolicy::crd(), |_| ()),
        complete(ResourceClaim::crd(), claim),
        complete(WorkloadPlan::crd(), plan),
        complete(WorkloadExposure::crd(), |exposure| keep(exposure, "workloadRef")),
    ]
}

/// Mends a derived definition. `more` adds to the whole schema what only this kind has.
fn complete(
    mut definition: CustomResourceDefinition,
    more: fn(&mut JSONSchemaProps),
) -> CustomResourceDefinition {
    let schemas = definition.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut());
    for schema in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        tidy::tidy(schema);
        describe(schema);
        more(schema);
    }
    definition
}

/// The text on the type of a spec is about the kind, so that is where it goes.
fn describe(schema: &mut JSONSchemaProps) {
    let Some(spec) = property(schema, "spec") else { return };
    let about_the_kind = spec.description.replace("What is asked for.".to_owned());
    schema.description = about_the_kind;
    schema.title = None;
}

/// The server refuses names that Score does not allow; nothing else of the metadata can be spoken of.
fn workload(schema: &mut JSONSchemaProps) {
    let text = |text: &str| Some(text.to_owned());
    let name = JSONSchemaProps {
        type_: text("string"),
        description: text("The name of the workload."),
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

/// The identity of a claim is in its name: another identity is another claim.
fn claim(schema: &mut JSONSchemaProps) {
    for field in ["workloadRef", "key", "type", "class"] {
        keep(schema, field);
    }
    // A rule on the field itself would not see it come or go.
    rule(
        property(schema, "spec"),
        "has(self.id) == has(oldSelf.id) && (!has(self.id) || self.id == oldSelf.id)",
        "id cannot be changed, set or removed",
    );
}

/// What runs is known by its revision, so nothing may change under it.
fn plan(schema: &mut JSONSchemaProps) {
    keep(schema, "workloadRef");
    rule(
        property(schema, "spec"),
        "self.revision != oldSelf.revision || self == oldSelf",
        "a plan can only be changed together with its revision",
    );
}

/// A required field of the spec can never be changed.
fn keep(schema: &mut JSONSchemaProps, field: &str) {
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

/// A definition that cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the definition: {0}")]
pub struct WriteError(String);

/// A definition as YAML, as it is installed.
pub fn yaml(definition: &CustomResourceDefinition) -> Result<String, WriteError> {
    let mut json = serde_json::to_value(definition).map_err(|error| WriteError(error.to_string()))?;
    write_whole(&mut json);
    yaml::to_yaml(&json).map_err(|error| WriteError(error.to_string()))
}

/// Bounds are fractions in the type of a definition. As whole numbers they read better.
fn write_whole(json: &mut Json) {
    match json {
        Json::Number(number) if number.is_f64() => {
            // A bound of a schema is at most 2^32, far below what a fraction can hold exactly.
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
