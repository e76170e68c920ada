//! Admission: checks against the state of other objects, the last step before the store.

use serde_json::Value;

use crate::{
    access::escalation::{self, GrantWrite},
    kinds::builtin,
    status::{Cause, Status},
    verbs::Call,
};

/// Namespaces that cannot be deleted.
pub(crate) const PERMANENT: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Refuses new objects in a namespace or of a kind that is missing or terminating.
pub(crate) fn create(call: &Call<'_>, object: &Value) -> Result<(), Status> {
    let kind = call.kind();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if kind.terminating {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(kind, name, why));
    }
    let namespace = &call.target.namespace;
    if namespace.is_empty() {
        return Ok(());
    }
    let registry = call.api.registry();
    let Some(namespaces) = registry.find("", "v1", builtin::NAMESPACES) else { return Ok(()) };
    let found =
        call.api.read(namespaces, "", namespace).ok_or_else(|| Status::not_found(namespaces, namespace))?;
    if found["metadata"].get("deletionTimestamp").is_some() {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = Cause {
            field: Some("metadata.namespace".to_owned()),
            message: format!("namespace {namespace} is being terminated"),
            reason: "NamespaceTerminating",
        };
        return Err(Status::forbidden(kind, name, why).with_causes([cause]));
    }
    Ok(())
}

/// Refuses a role or binding by which its writer would get more rights.
pub(crate) fn grant(call: &Call<'_>, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    let write = GrantWrite {
        kind: call.kind(),
        namespace: &call.target.namespace,
        name: &call.target.name,
        object,
        old,
    };
    escalation::check(&call.api.policy(), call.permit.caller(), &write)
}

/// Refuses the deletion of permanent namespaces.
pub(crate) fn delete(call: &Call<'_>, object: &Value) -> Result<(), Status> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if &*call.kind().resource == builtin::NAMESPACES && PERMANENT.contains(&name) {
        return Err(Status::forbidden(call.kind(), name, "this namespace may not be deleted"));
    }
    Ok(())
}
