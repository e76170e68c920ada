//! Check that the shipped roles have all permissions that the controllers need, and no others.
//!
//! In production one account has the roles of all controllers. Here each request is sent with the account of one
//! controller, which its field manager identifies. A missing permission fails the request; used permissions are recorded,
//! so that an unused one fails the test.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Request, Response, header::AUTHORIZATION};
use kube::{
    Client,
    client::{Body, ClientBuilder},
};
use serde_json::Value as Json;
use tower::{Layer, Service};

use super::{Access, Error, access::Grant, manifests::documents, project};

/// Roles of the controllers.
const WORKLOAD: &str = "score-workload-controller";
const CLAIM: &str = "score-claim-controller";
const PLAN: &str = "score-plan-controller";
const POLICY: &str = "score-policy-controller";
/// Role of all controllers in the namespace of the orchestrator.
const SETTINGS: &str = "score-settings";

/// Controllers that watch each kind. They share the watches, so requests do not identify them.
const WATCHERS: [(&str, &[&str]); 6] = [
    ("workloads", &[WORKLOAD, POLICY, CLAIM]),
    ("platformpolicies", &[WORKLOAD, POLICY]),
    ("namespaces", &[WORKLOAD, POLICY]),
    ("resourceclaims", &[WORKLOAD, CLAIM]),
    ("workloadplans", &[WORKLOAD, CLAIM, PLAN]),
    ("workloadexposures", &[WORKLOAD, PLAN]),
];

/// Permissions for Secrets of instances, which no engine of the tutorial uses.
const OF_ENGINES: [(&str, &str, &str); 3] =
    [(CLAIM, "create", "/secrets"), (CLAIM, "update", "/secrets"), (CLAIM, "delete", "/secrets")];

/// Accounts of the controllers, and their used permissions.
#[derive(Clone, Debug, Default)]
pub struct Rights {
    tokens: Arc<BTreeMap<&'static str, HeaderValue>>,
    used: Arc<Mutex<BTreeSet<Right>>>,
}

/// Role, verb, and resource with group and subresource.
type Right = (&'static str, String, String);

impl Rights {
    /// Accounts with one role each.
    pub async fn of(access: &Access) -> Result<Self, Error> {
        let mut tokens = BTreeMap::new();
        for role in [WORKLOAD, CLAIM, PLAN, POLICY] {
            let token = access.token(&format!("only-{role}"), &[Grant::Everywhere(role)]).await?;
            tokens.insert(role, HeaderValue::try_from(format!("Bearer {token}"))?);
        }
        let token = access.token("only-score-settings", &[Grant::System(SETTINGS)]).await?;
        tokens.insert(SETTINGS, HeaderValue::try_from(format!("Bearer {token}"))?);
        Ok(Self { tokens: Arc::new(tokens), used: Arc::default() })
    }

    /// Client for all controllers that sends each request with the account of its controller.
    pub async fn client(&self, access: &Access) -> Result<Client, Error> {
        Ok(ClientBuilder::try_from(access.address().await?)?.with_layer(self).build())
    }

    /// Permissions of the roles that were not used.
    pub fn unused(&self) -> Result<Vec<String>, Error> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unused = Vec::new();
        for role in [WORKLOAD, CLAIM, PLAN, POLICY, SETTINGS] {
            let file = role.trim_start_matches("score-");
            for object in documents(&project().join("deploy/rbac").join(format!("{file}.yaml")))? {
                for (verb, resource) in granted(&object) {
                    // A watch needs both; a lease is watched only while another process holds it.
                    let is_read = |(by, did, what): &Right| {
                        *by == role && *what == resource && (did == "list" || did == "watch")
                    };
                    let is_used = match verb.as_str() {
                        "list" | "watch" => resource.ends_with("leases") || used.iter().any(is_read),
                        _ => used.contains(&(role, verb.clone(), resource.clone())),
                    };
                    if !is_used && !OF_ENGINES.contains(&(role, verb.as_str(), resource.as_str())) {
                        unused.push(format!("{role}: {verb} {resource}"));
                    }
                }
            }
        }
        Ok(unused)
    }

    fn note(&self, role: &'static str, verb: &str, resource: &str) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert((role, verb.to_owned(), resource.to_owned()));
    }
}

/// Verbs and resources of a role.
fn granted(role: &Json) -> Vec<(String, String)> {
    let texts = |value: &Json| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|text| text.as_str().map(ToOwned::to_owned))
            .collect()
    };
    let mut all = Vec::new();
    for rule in role["rules"].as_array().into_iter().flatten() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                all.extend(
                    texts(&rule["verbs"]).into_iter().map(|verb| (verb, format!("{group}/{resource}"))),
                );
            }
        }
    }
    all
}

/// Verb of a request, and resource with group and subresource.
fn attributes(request: &Request<Body>) -> (String, String) {
    let path = request.uri().path().trim_start_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["apis", group, _, rest @ ..] => (*group, rest),
        core => ("", core.get(2..).unwrap_or_default()),
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let verb = match (request.method(), rest.len()) {
        (&Method::GET, 1) => {
            if is_watch {
                "watch"
            } else {
                "list"
            }
        }
        (&Method::GET, _) => "get",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        _ => "delete",
    };
    let resource = match rest {
        [resource, _, subresource] => format!("{group}/{resource}/{subresource}"),
        [resource, ..] => format!("{group}/{resource}"),
        [] => group.to_owned(),
    };
    (verb.to_owned(), resource)
}

/// Controllers that may have sent a request; the account of the first is used.
fn senders(verb: &str, resource: &str, query: &str) -> Vec<&'static str> {
    let kind = resource.split('/').nth(1).unwrap_or_default();
    let follows = WATCHERS.iter().find(|(followed, _)| *followed == kind);
    match (verb, kind, follows) {
        (_, "configmaps" | "leases", _) => vec![SETTINGS],
        ("list" | "watch", _, Some((_, watchers))) => watchers.to_vec(),
        // Both read Secrets with the same request.
        ("get", "secrets", _) => vec![PLAN, CLAIM],
        (_, "secrets", _) => vec![CLAIM],
        ("patch", ..) if query.contains("score.dev%2Fclaim") => vec![CLAIM],
        ("patch", ..) if query.contains("score.dev%2Fplan") => vec![PLAN],
        ("patch", ..) if query.contains("score.dev%2Fpolicy") => vec![POLICY],
        _ => vec![WORKLOAD],
    }
}

impl<S> Layer<S> for Rights {
    type Service = Sending<S>;

    fn layer(&self, inner: S) -> Sending<S> {
        Sending { rights: self.clone(), inner }
    }
}

/// Service that sends each request with the account of its controller.
#[derive(Clone, Debug)]
pub struct Sending<S> {
    rights: Rights,
    inner: S,
}

impl<S, B> Service<Request<Body>> for Sending<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let (verb, resource) = attributes(&request);
        let senders = senders(&verb, &resource, request.uri().query().unwrap_or_default());
        let token = senders.first().and_then(|role| self.rights.tokens.get(role)).cloned();
        if let Some(token) = token {
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        let rights = self.rights.clone();
        let sent = self.inner.call(request);
        Box::pin(async move {
            let answer = sent.await?;
            for role in senders {
                rights.note(role, &verb, &resource);
                // An apply that creates an object needs this permission too.
                if verb == "patch" && answer.status() == http::StatusCode::CREATED {
                    rights.note(role, "create", &resource);
                }
            }
            Ok(answer)
        })
    }
}
