//! Validation of the fields of a CEL rule other than its expressions.

use orchestra_cel::{FieldError, resolve_field_path};

use super::openapi::SchemaVisitor;
use super::unsupported::Props;

impl SchemaVisitor<'_> {
    /// Checks the texts of the rules of a node.
    pub(super) fn rule_texts(&mut self, props: Props<'_>, path: &str) {
        const REASONS: [&str; 4] =
            ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
        let schema = props.schema;
        let has_lines = |text: &str| text.contains(['\n', '\r']);
        let has_paths = schema.rules.iter().any(|rule| !rule.field_path.is_empty());
        let convertible = has_paths && props.obstacle().is_none();
        for (index, rule) in schema.rules.iter().enumerate() {
            let place = |field: &str| format!("{path}.x-kubernetes-validations[{index}].{field}");
            let message = rule.message.trim();
            if rule.rule.trim().is_empty() {
                self.errors.push(FieldError::required(place("rule"), "rule is not specified"));
            } else if !rule.message.is_empty() && message.is_empty() {
                let detail = "must be non-empty if specified";
                self.errors.push(FieldError::invalid_text(place("message"), &rule.message, detail));
            } else if has_lines(message) {
                self.errors.push(FieldError::invalid_text(
                    place("message"),
                    &rule.message,
                    "must not contain line breaks",
                ));
            } else if has_lines(rule.rule.trim()) && message.is_empty() {
                let detail = "message must be specified if rule contains line breaks";
                self.errors.push(FieldError::required(place("message"), detail));
            }
            if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
                let detail = "messageExpression must be non-empty if specified";
                self.errors.push(FieldError::required(place("messageExpression"), detail));
            }
            if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
                self.errors.push(FieldError::not_supported(place("reason"), &reason.into(), REASONS));
            }
            let mut bad_path = |detail: &str| {
                self.errors.push(FieldError::invalid_text(place("fieldPath"), &rule.field_path, detail));
            };
            if !rule.field_path.is_empty() {
                if rule.field_path.trim().is_empty() {
                    bad_path("must be non-empty if specified");
                }
                if has_lines(&rule.field_path) {
                    bad_path("must not contain line breaks");
                }
                if convertible && resolve_field_path(&rule.field_path, schema).is_none() {
                    bad_path("must be a valid path");
                }
            }
        }
    }
}
