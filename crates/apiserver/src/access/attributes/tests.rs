#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use super::*;
use crate::{kinds::registry::Registry, store::Revision};

fn attributes(method: &str, path: &str) -> Attributes {
    let registry = Registry::build(&[], &Registry::default(), Revision(0));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let method: Method = method.parse().unwrap();
    Attributes::of(&route::route(&registry, path), &method, path, &Query::parse(query))
}

/// `verb group/resource/subresource namespace/name`
fn shown(attributes: &Attributes) -> String {
    match &attributes.target {
        Target::Path(path) => format!("{} {path}", attributes.verb),
        Target::Resource { group, resource, subresource, namespace, name } => {
            format!("{} {group}/{resource}/{subresource} {namespace}/{name}", attributes.verb)
        }
    }
}

#[test]
fn verbs_follow_from_the_method_and_the_path() {
    for (method, path, expected) in [
        ("GET", "/api/v1/namespaces/shop/configmaps", "list /configmaps/ shop/"),
        ("HEAD", "/api/v1/namespaces/shop/configmaps", "list /configmaps/ shop/"),
        ("GET", "/api/v1/namespaces/shop/configmaps?watch=true", "watch /configmaps/ shop/"),
        ("GET", "/api/v1/namespaces/shop/configmaps?watch=0", "list /configmaps/ shop/"),
        ("GET", "/api/v1/namespaces/shop/configmaps?watch", "watch /configmaps/ shop/"),
        ("GET", "/api/v1/configmaps", "list /configmaps/ /"),
        ("GET", "/api/v1/namespaces/shop/configmaps/a", "get /configmaps/ shop/a"),
        ("GET", "/api/v1/namespaces/shop/configmaps/a?watch=true", "get /configmaps/ shop/a"),
        ("POST", "/api/v1/namespaces/shop/configmaps", "create /configmaps/ shop/"),
        ("PUT", "/api/v1/namespaces/shop/configmaps/a", "update /configmaps/ shop/a"),
        ("PATCH", "/api/v1/namespaces/shop/configmaps/a", "patch /configmaps/ shop/a"),
        ("DELETE", "/api/v1/namespaces/shop/configmaps/a", "delete /configmaps/ shop/a"),
        ("DELETE", "/api/v1/namespaces/shop/configmaps", "deletecollection /configmaps/ shop/"),
        ("TRACE", "/api/v1/namespaces/shop/configmaps", " /configmaps/ shop/"),
        ("GET", "/api/v1/namespaces", "list /namespaces/ /"),
        ("GET", "/api/v1/namespaces/shop", "get /namespaces/ shop/shop"),
        ("PUT", "/api/v1/namespaces/shop/status", "update /namespaces/status shop/shop"),
        ("PUT", "/api/v1/namespaces/shop/finalize", "update /namespaces/finalize shop/shop"),
        ("POST", "/api/v1/namespaces/shop/serviceaccounts/a/token", "create /serviceaccounts/token shop/a"),
        (
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "create authorization.k8s.io/selfsubjectaccessreviews/ /",
        ),
        ("GET", "/version", "get /version"),
        ("POST", "/version", "post /version"),
        ("GET", "/", "get /"),
        ("GET", "/livez/ping", "get /livez/ping"),
        ("GET", "/apis/apiextensions.k8s.io/v1", "get /apis/apiextensions.k8s.io/v1"),
        ("GET", "/openapi/v3/api/v1", "get /openapi/v3/api/v1"),
    ] {
        assert_eq!(shown(&attributes(method, path)), expected, "{method} {path}");
    }
}

