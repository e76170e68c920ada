//! Interface to the CEL checker.

use serde_json::Value;

use crate::schema::Schema;

/// Schema node whose rules are checked.
pub(crate) struct RulePlace<'a> {
    /// The node.
    pub schema: &'a Schema,
    /// Path of the node in the definition: `spec.validation.openAPIV3Schema.properties[spec]`.
    pub path: &'a str,
    /// Task.
    pub task: RuleTask<'a>,
    /// Nearest ancestor whose old and new values cannot be matched: rules below it must not use `oldSelf`.
    pub uncorrelatable: Option<&'a str>,
}

/// Task for a node with rules.
#[derive(Clone, Copy)]
pub(crate) enum RuleTask<'a> {
    /// Compile its rules.
    Compile,
    /// Evaluate all rules of the node and below on this default.
    Default(&'a Value),
}
