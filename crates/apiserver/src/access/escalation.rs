//! Escalation checks: nobody grants what they do not have.
//!
//! A role is written by users who have all its rules, or the verb `escalate` on it; a binding by users who have all rules
//! of its role, or the verb `bind` on that role.

use serde_json::Value;

use super::{
    attributes::{Attributes, Target},
    caller::{Caller, MASTERS},
    policy::{self, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Policy, ROLE_BINDINGS, ROLES},
    rule::{Rule, uncovered},
};
use crate::{kinds::Kind, status::Status};

/// A write of a role or binding.
pub(crate) struct GrantWrite<'a> {
    /// Kind of the object.
    pub kind: &'a Kind,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// Name in the path; empty for a POST.
    pub name: &'a str,
    /// The new object.
    pub object: &'a Value,
    /// Object before an update.
    pub old: Option<&'a Value>,
}

/// Refuses a role or binding by which a user would get more rights. Other kinds are never refused.
pub(crate) fn check(policy: &Policy, caller: &Caller, write: &GrantWrite<'_>) -> Result<(), Status> {
    let GrantWrite { kind, object, old, .. } = *write;
    let is_role = matches!(&*kind.resource, ROLES | CLUSTER_ROLES);
    let is_binding = matches!(&*kind.resource, ROLE_BINDINGS | CLUSTER_ROLE_BINDINGS);
    if !is_role && !is_binding || caller.is_in(MASTERS) {
        return Ok(());
    }
    // The garbage collector of a real server needs no rights to edit these.
    if old.is_some_and(|old| without_owners(old) == without_owners(object)) {
        return Ok(());
    }
    if is_role { check_role(policy, caller, write) } else { check_binding(policy, caller, write) }
}

fn check_role(policy: &Policy, caller: &Caller, write: &GrantWrite<'_>) -> Result<(), Status> {
    let GrantWrite { kind, namespace, name, object, old } = *write;
    let escalate =
        Attributes::new("escalate", Target::object(&kind.group, &kind.plural, "", namespace, name));
    if policy.authorize(caller, &escalate).is_allowed() {
        return Ok(());
    }
    covered(policy, caller, write, &policy::rules_of(object))?;
    let aggregates = |role: &Value| {
        role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|all| !all.is_empty())
    };
    if aggregates(object) || old.is_some_and(aggregates) {
        let all = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
        let everything = [
            Rule { verbs: all(&["*"]), api_groups: all(&["*"]), resources: all(&["*"]), ..Rule::default() },
            Rule { verbs: all(&["*"]), non_resource_urls: all(&["*"]), ..Rule::default() },
        ];
        covered(policy, caller, write, &everything).map_err(|_| {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            Status::forbidden(kind, name_of(object), why)
        })?;
    }
    Ok(())
}

fn check_binding(policy: &Policy, caller: &Caller, write: &GrantWrite<'_>) -> Result<(), Status> {
    let GrantWrite { namespace, object, .. } = *write;
    let role = policy::role_of(object);
    let plural = if role.cluster { "clusterroles" } else { "roles" };
    let bind = Attributes::new("bind", Target::object(policy::GROUP, plural, "", namespace, &role.name));
    if policy.authorize(caller, &bind).is_allowed() {
        return Ok(());
    }
    match policy.rules(&role, namespace) {
        Some(rules) => covered(policy, caller, write, rules),
        // The real server names the kind of the request, and the role.
        None => Err(Status::not_found(write.kind, &role.name)),
    }
}

/// Refuses rules that the user does not have.
fn covered(policy: &Policy, caller: &Caller, write: &GrantWrite<'_>, rules: &[Rule]) -> Result<(), Status> {
    let (own, error) = policy.rules_of(caller, write.namespace);
    let missing = uncovered(&own, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let mut missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    missing.sort();
    missing.dedup();
    let groups: Vec<String> = caller.groups.iter().map(|group| format!("{group:?}")).collect();
    let error = if error.is_empty() { error } else { format!("; resolution errors: {error}") };
    let why = format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}{error}",
        caller.name,
        groups.join(" "),
        missing.join("\n"),
    );
    Err(Status::forbidden(write.kind, name_of(write.object), why))
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The object without the fields that decide when it is deleted.
fn without_owners(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    object
}
