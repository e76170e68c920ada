//! Type check of the rules of a CRD when it is created.

use serde_json::{Value, json};

use crate::field_error::{CauseType, FieldError};
use crate::program::{Program, Purpose};
use crate::resource::{self, Kind};
use crate::schema::{Rule, Schema};
use crate::types::{self, Type};

/// Checks the rules of one node of a schema, which is at a path like
/// `spec.validation.openAPIV3Schema.properties[spec]`. Rules that read `oldSelf` are refused if the node is inside a
/// list whose items have no identity: `uncorrelatable` is the path of that list.
///
/// The real server leaves expressions unchecked while anything else is wrong with the node or below it.
pub fn check_within(schema: &Schema, at: &str, uncorrelatable: Option<&str>) -> Vec<FieldError> {
    let place = |index: usize, field: &str| format!("{at}.x-kubernetes-validations[{index}].{field}");
    let mut errors: Vec<FieldError> = Vec::new();
    if schema.rules.is_empty() {
        return errors;
    }
    let kind =
        if at.ends_with("openAPIV3Schema") || schema.embedded_resource { Kind::Resource } else { Kind::Part };
    let completed = resource::completed(schema, kind);
    let Some(this) = types::of_schema(&completed, "selfType") else {
        let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                      convert structural schema to CEL declarations";
        return vec![FieldError {
            cause: CauseType::Internal,
            field: format!("{at}.x-kubernetes-validations"),
            message: format!("Internal error: {detail}"),
        }];
    };
    for (index, rule) in schema.rules.iter().enumerate() {
        expressions(rule, &this, uncorrelatable, |field| place(index, field), &mut errors);
    }
    errors
}

fn expressions(
    rule: &Rule,
    this: &Type<'_>,
    uncorrelatable: Option<&str>,
    place: impl Fn(&str) -> String,
    errors: &mut Vec<FieldError>,
) {
    let program = match Program::compile(&rule.rule, this, Purpose::Rule) {
        Ok(program) => program,
        Err(detail) => {
            errors.push(FieldError::invalid_text(place("rule"), &rule.rule, detail));
            return;
        }
    };
    if !rule.message_expression.is_empty()
        && let Err(detail) = Program::compile(&rule.message_expression, this, Purpose::Message)
    {
        errors.push(FieldError::invalid_text(place("messageExpression"), &rule.message_expression, detail));
    }
    match (program.uses_old_self, rule.optional_old_self, uncorrelatable) {
        (true, Some(true), _) => errors.push(FieldError::forbidden(
            place("optionalOldSelf"),
            "the embedded API does not evaluate optional values, and so no rules with optionalOldSelf",
        )),
        (true, _, Some(list)) => {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
            errors.push(FieldError::invalid(place("rule"), &json!(rule.rule), detail));
        }
        (false, Some(optional), _) => {
            let detail = "may not be set if oldSelf is not used in rule";
            errors.push(FieldError::invalid(place("optionalOldSelf"), &Value::Bool(optional), detail));
        }
        _ => {}
    }
}
