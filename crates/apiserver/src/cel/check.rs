//! Checks the rules of a CRD when it is created.

use serde_json::{Value, json};

use super::field_path;
use super::program::{Program, Purpose};
use super::resource::{self, Kind};
use super::types::{self, Type};
use crate::field_error::{FieldError, Mistake};
use crate::schema::{Rule, Schema};

const REASONS: &[&str] =
    &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Checks the rules of one node of a schema, which is at a path like
/// `spec.validation.openAPIV3Schema.properties[spec]`. Rules that read `oldSelf` are refused if the node is inside a
/// list whose items have no identity: `uncorrelatable` is the path of that list.
///
/// The real server leaves expressions unchecked while anything else is wrong with the node or below it.
pub fn check_within(schema: &Schema, at: &str, uncorrelatable: Option<&str>) -> Vec<FieldError> {
    let place = |index: usize, field: &str| format!("{at}.x-kubernetes-validations[{index}].{field}");
    let mut errors: Vec<FieldError> = Vec::new();
    for (index, rule) in schema.rules.iter().enumerate() {
        form(rule, schema, |field| place(index, field), &mut errors);
    }
    if schema.rules.is_empty() || !errors.is_empty() {
        return errors;
    }
    let kind =
        if at.ends_with("openAPIV3Schema") || schema.embedded_resource { Kind::Resource } else { Kind::Part };
    let completed = resource::completed(schema, kind);
    let Some(this) = types::of_schema(&completed, "selfType") else {
        let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                      convert structural schema to CEL declarations";
        return vec![FieldError {
            mistake: Mistake::Internal,
            field: format!("{at}.x-kubernetes-validations"),
            message: format!("Internal error: {detail}"),
        }];
    };
    for (index, rule) in schema.rules.iter().enumerate() {
        expressions(rule, &this, uncorrelatable, |field| place(index, field), &mut errors);
    }
    errors
}

/// Checks everything but the expressions.
fn form(rule: &Rule, schema: &Schema, place: impl Fn(&str) -> String, errors: &mut Vec<FieldError>) {
    let has_breaks = |text: &str| text.contains(['\n', '\r']);
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    if text.is_empty() {
        errors.push(FieldError::required(place("rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        errors.push(FieldError::invalid(
            place("message"),
            &json!(rule.message),
            "must be non-empty if specified",
        ));
    } else if has_breaks(message) {
        errors.push(FieldError::invalid(
            place("message"),
            &json!(rule.message),
            "must not contain line breaks",
        ));
    } else if has_breaks(text) && message.is_empty() {
        errors.push(FieldError::required(
            place("message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        errors.push(FieldError::required(
            place("messageExpression"),
            "messageExpression must be non-empty if specified",
        ));
    }
    if let Some(reason) = rule.reason.as_ref().filter(|reason| !REASONS.contains(&reason.as_str())) {
        errors.push(FieldError::not_supported(place("reason"), &json!(reason), REASONS));
    }
    let mut path = |problem: &str| {
        errors.push(FieldError::invalid(place("fieldPath"), &json!(rule.field_path), problem));
    };
    if !rule.field_path.is_empty() {
        if rule.field_path.trim().is_empty() {
            path("must be non-empty if specified");
        }
        if has_breaks(&rule.field_path) {
            path("must not contain line breaks");
        }
        if field_path::normalised(&rule.field_path, schema).is_none() {
            path("must be a valid path");
        }
    }
}

fn expressions(
    rule: &Rule,
    this: &Type<'_>,
    uncorrelatable: Option<&str>,
    place: impl Fn(&str) -> String,
    errors: &mut Vec<FieldError>,
) {
    let whole = |field: &str, detail: String| FieldError {
        mistake: Mistake::Invalid,
        field: place(field),
        message: format!("Invalid value: {}: {detail}", shown(rule)),
    };
    let program = match Program::compile(&rule.rule, this, Purpose::Rule) {
        Ok(program) => program,
        Err(detail) => {
            errors.push(whole("rule", detail));
            return;
        }
    };
    if !rule.message_expression.is_empty()
        && let Err(detail) = Program::compile(&rule.message_expression, this, Purpose::Message)
    {
        errors.push(whole("messageExpression", detail));
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

/// A rule as the real server prints it.
fn shown(rule: &Rule) -> String {
    let text = |text: &str| {
        let quoted = Value::String(text.to_owned()).to_string();
        quoted
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029")
    };
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        rule.reason.as_ref().map_or_else(|| "null".to_owned(), |reason| text(reason)),
        text(&rule.field_path),
        rule.optional_old_self.map_or_else(|| "null".to_owned(), |optional| optional.to_string()),
    )
}
