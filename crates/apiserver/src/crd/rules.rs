//! What the module that knows CEL is asked while a definition is checked.

use serde_json::Value;

use crate::schema::Schema;

/// A node of a schema whose rules are to be looked at.
pub(crate) struct RulePlace<'a> {
    /// The node.
    pub schema: &'a Schema,
    /// Where the node is in the definition: `spec.validation.openAPIV3Schema.properties[spec]`.
    pub path: &'a str,
    /// What is asked.
    pub task: RuleTask<'a>,
    /// The first node above whose old and new values cannot be matched: rules must not use `oldSelf` then.
    pub uncorrelatable: Option<&'a str>,
}

/// What is asked of a node with rules.
#[derive(Clone, Copy)]
pub(crate) enum RuleTask<'a> {
    /// Do its rules compile?
    Compile,
    /// Does this default value keep all rules of the node and below?
    Default(&'a Value),
}
