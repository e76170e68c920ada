//! Right to run programs on this machine, by the roles and bindings of the embedded API.

use std::collections::BTreeSet;

use futures_util::stream::{BoxStream, StreamExt as _};
use orchestra_api::GROUP;
use orchestra_apiserver::{Api, Extent, ResourceRight};
use orchestra_core::program_access::{self, Writer};
use orchestra_drivers::ProgramAccess;

/// Verbs of writes, also as another user.
const WRITE: [&str; 9] = [
    "create",
    "update",
    "patch",
    "impersonate-on:user-info:create",
    "impersonate-on:user-info:update",
    "impersonate-on:user-info:patch",
    "impersonate-on:serviceaccount:create",
    "impersonate-on:serviceaccount:update",
    "impersonate-on:serviceaccount:patch",
];

/// Rights on what programs are made of: their commands, their variables and files, and what they depend on; or to act as somebody
/// who has those rights.
const WRITERS: [ResourceRight<'_>; 18] = [
    write("workloads", ""),
    write("workloads", "status"),
    write("workloadplans", ""),
    write("workloadplans", "status"),
    write("resourceclaims", ""),
    write("resourceclaims", "status"),
    write("workloadexposures", ""),
    write("workloadexposures", "status"),
    ResourceRight { verbs: &WRITE, group: "", resource: "secrets", subresource: "" },
    impersonate("users"),
    impersonate("groups"),
    impersonate("serviceaccounts"),
    impersonate_for_some("users"),
    impersonate_for_some("groups"),
    impersonate_for_some("serviceaccounts"),
    grant("roles"),
    grant("clusterroles"),
    // A folder is the program.
    RUN,
];

/// Rights on all namespaces: a definition has default values, which become part of the workloads that others write later.
const CLUSTER_WRITERS: [ResourceRight<'_>; 1] = [ResourceRight {
    verbs: &["create", "update", "patch", "delete", "deletecollection"],
    group: "apiextensions.k8s.io",
    resource: "customresourcedefinitions",
    subresource: "",
}];

/// Rights to act as service accounts.
const ACCOUNTS: [ResourceRight<'_>; 2] =
    [impersonate("serviceaccounts"), impersonate_for_some("serviceaccounts")];

/// Right to run programs.
const RUN: ResourceRight<'_> =
    ResourceRight { verbs: &["update"], group: GROUP, resource: "workloads", subresource: "origin" };

const fn write(resource: &'static str, subresource: &'static str) -> ResourceRight<'static> {
    ResourceRight { verbs: &WRITE, group: GROUP, resource, subresource }
}

