//! Compiled schema of a kind: pruning, defaulting and validation of its objects.

use orchestra_cel::{CauseType, FieldError};
use serde_json::Value;

use super::node::{Node, Purpose};
use super::path::Path;
use super::scale::ScalePaths;
use super::{Schema, defaults, embedded, lists, prune, validate};

/// Compiled schema.
pub(crate) struct Checker {
    schema: Schema,
    node: Node,
    scale: Option<ScalePaths>,
    has_rules: bool,
    has_lists: bool,
    has_embedded: bool,
}

/// Result of a validation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Validation {
    /// Errors, in the order of a real server.
    pub errors: Vec<FieldError>,
    /// True if CEL rules have to be evaluated: there are some, and no error prevents it.
    pub cel: bool,
}

impl std::fmt::Debug for Checker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checker")
    }
}

impl Checker {
    /// Compiles a schema.
    pub(crate) fn new(schema: &Schema) -> Self {
        Self {
            node: Node::new(schema, Purpose::Objects),
            scale: None,
            has_rules: has_rules(schema),
            has_lists: lists::has_sets_or_maps(schema),
            has_embedded: embedded::has_embedded(schema),
            schema: schema.clone(),
        }
    }

    /// Adds the validation of the scale subresource.
    #[must_use]
    pub(crate) fn with_scale(mut self, scale: ScalePaths) -> Self {
        self.scale = Some(scale);
        self
    }

    /// Source schema.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Removes the unknown fields of an object; returns their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        prune(&self.schema, object, true)
    }

    /// Sets defaults.
    pub(crate) fn fill_defaults(&self, object: &mut Value) {
        defaults::fill_defaults(&self.schema, object);
    }

    /// Sets defaults, and leaves nulls without a default.
    pub(crate) fn fill_absent(&self, object: &mut Value) {
        defaults::fill_absent(&self.schema, object);
    }

    /// Checks a new object, or the update of an old one. `earlier` are the errors in the metadata: they come first and
    /// may prevent the evaluation of rules.
    pub(crate) fn validate(
        &self,
        object: &Value,
        old: Option<&Value>,
        earlier: Vec<FieldError>,
    ) -> Validation {
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

    /// Checks the update of a status.
    pub(crate) fn validate_status(
        &self,
        object: &Value,
        old: &Value,
        earlier: Vec<FieldError>,
    ) -> Validation {
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
            // Duplicates that existed before are tolerated.
            if !duplicates.is_empty() && old.is_none_or(|old| found(old).is_empty()) {
                errors.extend(duplicates);
            }
        }
        let blocked = self.has_rules && errors.iter().any(|error| blocks_rules(error.cause));
        if blocked {
            errors.push(FieldError {
                cause: CauseType::Invalid,
                field: "<nil>".to_owned(),
                message: "Invalid value: null: some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation"
                    .to_owned(),
            });
        }
        Validation { errors, cel: self.has_rules && !blocked }
    }
}

fn blocks_rules(cause: CauseType) -> bool {
    matches!(
        cause,
        CauseType::NotSupported
            | CauseType::Required
            | CauseType::TooLong
            | CauseType::TooMany
            | CauseType::TypeInvalid
    )
}

fn has_rules(schema: &Schema) -> bool {
    !schema.rules.is_empty()
        || schema.declared().any(has_rules)
        || schema.values().is_some_and(has_rules)
        || schema.items.as_deref().is_some_and(has_rules)
}
