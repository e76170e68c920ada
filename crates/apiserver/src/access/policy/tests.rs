#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use serde_json::json;

use super::*;
use crate::access::attributes::Target;

/// Objects: resource, namespace, name, content.
type Objects<'a> = &'a [(&'a str, &'a str, &'a str, Value)];

fn policy(objects: Objects<'_>) -> Policy {
    let mut policy = Policy::default();
    for (resource, namespace, name, object) in objects {
        policy.update(resource, namespace, name, Some(object));
    }
    policy
}

fn role(verbs: &[&str], resources: &[&str]) -> Value {
    json!({"rules": [{"verbs": verbs, "apiGroups": [""], "resources": resources}]})
}

fn binding(kind: &str, role: &str, subjects: &[Value]) -> Value {
    json!({"roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": subjects})
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": GROUP, "name": name})
}

fn group(name: &str) -> Value {
    json!({"kind": "Group", "apiGroup": GROUP, "name": name})
}

fn account(namespace: &str, name: &str) -> Value {
    json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
}

fn read_maps(namespace: &str) -> Attributes {
    Attributes::new("get", Target::object("", "configmaps", "", namespace, "m"))
}

fn is_allowed(policy: &Policy, caller: &Caller, wanted: &Attributes) -> bool {
    policy.authorize(caller, wanted).is_allowed()
}

#[test]
fn nothing_is_allowed_without_a_rule_except_to_administrators() {
    let policy = Policy::default();
    let alice = Caller::new("alice", ["system:authenticated"]);
    assert!(!is_allowed(&policy, &alice, &read_maps("shop")));
    assert!(!is_allowed(&policy, &Caller::new("system:masters", [""; 0]), &read_maps("shop")));
    assert!(is_allowed(&policy, &Caller::admin(), &read_maps("shop")));
    assert!(is_allowed(&policy, &Caller::admin(), &Attributes::new("get", Target::Path("/".to_owned()))));
}

#[test]
fn bindings_apply_to_their_subjects_in_their_scope() {
    let policy = policy(&[
        (CLUSTER_ROLES, "", "reader", role(&["get"], &["configmaps"])),
        (ROLES, "shop", "reader", role(&["get"], &["configmaps"])),
        (CLUSTER_ROLE_BINDINGS, "", "all", binding("ClusterRole", "reader", &[user("ann"), group("ops")])),
        (CLUSTER_ROLE_BINDINGS, "", "robots", binding("ClusterRole", "reader", &[account("bots", "r")])),
        (ROLE_BINDINGS, "shop", "a", binding("ClusterRole", "reader", &[user("bob"), account("", "own")])),
        (ROLE_BINDINGS, "shop", "b", binding("Role", "reader", &[group("devs"), account("bots", "guest")])),
        (ROLE_BINDINGS, "bank", "b", binding("Role", "reader", &[user("carl")])),
    ]);
    let none: [&str; 0] = [];
    for (caller, shop, bank, cluster) in [
        (Caller::new("ann", none), true, true, true),
        (Caller::new("x", ["ops"]), true, true, true),
        (Caller::new("ops", none), false, false, false),
        (Caller::new("x", ["ann"]), false, false, false),
        (Caller::service_account("bots", "r"), true, true, true),
        (Caller::service_account("shop", "r"), false, false, false),
        (Caller::new("bob", none), true, false, false),
        (Caller::service_account("shop", "own"), true, false, false),
        (Caller::service_account("bank", "own"), false, false, false),
        (Caller::new("x", ["devs"]), true, false, false),
        (Caller::service_account("bots", "guest"), true, false, false),
        // The role of this binding does not exist in its namespace.
        (Caller::new("carl", none), false, false, false),
    ] {
        let allowed =
            ["shop", "bank", ""].map(|namespace| is_allowed(&policy, &caller, &read_maps(namespace)));
        assert_eq!(allowed, [shop, bank, cluster], "{caller:?}");
    }
}

#[test]
fn a_rule_in_a_namespace_never_allows_a_path() {
    let everything = json!({"rules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]});
    let policy = policy(&[
        (CLUSTER_ROLES, "", "cluster-admin", everything),
        (ROLE_BINDINGS, "shop", "a", binding("ClusterRole", "cluster-admin", &[user("bob")])),
    ]);
    let bob = Caller::new("bob", [""; 0]);
    assert!(is_allowed(&policy, &bob, &read_maps("shop")));
    assert!(!is_allowed(&policy, &bob, &Attributes::new("get", Target::Path("/metrics".to_owned()))));
    assert!(!is_allowed(
        &policy,
        &bob,
        &Attributes::new("list", Target::object("", "namespaces", "", "", ""))
    ));
}

#[test]
fn reasons_name_the_binding_or_the_missing_role() {
    let policy = policy(&[
        (CLUSTER_ROLES, "", "reader", role(&["get"], &["configmaps"])),
        (CLUSTER_ROLE_BINDINGS, "", "all", binding("ClusterRole", "reader", &[user("x"), group("ops")])),
        (ROLE_BINDINGS, "shop", "a", binding("ClusterRole", "reader", &[account("", "own")])),
        (ROLE_BINDINGS, "shop", "b", binding("Role", "gone", &[user("carl")])),
    ]);
    for (caller, reason) in [
        (
            Caller::new("y", ["ops"]),
            r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to Group "ops""#,
        ),
        (
            Caller::service_account("shop", "own"),
            r#"RBAC: allowed by RoleBinding "a/shop" of ClusterRole "reader" to ServiceAccount "own/shop""#,
        ),
        (Caller::new("carl", [""; 0]), r#"RBAC: role.rbac.authorization.k8s.io "gone" not found"#),
        (Caller::new("eve", [""; 0]), ""),
        (Caller::admin(), ""),
    ] {
        assert_eq!(policy.authorize(&caller, &read_maps("shop")).reason(), reason);
    }
}

#[test]
fn removed_and_changed_objects_take_effect() {
    let bob = Caller::new("bob", [""; 0]);
    let subjects = [user("bob")];
    let bound = binding("Role", "reader", &subjects);
    let mut policy = policy(&[
        (ROLES, "shop", "reader", role(&["get"], &["configmaps"])),
        (ROLE_BINDINGS, "shop", "a", bound.clone()),
    ]);
    assert!(is_allowed(&policy, &bob, &read_maps("shop")));
    policy.update(ROLES, "shop", "reader", Some(&role(&["list"], &["configmaps"])));
    assert!(!is_allowed(&policy, &bob, &read_maps("shop")), "the rule changed");
    policy.update(ROLES, "shop", "reader", Some(&role(&["get"], &["configmaps"])));
    assert!(is_allowed(&policy, &bob, &read_maps("shop")));
    policy.update(ROLE_BINDINGS, "shop", "a", Some(&binding("Role", "reader", &[user("ann")])));
    assert!(!is_allowed(&policy, &bob, &read_maps("shop")), "the subject changed");
    policy.update(ROLE_BINDINGS, "shop", "a", Some(&bound));
    policy.update(ROLES, "shop", "reader", None);
    assert!(!is_allowed(&policy, &bob, &read_maps("shop")), "the role was deleted");
    policy.update(ROLES, "shop", "reader", Some(&role(&["get"], &["configmaps"])));
    policy.update(ROLE_BINDINGS, "shop", "a", None);
    assert!(!is_allowed(&policy, &bob, &read_maps("shop")), "the binding was deleted");
    assert!(policy.users.is_empty() && policy.bindings.is_empty(), "nothing is left in the index");
}

#[test]
fn two_bindings_of_a_subject_are_independent() {
    let mut policy = policy(&[
        (ROLES, "shop", "reader", role(&["get"], &["configmaps"])),
        (ROLE_BINDINGS, "shop", "a", binding("Role", "reader", &[user("bob")])),
        (ROLE_BINDINGS, "shop", "b", binding("Role", "reader", &[user("bob"), group("bobs")])),
    ]);
    let bob = Caller::new("bob", ["bobs"]);
    let (rules, error) = policy.rules_of(&bob, "shop");
    assert_eq!((rules.len(), error.as_str()), (2, ""), "each binding counts once");
    policy.update(ROLE_BINDINGS, "shop", "b", None);
    assert!(is_allowed(&policy, &bob, &read_maps("shop")));
    policy.update(ROLE_BINDINGS, "shop", "a", None);
    assert!(!is_allowed(&policy, &bob, &read_maps("shop")));
}

fn aggregated(own: &str, selected: &str) -> Value {
    json!({
        "metadata": {"labels": {own: "true"}},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {selected: "true"}}]},
        "rules": null,
    })
}

fn labelled(label: &str, verb: &str) -> Value {
    let mut role = role(&[verb], &["configmaps"]);
    role["metadata"] = json!({"labels": {label: "true"}});
    role
}

#[test]
fn an_aggregated_role_has_the_rules_of_the_roles_it_selects() {
    let mut policy = policy(&[
        (CLUSTER_ROLES, "", "admin", aggregated("none", "to-admin")),
        (CLUSTER_ROLES, "", "edit", aggregated("to-admin", "to-edit")),
        (CLUSTER_ROLES, "", "part", labelled("to-edit", "get")),
        (CLUSTER_ROLE_BINDINGS, "", "all", binding("ClusterRole", "admin", &[user("bob")])),
    ]);
    let bob = Caller::new("bob", [""; 0]);
    assert!(is_allowed(&policy, &bob, &read_maps("shop")), "through two roles");
    let outdated: Vec<String> = policy.outdated().into_iter().map(|(name, _)| name).collect();
    assert_eq!(outdated, ["admin", "edit"], "their objects do not show the rules yet");
    policy.update(CLUSTER_ROLES, "", "part", Some(&labelled("other", "get")));
    assert!(!is_allowed(&policy, &bob, &read_maps("shop")), "no longer selected");
    assert!(policy.outdated().is_empty());
}

#[test]
fn rules_written_into_an_aggregated_role_do_not_count() {
    let mut role = aggregated("none", "to-admin");
    role["rules"] = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    let policy = policy(&[
        (CLUSTER_ROLES, "", "admin", role),
        (CLUSTER_ROLE_BINDINGS, "", "all", binding("ClusterRole", "admin", &[user("bob")])),
    ]);
    assert!(!is_allowed(&policy, &Caller::new("bob", [""; 0]), &read_maps("shop")));
}

#[test]
fn roles_that_select_each_other_have_the_rules_of_both() {
    let policy = policy(&[
        (CLUSTER_ROLES, "", "a", aggregated("to-b", "to-a")),
        (CLUSTER_ROLES, "", "b", aggregated("to-a", "to-b")),
        (CLUSTER_ROLES, "", "part", labelled("to-a", "get")),
        (CLUSTER_ROLE_BINDINGS, "", "all", binding("ClusterRole", "b", &[user("bob")])),
    ]);
    assert!(is_allowed(&policy, &Caller::new("bob", [""; 0]), &read_maps("shop")));
}

#[test]
fn a_decision_does_not_depend_on_the_number_of_other_bindings() {
    let mut policy = policy(&[(CLUSTER_ROLES, "", "reader", role(&["get"], &["configmaps"]))]);
    for number in 0..2000 {
        let subjects = [user(&format!("user-{number}")), group(&format!("group-{number}"))];
        policy.update(
            ROLE_BINDINGS,
            "shop",
            &format!("b-{number}"),
            Some(&binding("ClusterRole", "reader", &subjects)),
        );
    }
    let caller = Caller::new("user-7", ["group-8", "system:authenticated"]);
    assert_eq!(policy.bindings_of(&caller, "shop").count(), 2, "only those of the user and of their groups");
    assert!(is_allowed(&policy, &caller, &read_maps("shop")));
}

#[test]
fn the_subjects_of_a_right_are_users_and_groups_of_the_scope_without_administrators() {
    let everything = json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]});
    let named = json!({"rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["m"]}]});
    let policy = policy(&[
        (CLUSTER_ROLES, "", "reader", role(&["get"], &["configmaps"])),
        (CLUSTER_ROLES, "", "lister", role(&["list"], &["configmaps"])),
        (CLUSTER_ROLES, "", "named", named),
        (CLUSTER_ROLES, "", "everything", everything),
        (CLUSTER_ROLE_BINDINGS, "", "all", binding("ClusterRole", "reader", &[group("ops"), user("root")])),
        (
            CLUSTER_ROLE_BINDINGS,
            "",
            "root",
            binding("ClusterRole", "everything", &[user("root"), group("system:masters")]),
        ),
        (ROLE_BINDINGS, "shop", "a", binding("ClusterRole", "named", &[account("bots", "r"), user("bob")])),
        (ROLE_BINDINGS, "shop", "b", binding("ClusterRole", "everything", &[user("local")])),
        (ROLE_BINDINGS, "shop", "c", binding("ClusterRole", "lister", &[user("lister")])),
        (ROLE_BINDINGS, "shop", "d", binding("ClusterRole", "gone", &[user("nobody")])),
    ]);
    let read = ResourceRight { verbs: &["get"], group: "", resource: "configmaps", subresource: "" };
    let names = |namespace: &str, extent| {
        let mut found: Vec<String> = policy
            .subjects_with(namespace, &[read], extent)
            .into_iter()
            .map(|subject| format!("{}{}", if subject.is_group { "group " } else { "" }, subject.name))
            .collect();
        found.sort();
        found
    };
    assert_eq!(names("shop", Extent::Some), ["bob", "group ops", "local", "system:serviceaccount:bots:r"]);
    assert_eq!(names("bank", Extent::Some), ["group ops"]);
    assert!(policy.namespaces_of_administrators().is_empty(), "none of them is a service account");
    assert_eq!(names("", Extent::Some), ["group ops"]);
    assert_eq!(
        names("shop", Extent::All),
        ["group ops", "local"],
        "a rule with names is not about all objects"
    );
}

#[test]
fn the_namespaces_of_administrators_are_those_of_accounts_that_may_do_everything() {
    let everything = json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]});
    let admins = [account("ops", "root"), user("root"), group("system:serviceaccounts:robots")];
    let policy = policy(&[
        (CLUSTER_ROLES, "", "reader", role(&["get"], &["configmaps"])),
        (CLUSTER_ROLES, "", "everything", everything),
        (CLUSTER_ROLE_BINDINGS, "", "admins", binding("ClusterRole", "everything", &admins)),
        (CLUSTER_ROLE_BINDINGS, "", "readers", binding("ClusterRole", "reader", &[account("readers", "r")])),
        (ROLE_BINDINGS, "shop", "local", binding("ClusterRole", "everything", &[account("shop", "r")])),
    ]);
    assert_eq!(policy.namespaces_of_administrators(), ["ops", "robots"].map(str::to_owned).into());
}
