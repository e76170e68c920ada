//! Roles and bindings of every cluster, and the aggregation of cluster roles.

use std::sync::{Arc, LazyLock};

use axum::http::{HeaderValue, header};
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use super::with_call;
use crate::{
    access::{
        policy::{self, CLUSTER_ROLES},
        rule::uncovered,
    },
    api::Api,
    http::query::Query,
    json as codec,
    kinds::Kind,
    status::Status,
    store::Key,
    stored_object::StoredObject,
    verbs::{create, patch, update},
};

/// Roles and bindings of every cluster, as a real server has them. A test checks that the file is well-formed.
static BOOTSTRAP: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("bootstrap-roles.json")).unwrap_or_default());
/// Annotation of those that are completed at each start, unless it is `false`.
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
/// Field manager of aggregated rules.
const AGGREGATOR: &str = "clusterrole-aggregation-controller";

/// Creates missing roles and bindings, and completes existing ones with missing rules and subjects.
pub(super) async fn prepare(api: &Api) -> Result<(), Status> {
    let registry = api.registry();
    for plural in ["clusterroles", "clusterrolebindings"] {
        let Some(kind) = registry.find(policy::GROUP, "v1", plural) else { continue };
        let all = BOOTSTRAP[plural].as_array().into_iter().flatten();
        // Concurrent writes share a sync.
        try_join_all(all.map(|wanted| prepare_one(api, kind, wanted))).await?;
    }
    aggregate(api).await;
    Ok(())
}

async fn prepare_one(api: &Api, kind: &Arc<Kind>, wanted: &Value) -> Result<(), Status> {
    let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
    with_call(api, kind, "", name, async |call| {
        let Some(old) = api.ledger().get(&call.key()) else {
            return create::store_new(call, wanted.clone(), Some("kube-apiserver")).await.map(drop);
        };
        let mut object = StoredObject { revision: old.revision, bytes: &old.value }.object(kind);
        if object["metadata"]["annotations"][AUTOUPDATE] == "false" || !complete(&mut object, wanted) {
            return Ok(());
        }
        update::change(call, &old, object, Some("kube-apiserver")).await.map(drop)
    })
    .await
}

/// Adds missing rules and subjects; true if there were any.
fn complete(object: &mut Value, wanted: &Value) -> bool {
    let missing_rules: Vec<Value> = uncovered(&policy::rules_of(object), &policy::rules_of(wanted))
        .iter()
        .filter_map(|rule| serde_json::to_value(rule).ok())
        .collect();
    let subjects = object["subjects"].as_array().cloned().unwrap_or_default();
    let missing_subjects: Vec<Value> = wanted["subjects"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|subject| !subjects.contains(subject))
        .cloned()
        .collect();
    let mut changed = false;
    for (field, missing) in [("rules", missing_rules), ("subjects", missing_subjects)] {
        if !missing.is_empty() {
            let mut all = object[field].as_array().cloned().unwrap_or_default();
            all.extend(missing);
            object[field] = Value::Array(all);
            changed = true;
        }
    }
    changed
}

/// Writes the rules in force into aggregated cluster roles.
pub(super) async fn aggregate(api: &Api) {
    let outdated = api.policy().outdated();
    let registry = api.registry();
    let Some(kind) = registry.find(policy::GROUP, "v1", "clusterroles") else { return };
    for (name, rules) in outdated {
        let applied = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}, "rules": &*rules,
        });
        let body = codec::encode(&applied).into();
        let written = with_call(api, kind, "", &name, async |call| {
            // A role that was deleted meanwhile is not created again.
            if api.ledger().get(&Key::new(CLUSTER_ROLES, "", &name)).is_none() {
                return Ok(());
            }
            let query = Query::parse(&format!("fieldManager={AGGREGATOR}&force=true"));
            let mut parts = call.parts.clone();
            parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(patch::APPLY));
            patch::patch(&call.with(query, &parts), body).await.map(drop)
        })
        .await;
        super::retry_on_failure(api, written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_of_every_cluster_are_well_formed() {
        let names = |plural: &str| -> Vec<&str> {
            let objects = BOOTSTRAP[plural].as_array().into_iter().flatten();
            objects.filter_map(|object| object["metadata"]["name"].as_str()).collect()
        };
        let roles = names("clusterroles");
        for wanted in ["cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user"] {
            assert!(roles.contains(&wanted), "{wanted}");
        }
        for binding in BOOTSTRAP["clusterrolebindings"].as_array().into_iter().flatten() {
            let role = binding["roleRef"]["name"].as_str().unwrap_or_default();
            assert!(roles.contains(&role), "{role}");
        }
        assert_eq!(names("clusterrolebindings").len(), 5);
    }

    #[test]
    fn a_role_is_completed_with_missing_rules_and_keeps_others() {
        let rule = |verbs: &[&str]| json!({"verbs": verbs, "apiGroups": [""], "resources": ["configmaps"]});
        let mut role = json!({"rules": [rule(&["get", "delete"])]});
        let wanted = json!({"rules": [rule(&["get", "list"])]});
        assert!(complete(&mut role, &wanted));
        assert_eq!(role["rules"], json!([rule(&["get", "delete"]), rule(&["list"])]));
        assert!(!complete(&mut role, &wanted), "complete already");
        let subject = json!({"kind": "Group", "name": "a"});
        let mut binding = json!({"subjects": null});
        assert!(complete(&mut binding, &json!({"subjects": [subject]})));
        assert_eq!(binding["subjects"], json!([subject]));
    }
}
