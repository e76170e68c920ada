//! Access matrix: every identity, on every path, with every verb. The expected verdict of over a thousand requests follows
//! from one table of rights, so that any server can be asked.

use bytes::Bytes;
use http::{Request, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::parity::{Target, target::TargetError};

const SHOP: &str = "matrix-shop";
const BANK: &str = "matrix-bank";
const NAMESPACES: &str = "/api/v1/namespaces";
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
/// Prefix of cluster roles and their bindings.
const PREFIX: &str = "matrix--";

/// Result of all requests.
#[derive(Debug)]
pub struct Verdicts {
    /// Number of requests.
    pub requests: usize,
    /// Requests with another verdict than the table.
    pub wrong: Vec<String>,
}

/// Sender of a request.
#[derive(Clone, Debug)]
enum Who {
    Anonymous,
    Admin,
    /// Name and groups.
    User(&'static str, &'static [&'static str]),
    Token(String),
}

/// Verb on a resource: namespace, group, resource, subresource, verb. In rights, `*` stands for all.
type Deed = (&'static str, &'static str, &'static str, &'static str, &'static str);

struct Identity {
    name: &'static str,
    who: Who,
    rights: Vec<Deed>,
    /// Readable paths without objects; `*` for all methods on all paths.
    paths: &'static [&'static str],
}

struct Deal {
    method: &'static str,
    path: String,
    deed: Deed,
}

const PUBLIC: &[&str] = &["/healthz", "/version"];
const DISCOVERY: &[&str] = &["/healthz", "/version", "/apis", "/openapi/v3"];
const PATHS: &[&str] = &["/healthz", "/version", "/apis", "/openapi/v3", "/", "/metrics", "/nowhere"];
/// Right of every authenticated user.
const OWN_ACCESS: Deed = ("", "authorization.k8s.io", "selfsubjectaccessreviews", "", "create");
const EVERYTHING: Deed = ("*", "*", "*", "*", "*");

/// Sends all requests to a server, which gets the needed roles and loses them afterwards.
pub async fn play(target: &Target) -> Result<Verdicts, TargetError> {
    clean(target).await?;
    let identities = prepare(target).await?;
    let deals = deals();
    let mut verdicts = Verdicts { requests: 0, wrong: Vec::new() };
    // A real server applies new roles after a moment.
    for _ in 0..10 {
        verdicts = ask(target, &identities, &deals).await?;
        if verdicts.wrong.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    clean(target).await?;
    Ok(verdicts)
}

async fn ask(target: &Target, identities: &[Identity], deals: &[Deal]) -> Result<Verdicts, TargetError> {
    let mut verdicts = Verdicts { requests: 0, wrong: Vec::new() };
    for identity in identities {
        let of_deals = deals.iter().map(|deal| (deal.method, deal.path.as_str(), identity.may(deal.deed)));
        let of_paths = PATHS.iter().flat_map(|path| {
            let everything = identity.paths == ["*"];
            let readable = everything || identity.paths.contains(path);
            [("GET", *path, readable), ("POST", *path, everything)]
        });
        for (method, path, expected) in of_deals.chain(of_paths) {
            let code = send(target, &identity.who, method, path, &body(method)).await?.0;
            verdicts.requests += 1;
            if expected == matches!(code, 401 | 403) {
                verdicts.wrong.push(format!("{}: {method} {path}: {code}", identity.name));
            }
        }
    }
    Ok(verdicts)
}

impl Identity {
    fn may(&self, deed: Deed) -> bool {
        let covers = |own: &str, wanted: &str| own == "*" || own == wanted;
        self.rights.iter().any(|own| {
            covers(own.0, deed.0)
                && covers(own.1, deed.1)
                && covers(own.2, deed.2)
                && covers(own.3, deed.3)
                && covers(own.4, deed.4)
        })
    }
}

fn body(method: &str) -> Value {
    match method {
        "POST" | "PUT" => json!({"metadata": {"name": "one"}}),
        "PATCH" => json!({}),
        _ => Value::Null,
    }
}

/// All requests about objects. None of them changes anything.
fn deals() -> Vec<Deal> {
    let mut deals = Vec::new();
    let mut add = |method, path, deed| deals.push(Deal { method, path, deed });
    for namespace in [SHOP, BANK] {
        for (root, group, resource) in [
            ("/api/v1", "", "configmaps"),
            ("/api/v1", "", "secrets"),
            ("/apis/coordination.k8s.io/v1", "coordination.k8s.io", "leases"),
            (RBAC, RBAC_GROUP, "roles"),
        ] {
            let all = format!("{root}/namespaces/{namespace}/{resource}");
            for (method, path, verb) in [
                ("GET", "", "list"),
                ("GET", "?watch=true&timeoutSeconds=1&resourceVersion=0", "watch"),
                ("POST", "?dryRun=All", "create"),
                ("DELETE", "?dryRun=All&labelSelector=none", "deletecollection"),
                ("GET", "/one", "get"),
                ("PUT", "/one?dryRun=All", "update"),
                ("PATCH", "/one?dryRun=All", "patch"),
                ("DELETE", "/one?dryRun=All", "delete"),
            ] {
                add(method, format!("{all}{path}"), (namespace, group, resource, "", verb));
            }
        }
        let own = format!("{NAMESPACES}/{namespace}");
        add(
            "POST",
            format!("{own}/serviceaccounts/one/token"),
            (namespace, "", "serviceaccounts", "token", "create"),
        );
        add("PATCH", format!("{own}/status?dryRun=All"), (namespace, "", "namespaces", "status", "patch"));
        add("GET", own, (namespace, "", "namespaces", "", "get"));
    }
    for (root, group, resource) in [
        ("/api/v1", "", "namespaces"),
        ("/api/v1", "", "secrets"),
        (RBAC, RBAC_GROUP, "clusterroles"),
        ("/apis/apiextensions.k8s.io/v1", "apiextensions.k8s.io", "customresourcedefinitions"),
    ] {
        add("GET", format!("{root}/{resource}"), ("", group, resource, "", "list"));
    }
    for review in ["selfsubjectaccessreviews", "subjectaccessreviews"] {
        let path = format!("/apis/authorization.k8s.io/v1/{review}");
        add("POST", path, ("", "authorization.k8s.io", review, "", "create"));
    }
    deals
}

/// Creates namespaces, roles and bindings, and returns who has them.
async fn prepare(target: &Target) -> Result<Vec<Identity>, TargetError> {
    for namespace in [SHOP, BANK] {
        create(target, NAMESPACES, json!({"metadata": {"name": namespace}})).await?;
        let accounts = format!("{NAMESPACES}/{namespace}/serviceaccounts");
        for name in ["one", "robot"] {
            create(target, &accounts, json!({"metadata": {"name": name}})).await?;
        }
    }
    let robot = json!({"kind": "ServiceAccount", "namespace": SHOP, "name": "robot"});
    for (namespace, name, subject, verbs, group, resource) in [
        (SHOP, "reader", user("reader"), &["get", "list", "watch"][..], "", "configmaps"),
        (SHOP, "writer", user("writer"), &["create", "update"], "", "configmaps"),
        (SHOP, "keeper", group("keepers"), &["*"], "", "secrets"),
        (BANK, "leader", user("leader"), &["*"], "coordination.k8s.io", "*"),
        (SHOP, "owner", user("owner"), &["*"], "*", "*"),
        (BANK, "issuer", robot, &["create"], "", "serviceaccounts/token"),
    ] {
        let rules = json!([{"verbs": verbs, "apiGroups": [group], "resources": [resource]}]);
        let path = |plural: &str| format!("{RBAC}/namespaces/{namespace}/{plural}");
        create(target, &path("roles"), json!({"metadata": {"name": name}, "rules": rules})).await?;
        create(target, &path("rolebindings"), binding(name, "Role", name, &subject)).await?;
    }
    for (name, verb, resource, subject) in
        [("lister", "list", "*", user("lister")), ("status", "patch", "*/status", user("status"))]
    {
        let name = format!("{PREFIX}{name}");
        let rules = json!([{"verbs": [verb], "apiGroups": ["*"], "resources": [resource]}]);
        create(target, &format!("{RBAC}/clusterroles"), json!({"metadata": {"name": name}, "rules": rules}))
            .await?;
        let bound = binding(&name, "ClusterRole", &name, &subject);
        create(target, &format!("{RBAC}/clusterrolebindings"), bound).await?;
    }
    let operators =
        binding(&format!("{PREFIX}operators"), "ClusterRole", "cluster-admin", &group("operators"));
    create(target, &format!("{RBAC}/clusterrolebindings"), operators).await?;
    Ok(identities(token(target, SHOP).await?, token(target, BANK).await?))
}

fn identities(shop_robot: String, bank_robot: String) -> Vec<Identity> {
    let known = |name: &'static str, who: Who, rights: &[Deed]| Identity {
        name,
        who,
        rights: [&[OWN_ACCESS], rights].concat(),
        paths: DISCOVERY,
    };
    let maps = |verb: &'static str| (SHOP, "", "configmaps", "", verb);
    let tokens = (BANK, "", "serviceaccounts", "token", "create");
    vec![
        Identity { name: "anonymous", who: Who::Anonymous, rights: vec![], paths: PUBLIC },
        Identity { name: "bad token", who: Who::Token("nonsense".to_owned()), rights: vec![], paths: &[] },
        Identity { name: "admin", who: Who::Admin, rights: vec![EVERYTHING], paths: &["*"] },
        Identity {
            name: "operator",
            who: Who::User("operator", &["operators"]),
            rights: vec![EVERYTHING],
            paths: &["*"],
        },
        known("user named as a group", Who::User("operators", &[]), &[]),
        known("user named as the group of administrators", Who::User("system:masters", &[]), &[]),
        known("group named as a user", Who::User("nobody", &["reader"]), &[]),
        known("reader", Who::User("reader", &[]), &[maps("get"), maps("list"), maps("watch")]),
        known("writer", Who::User("writer", &[]), &[maps("create"), maps("update")]),
        known("keeper", Who::User("x", &["a", "keepers"]), &[(SHOP, "", "secrets", "", "*")]),
        known("leader", Who::User("leader", &[]), &[(BANK, "coordination.k8s.io", "*", "*", "*")]),
        known("owner", Who::User("owner", &[]), &[(SHOP, "*", "*", "*", "*")]),
        known("lister", Who::User("lister", &[]), &[("*", "*", "*", "", "list")]),
        known("status", Who::User("status", &[]), &[("*", "*", "*", "status", "patch")]),
        known("service account", Who::Token(shop_robot), &[tokens]),
        known("service account without roles", Who::Token(bank_robot), &[]),
    ]
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": RBAC_GROUP, "name": name})
}

fn group(name: &str) -> Value {
    json!({"kind": "Group", "apiGroup": RBAC_GROUP, "name": name})
}

fn binding(name: &str, kind: &str, role: &str, subject: &Value) -> Value {
    let reference = json!({"apiGroup": RBAC_GROUP, "kind": kind, "name": role});
    json!({"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
}

async fn token(target: &Target, namespace: &str) -> Result<String, TargetError> {
    let path = format!("{NAMESPACES}/{namespace}/serviceaccounts/robot/token");
    let issued = create(target, &path, json!({})).await?;
    Ok(issued["status"]["token"].as_str().ok_or("the server gave no token")?.to_owned())
}

async fn create(target: &Target, path: &str, body: Value) -> Result<Value, TargetError> {
    let (code, answer) = send(target, &Who::Admin, "POST", path, &body).await?;
    if code == 201 { Ok(answer) } else { Err(format!("POST {path}: {code}: {answer}").into()) }
}

async fn send(
    target: &Target,
    who: &Who,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<(u16, Value), TargetError> {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    let mut request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, kind);
    match who {
        Who::Anonymous | Who::Admin => {}
        Who::Token(token) => request = request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        Who::User(name, groups) => {
            request = request.header("impersonate-user", *name);
            for group in *groups {
                request = request.header("impersonate-group", *group);
            }
        }
    }
    let request = request.body(bytes)?;
    let response = match who {
        Who::Anonymous | Who::Token(_) => target.send_bare(request).await?,
        Who::Admin | Who::User(..) => target.send(request).await?,
    };
    let code = response.status().as_u16();
    if path.contains("watch=true") {
        return Ok((code, Value::Null));
    }
    let bytes = response.into_body().collect().await?.to_bytes();
    Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}

/// Deletes everything that [`prepare`] creates, and waits for the end of the namespaces.
async fn clean(target: &Target) -> Result<(), TargetError> {
    for plural in ["clusterroles", "clusterrolebindings"] {
        let path = format!("{RBAC}/{plural}");
        let (_, listed) = send(target, &Who::Admin, "GET", &path, &Value::Null).await?;
        for object in listed["items"].as_array().into_iter().flatten() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if name.starts_with(PREFIX) {
                send(target, &Who::Admin, "DELETE", &format!("{path}/{name}"), &Value::Null).await?;
            }
        }
    }
    for namespace in [SHOP, BANK] {
        let path = format!("{NAMESPACES}/{namespace}");
        while send(target, &Who::Admin, "DELETE", &path, &Value::Null).await?.0 != 404 {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    Ok(())
}