#[test]
fn a_field_selector_on_the_name_names_the_object() {
    for (selector, name) in [
        ("metadata.name%3Da", "a"),
        ("metadata.name==a", "a"),
        ("metadata.name!%3Da", ""),
        ("metadata.namespace%3Da", ""),
        ("metadata.name%3Da,metadata.namespace%3Dshop", "a"),
        ("%3D%3D", ""),
    ] {
        for watch in ["", "&watch=true"] {
            let path = format!("/api/v1/namespaces/shop/configmaps?fieldSelector={selector}{watch}");
            let Target::Resource { name: found, .. } = attributes("GET", &path).target else { panic!() };
            assert_eq!(found, name, "{path}");
        }
        let path = format!("/api/v1/namespaces/shop/configmaps?fieldSelector={selector}");
        let deletion = shown(&attributes("DELETE", &path));
        assert_eq!(deletion, "deletecollection /configmaps/ shop/", "a deletion is not restricted by it");
    }
}

#[test]
fn tricks_with_paths_are_read_as_the_request_that_is_executed() {
    for (path, expected) in [
        ("/api/v1/namespaces/shop/secrets/", "list /secrets/ shop/"),
        ("/api/v1/namespaces/shop/secrets/a/", "get /secrets/ shop/a"),
        ("/api/v1/namespaces/shop/%73ecrets/a", "get /secrets/ shop/a"),
        // An encoded slash belongs to the name, which no object has.
        ("/api/v1/namespaces/shop/secrets/a%2Fstatus", "get /secrets/ shop/a/status"),
        ("/api/v1/namespaces/shop%2Fsecrets/configmaps", "list /configmaps/ shop/secrets/"),
        ("/api/v1/namespaces/open/../shop/secrets", "get /../secrets open/shop"),
        ("/api/v1/namespaces/shop/secrets/..", "get /secrets/ shop/.."),
        // An empty namespace is all of them.
        ("/api/v1/namespaces//secrets", "list /secrets/ /"),
        ("/api/v1/Namespaces/shop/secrets", "get /Namespaces/secrets /shop"),
        ("/API/v1/namespaces/shop/secrets", "get /API/v1/namespaces/shop/secrets"),
        ("/api/v1/watch/namespaces/shop/secrets", "get /watch/shop /namespaces"),
        ("//api/v1/namespaces/shop/secrets", "list /secrets/ shop/"),
        ("/version/", "get /version"),
        ("/apis/score.dev/v9/namespaces/shop/workloads/a", "get score.dev/workloads/ shop/a"),
    ] {
        assert_eq!(shown(&attributes("GET", path)), expected, "{path}");
    }
}

#[test]
fn refusals_have_the_text_and_the_details_of_a_real_server() {
    for (method, path, message, details) in [
        (
            "GET",
            "/apis/score.dev/v1b1/namespaces/default/workloads",
            r#"workloads.score.dev is forbidden: User "alice" cannot list resource "workloads" in API group "score.dev" in the namespace "default""#,
            ("", "score.dev", "workloads"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/default/configmaps/a/status",
            r#"configmaps "a" is forbidden: User "alice" cannot update resource "configmaps/status" in API group "" in the namespace "default""#,
            ("a", "", "configmaps"),
        ),
        (
            "GET",
            "/api/v1/namespaces",
            r#"namespaces is forbidden: User "alice" cannot list resource "namespaces" in API group "" at the cluster scope"#,
            ("", "", "namespaces"),
        ),
        (
            "GET",
            "/api/v1/namespaces/a%3Cb%3E&",
            r#"namespaces "a<b>&" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "a&lt;b&gt;&amp;""#,
            ("a<b>&", "", "namespaces"),
        ),
        ("GET", "/metrics", r#"forbidden: User "alice" cannot get path "/metrics""#, ("", "", "")),
    ] {
        let status = attributes(method, path).forbidden("alice", "");
        assert_eq!((status.code, status.reason, status.message.as_str()), (403, "Forbidden", message));
        let found = status.details.unwrap();
        assert_eq!((&*found.name, &*found.group, &*found.kind), details);
    }
    let status = attributes("GET", "/metrics").forbidden("alice", "RBAC: broken");
    assert!(status.message.ends_with(r#"path "/metrics": RBAC: broken"#), "{}", status.message);
}
