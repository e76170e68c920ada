//! Validation of the defaults in a schema: no unknown fields, every constraint and rule holds.

use orchestra_cel::FieldError;
use serde_json::{Map, Value, json};

use super::openapi::CheckRule;
use super::rules::{RulePlace, RuleTask};
use crate::schema::node::{Node, Purpose};
use crate::schema::path::Path;
use crate::schema::{Schema, embedded, prune, validate_value};

/// Checks all default values of a schema.
pub(super) fn errors(root: &Schema, path: &str, check_rule: CheckRule<'_>) -> Vec<FieldError> {
    let mut check = DefaultsCheck { check_rule, errors: Vec::new() };
    check.node(root, path, &EnclosingResource::default());
    check.errors
}

/// Position of a node in the enclosing resource.
#[derive(Clone, Default)]
struct EnclosingResource<'a> {
    resource: Option<&'a Schema>,
    steps: Vec<Step<'a>>,
    inside_metadata: bool,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Item,
}

struct DefaultsCheck<'a> {
    check_rule: CheckRule<'a>,
    errors: Vec<FieldError>,
}

impl DefaultsCheck<'_> {
    fn node<'a>(&mut self, schema: &'a Schema, path: &str, enclosing: &EnclosingResource<'a>) {
        let is_resource = enclosing.resource.is_none() || schema.embedded_resource;
        let enclosing = if is_resource {
            &EnclosingResource { resource: Some(schema), steps: Vec::new(), inside_metadata: false }
        } else {
            enclosing
        };
        if let Some(default) = &schema.default {
            let place = format!("{path}.default");
            if !enclosing.inside_metadata {
                self.pruned(schema, default, &place, is_resource);
            }
            let before = self.errors.len();
            if enclosing.inside_metadata {
                self.metadata(default, &place, enclosing);
            } else {
                self.resources(schema, default, &place, is_resource);
            }
            if self.errors.len() == before {
                self.constraints(schema, default, &place);
            }
        }
        if let Some(items) = &schema.items {
            let mut inside = enclosing.clone();
            inside.steps.push(Step::Item);
            self.node(items, &format!("{path}.items"), &inside);
        }
        for (name, property) in &schema.properties {
            let mut inside = enclosing.clone();
            inside.steps.push(Step::Field(name));
            inside.inside_metadata |=
                is_resource && matches!(name.as_str(), "metadata" | "apiVersion" | "kind");
            self.node(property, &format!("{path}.properties[{name}]"), &inside);
        }
    }

    fn pruned(&mut self, schema: &Schema, default: &Value, place: &str, is_resource: bool) {
        let mut pruned = default.clone();
        prune(schema, &mut pruned, is_resource);
        if pruned != *default {
            self.errors.push(FieldError::invalid(place, default, "must not have unknown fields"));
        }
    }

    /// Checks embedded resources in a default.
    fn resources(&mut self, schema: &Schema, default: &Value, place: &str, is_resource: bool) {
        let root = Path::root(place);
        match embedded::coerce(schema, &mut default.clone(), &root, is_resource, &mut Vec::new()) {
            Err(error) => self.errors.push(error),
            Ok(()) => embedded::validate(schema, default, &root, is_resource, &mut self.errors),
        }
    }

    /// Checks a default inside metadata, together with the rest of the metadata.
    fn metadata(&mut self, default: &Value, place: &str, enclosing: &EnclosingResource<'_>) {
        let Some(resource) = enclosing.resource else { return };
        let mut object = enclosing.steps.iter().rev().fold(default.clone(), |inner, step| match step {
            Step::Field(name) => Value::Object(Map::from_iter([((*name).to_owned(), inner)])),
            Step::Item => Value::Array(vec![inner]),
        });
        if let Value::Object(fields) = &mut object {
            fields.entry("apiVersion").or_insert_with(|| json!("validation/v1"));
            fields.entry("kind").or_insert_with(|| json!("Validation"));
        }
        let root = Path::root("");
        let mut found = Vec::new();
        match embedded::coerce(resource, &mut object, &root, true, &mut Vec::new()) {
            Err(error) => found.push(error),
            Ok(()) => embedded::validate(resource, &object, &root, true, &mut found),
        }
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        let problem = match texts.as_slice() {
            [] => return,
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let detail = format!("must result in valid metadata: {problem}");
        self.errors.push(FieldError::invalid(place, default, detail));
    }

    fn constraints(&mut self, schema: &Schema, default: &Value, place: &str) {
        let found = validate_value(&Node::new(schema, Purpose::Defaults), default, place);
        let is_good = found.is_empty();
        self.errors.extend(found);
        if is_good {
            self.errors.extend((self.check_rule)(&RulePlace {
                schema,
                path: place,
                task: RuleTask::Default(default),
                uncorrelatable: None,
            }));
        }
    }
}