const fn impersonate(resource: &'static str) -> ResourceRight<'static> {
    ResourceRight { verbs: &["impersonate"], group: "", resource, subresource: "" }
}

/// Impersonation for some requests.
const fn impersonate_for_some(resource: &'static str) -> ResourceRight<'static> {
    let verbs = &["impersonate:user-info", "impersonate:serviceaccount"];
    ResourceRight { verbs, group: "authentication.k8s.io", resource, subresource: "" }
}

/// Roles beyond the own rights.
const fn grant(resource: &'static str) -> ResourceRight<'static> {
    let verbs = &["bind", "escalate"];
    ResourceRight { verbs, group: "rbac.authorization.k8s.io", resource, subresource: "" }
}

/// Right to run programs on the embedded platform.
pub(super) struct EmbeddedProgramAccess {
    pub(super) api: Api,
    /// True if users with the right may run programs.
    pub(super) trusts_users: bool,
}

impl ProgramAccess for EmbeddedProgramAccess {
    fn refusal(&self, namespace: &str) -> Option<String> {
        // In doubt, nothing runs: for a writer some objects are enough, the right to run programs must be for all.
        let runners = self.api.subjects_with(namespace, &[RUN], Extent::All);
        let mut writers: BTreeSet<_> =
            self.api.subjects_with(namespace, &WRITERS, Extent::Some).into_iter().collect();
        writers.extend(self.api.subjects_with("", &CLUSTER_WRITERS, Extent::Some));
        for other in self.api.namespaces_of_administrators() {
            writers.extend(self.api.subjects_with(&other, &ACCOUNTS, Extent::Some));
        }
        let writers: Vec<Writer> = writers
            .into_iter()
            .map(|subject| Writer {
                runs_programs: runners.contains(&subject),
                name: subject.name,
                is_group: subject.is_group,
            })
            .collect();
        program_access::refusal(namespace, self.trusts_users, &writers)
    }

    fn changes(&self) -> BoxStream<'static, ()> {
        self.api.rights_changes().boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use orchestra_apiserver::{Options, store::Memory};
    use serde_json::{Value as Json, json};
    use tower::ServiceExt as _;

    use super::*;

    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

    async fn send(api: &Api, method: &str, path: &str, body: &Json) {
        let request = axum::http::Request::builder().method(method).uri(path);
        let request = request.body(axum::body::Body::from(body.to_string())).unwrap();
        let router = api.router_for(orchestra_apiserver::Caller::admin());
        let response = router.oneshot(request).await.unwrap();
        assert!(response.status().is_success(), "{method} {path}: {}", response.status());
    }

    /// Binds a subject to a rule, in the namespace `default` or everywhere if the kind is a cluster role binding.
    async fn bind(api: &Api, kind: &str, name: &str, subject: &Json, rule: &Json) {
        let role = json!({"metadata": {"name": name}, "rules": [rule]});
        send(api, "POST", &format!("{RBAC}/clusterroles"), &role).await;
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [subject],
        });
        let path = match kind {
            "RoleBinding" => format!("{RBAC}/namespaces/default/rolebindings"),
            _ => format!("{RBAC}/clusterrolebindings"),
        };
        send(api, "POST", &path, &binding).await;
    }

    fn rule(verb: &str, group: &str, resource: &str) -> Json {
        json!({"verbs": [verb], "apiGroups": [group], "resources": [resource]})
    }

    fn user(name: &str) -> Json {
        json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name})
    }

    #[tokio::test]
    async fn any_right_on_what_programs_are_made_of_stops_programs_of_others() {
        for (verb, group, resource, refused) in [
            ("create", "score.dev", "workloads", true),
            ("patch", "*", "*", true),
            ("update", "score.dev", "workloads/status", true),
            ("patch", "score.dev", "workloadplans", true),
            ("update", "score.dev", "resourceclaims/status", true),
            ("update", "score.dev", "*/status", true),
            ("update", "", "secrets", true),
            ("impersonate", "", "serviceaccounts", true),
            ("impersonate:user-info", "authentication.k8s.io", "users", true),
            ("impersonate:serviceaccount", "authentication.k8s.io", "serviceaccounts", true),
            ("impersonate-on:user-info:patch", "score.dev", "workloads", true),
            ("impersonate-on:user-info:get", "score.dev", "workloads", false),
            ("escalate", "rbac.authorization.k8s.io", "roles", true),
            ("update", "score.dev", "workloads/origin", true),
            ("get", "score.dev", "workloads", false),
            ("delete", "score.dev", "workloads", false),
            ("create", "", "configmaps", false),
            ("create", "apps", "workloads", false),
        ] {
            for kind in ["RoleBinding", "ClusterRoleBinding"] {
                let api = Api::open(Memory, Options::default()).await.unwrap();
                bind(&api, kind, "bob", &user("bob"), &rule(verb, group, resource)).await;
                let access = EmbeddedProgramAccess { api, trusts_users: false };
                let refusal = access.refusal("default");
                assert_eq!(refusal.is_some(), refused, "{kind} {verb} {group} {resource}");
                assert!(refusal.is_none_or(|text| text.contains("`bob`")));
                let elsewhere = refused && kind == "ClusterRoleBinding";
                assert_eq!(access.refusal("other").is_some(), elsewhere, "{kind} {verb} {group} {resource}");
            }
        }
    }

    #[tokio::test]
    async fn a_right_to_run_programs_of_some_names_is_none() {
        let api = Api::open(Memory, Options::default()).await.unwrap();
        let named = |names: &[&str]| json!({"verbs": ["update"], "apiGroups": ["score.dev"], "resources": ["workloads/origin"], "resourceNames": names});
        bind(&api, "RoleBinding", "write", &user("bob"), &rule("patch", "score.dev", "workloads")).await;
        bind(&api, "RoleBinding", "other", &user("bob"), &named(&["other"])).await;
        let access = EmbeddedProgramAccess { api: api.clone(), trusts_users: true };
        assert!(access.refusal("default").is_some());
        bind(&api, "RoleBinding", "all", &user("bob"), &named(&[])).await;
        assert_eq!(access.refusal("default"), None);
    }

    #[tokio::test]
    async fn whoever_may_change_definitions_changes_every_namespace() {
        let definitions = |verb| rule(verb, "apiextensions.k8s.io", "customresourcedefinitions");
        for (verb, refused) in [
            ("create", true),
            ("update", true),
            ("patch", true),
            ("delete", true),
            ("deletecollection", true),
            ("get", false),
        ] {
            for kind in ["RoleBinding", "ClusterRoleBinding"] {
                let api = Api::open(Memory, Options::default()).await.unwrap();
                bind(&api, kind, "bob", &user("bob"), &definitions(verb)).await;
                let access = EmbeddedProgramAccess { api, trusts_users: false };
                let refused = refused && kind == "ClusterRoleBinding";
                for namespace in ["default", "other"] {
                    let refusal = access.refusal(namespace);
                    assert_eq!(refusal.is_some(), refused, "{kind} {verb} {namespace}");
                }
            }
        }
    }

    #[tokio::test]
    async fn whoever_may_act_as_an_administrator_changes_every_namespace() {
        let account = |namespace| json!({"kind": "ServiceAccount", "namespace": namespace, "name": "root"});
        for (namespace, refused) in [("default", true), ("ops", false)] {
            let api = Api::open(Memory, Options::default()).await.unwrap();
            // In the namespace `default`.
            bind(&api, "RoleBinding", "act", &user("bob"), &rule("impersonate", "", "serviceaccounts")).await;
            let access = EmbeddedProgramAccess { api: api.clone(), trusts_users: true };
            assert_eq!(access.refusal("other"), None);
            bind(&api, "ClusterRoleBinding", "root", &account(namespace), &rule("*", "*", "*")).await;
            assert_eq!(access.refusal("other").is_some(), refused, "{namespace}");
        }
        let api = Api::open(Memory, Options::default()).await.unwrap();
        let masters = rule("impersonate", "", "groups");
        bind(&api, "ClusterRoleBinding", "act", &user("bob"), &masters).await;
        let access = EmbeddedProgramAccess { api, trusts_users: true };
        assert!(access.refusal("other").is_some());
    }

    #[tokio::test]
    async fn administrators_and_a_fresh_platform_stop_nothing() {
        let api = Api::open(Memory, Options::default()).await.unwrap();
        let access = EmbeddedProgramAccess { api: api.clone(), trusts_users: false };
        assert_eq!(access.refusal("default"), None);
        bind(&api, "ClusterRoleBinding", "root", &user("root"), &rule("*", "*", "*")).await;
        assert_eq!(access.refusal("default"), None);
        bind(&api, "RoleBinding", "local", &user("local"), &rule("*", "*", "*")).await;
        let refusal = access.refusal("default").unwrap();
        assert!(refusal.contains("`local`"), "an administrator of one namespace is a user: {refusal}");
    }

    #[tokio::test]
    async fn a_change_of_bindings_is_noticed_and_changes_the_answer_at_once() {
        let api = Api::open(Memory, Options::default()).await.unwrap();
        let access = EmbeddedProgramAccess { api: api.clone(), trusts_users: true };
        let mut changes = access.changes();
        assert_eq!(changes.next().await, Some(()), "at the start");
        assert_eq!(changes.next().now_or_never(), None);
        let developers =
            json!({"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "developers"});
        bind(&api, "RoleBinding", "write", &developers, &rule("create", "score.dev", "workloads")).await;
        assert!(access.refusal("default").unwrap().contains("the group `developers`"));
        assert_eq!(changes.next().await, Some(()));
        bind(&api, "RoleBinding", "run", &developers, &rule("update", "score.dev", "workloads/origin")).await;
        assert_eq!(access.refusal("default"), None, "trusted");
        let without = EmbeddedProgramAccess { api: api.clone(), trusts_users: false };
        assert!(without.refusal("default").is_some());
        send(&api, "DELETE", &format!("{RBAC}/namespaces/default/rolebindings/write"), &json!({})).await;
        send(&api, "DELETE", &format!("{RBAC}/namespaces/default/rolebindings/run"), &json!({})).await;
        assert_eq!(without.refusal("default"), None);
    }
}
