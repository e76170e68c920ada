//! A schema ready for the objects of a kind: what every write of an object goes through.

use serde_json::Value;

use super::node::{Node, Purpose};
use super::path::Path;
use super::scale::ScalePaths;
use super::{Schema, embedded, lists, validate};
use crate::field_error::{FieldError, Mistake};

/// A schema with everything precomputed that checking needs.
pub struct Checker {
    schema: Schema,
    node: Node,
    scale: Option<ScalePaths>,
    has_rules: bool,
    has_lists: bool,
    has_embedded: bool,
}

/// What is wrong with an object.
#[derive(Debug, PartialEq, Eq)]
pub struct Validation {
    /// The mistakes, in the order of the real server.
    pub errors: Vec<FieldError>,
    /// Whether the rules in CEL are to be checked: there are some, and nothing is so wrong that they make no sense.
    pub cel: bool,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checker")
    }
}

impl Checker {
    /// Makes a schema ready.
    pub fn new(schema: &Schema) -> Self {
        Self {
            node: Node::new(schema, Purpose::Objects),
            scale: None,
            has_rules: has_rules(schema),
            has_lists: lists::has_sets_or_maps(schema),
            has_embedded: embedded::has_embedded(schema),
            schema: schema.clone(),
        }
    }

    /// Also checks the fields that the scale subresource reads.
    #[must_use]
    pub fn with_scale(mut self, scale: ScalePaths) -> Self {
        self.scale = Some(scale);
        self
    }

    /// The schema itself.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Removes the unknown fields of an object and says which.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        self.schema.prune(object)
    }

    /// Fills in defaults.
    pub fn fill_defaults(&self, object: &mut Value) {
        self.schema.fill_defaults(object);
    }

    /// Fills in defaults, and leaves nulls that have none.
    pub fn fill_absent(&self, object: &mut Value) {
        self.schema.fill_absent(object);
    }

    /// Checks a new object, or one that replaces an old one. `earlier` are mistakes found before, in the metadata: they
    /// come first and may keep the rules from being checked.
    pub fn validate(&self, object: &Value, old: Option<&Value>, earlier: Vec<FieldError>) -> Validation {
        let mut errors = earlier;
        errors.extend(validate::check(&self.node, object, old, &Path::root("")).into_errors(""));
        if let Some(scale) = &self.scale {
            scale.check_spec(object, &mut errors);
            scale.check_status(object, &mut errors);
        }
        if self.has_embedded {
            embedded::validate(&self.schema, object, &Path::root(""), false, &mut errors);
        }
        self.finish(object, old, errors)
    }

    /// Checks the status of an object that replaces an old one.
    pub fn validate_status(&self, object: &Value, old: &Value, earlier: Vec<FieldError>) -> Validation {
        let mut errors = earlier;
        if let Some((status, node)) = object.get("status").zip(self.node.property("status")) {
            let outcome = validate::check(node, status, old.get("status"), &Path::root(""));
            errors.extend(outcome.into_errors("status"));
        }
        if let Some(scale) = &self.scale {
            scale.check_status(object, &mut errors);
        }
        self.finish(object, Some(old), errors)
    }

    fn finish(&self, object: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Validation {
        if self.has_lists {
            let found = |object| {
                let mut errors = Vec::new();
                lists::duplicates(&self.schema, object, &Path::root(""), &mut errors);
                errors
            };
            let duplicates = found(object);
            // Duplicates that were there before do not lock the object.
            if !duplicates.is_empty() && old.is_none_or(|old| found(old).is_empty()) {
                errors.extend(duplicates);
            }
        }
        let blocked = self.has_rules && errors.iter().any(|error| blocks_rules(error.mistake));
        if blocked {
            errors.push(FieldError {
                mistake: Mistake::Invalid,
                field: "<nil>".to_owned(),
                message: "Invalid value: null: some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation"
                    .to_owned(),
            });
        }
        Validation { errors, cel: self.has_rules && !blocked }
    }
}

fn blocks_rules(mistake: Mistake) -> bool {
    matches!(
        mistake,
        Mistake::NotSupported
            | Mistake::Required
            | Mistake::TooLong
            | Mistake::TooMany
            | Mistake::TypeInvalid
    )
}

fn has_rules(schema: &Schema) -> bool {
    !schema.rules.is_empty()
        || schema.declared().any(has_rules)
        || schema.values().is_some_and(has_rules)
        || schema.items.as_deref().is_some_and(has_rules)
}
