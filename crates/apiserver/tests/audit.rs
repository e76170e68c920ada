//! Audit log of the API: what it records, and what never gets into it.

use std::{
    convert::Infallible,
    fs,
    net::SocketAddr,
    path::PathBuf,
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::StreamExt as _;
use orchestra_apiserver::{
    Api, AuditLog, Caller, Options,
    audit::{FileOptions, Scope},
    store::Memory,
};
use orchestra_limits::{Bound, Limits, Options as LimitOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

const CANARY: &str = "canary-5up3r-s3cr3t";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// API with an audit log.
struct Audited {
    api: Api,
    log: AuditLog,
    path: PathBuf,
    _folder: TempDir,
}

/// A request, to be changed before it is sent.
fn request(method: &str, path: &str, body: impl Into<Body>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    request.body(body.into()).unwrap()
}

async fn send(router: &Router, caller: &str, mut request: Request<Body>) -> Response<Body> {
    if !caller.is_empty() {
        request.extensions_mut().insert(Caller::new(caller, ["system:masters"]));
    }
    request.extensions_mut().insert(SocketAddr::from(([192, 0, 2, 7], 4711)));
    router.clone().oneshot(request).await.unwrap()
}

/// Body that keeps a request in progress.
fn endless() -> Body {
    Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>())
}

fn is_pending(future: Pin<&mut impl Future>) -> bool {
    future.poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

async fn json_of(response: Response<Body>) -> Value {
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

impl Audited {
    async fn start(scope: Scope, limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let options = FileOptions { path: path.clone(), max_bytes: u64::MAX, max_files: 2 };
        let log = AuditLog::to_file(options, scope).unwrap();
        let options = Options { audit: log.clone(), limits, ..Options::default() };
        let api = Api::open(Memory, options).await.unwrap();
        Self { api, log, path, _folder: folder }
    }

    async fn new() -> Self {
        Self::start(Scope::Changes, Limits::default()).await
    }

    /// Sends a request of an administrator, and returns the code.
    async fn send(&self, method: &str, path: &str, body: &Value) -> u16 {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.api.router(), "jane", request(method, path, body)).await.status().as_u16()
    }

    async fn text(&self) -> String {
        self.log.flush().await;
        fs::read_to_string(&self.path).unwrap()
    }

    async fn events(&self) -> Vec<Value> {
        self.text().await.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Verb, target and code of the events.
    async fn summary(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = |event: &Value| {
            let object = &event["objectRef"];
            let parts = ["resource", "subresource", "name"].map(|part| text(&object[part]));
            let target: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let target = if target.is_empty() { text(&event["requestURI"]) } else { target.join("/") };
            format!("{} {target} {}", text(&event["verb"]), event["responseStatus"]["code"])
        };
        self.events().await.iter().map(line).collect()
    }
}

#[tokio::test]
async fn writes_reads_of_secrets_and_refusals_are_recorded() {
    let audited = Audited::new().await;
    let secret = json!({"metadata": {"name": "db"}, "stringData": {"password": CANARY}});
    let map = json!({"metadata": {"name": "plain"}});
    let generated = json!({"metadata": {"generateName": "made-"}});
    for (method, path, body, code) in [
        ("POST", SECRETS, &secret, 201),
        ("POST", SECRETS, &secret, 409),
        ("GET", SECRETS, &Value::Null, 200),
        ("GET", &format!("{SECRETS}/db"), &Value::Null, 200),
        ("POST", CONFIG_MAPS, &map, 201),
        ("GET", CONFIG_MAPS, &Value::Null, 200),
        ("GET", &format!("{CONFIG_MAPS}/plain"), &Value::Null, 200),
        ("POST", CONFIG_MAPS, &generated, 201),
        ("PUT", &format!("{CONFIG_MAPS}/plain"), &map, 200),
        ("DELETE", &format!("{CONFIG_MAPS}/plain"), &Value::Null, 200),
        ("DELETE", CONFIG_MAPS, &Value::Null, 200),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/absent/token", &json!({}), 404),
        (
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            &json!({"spec": {"namespace": "x"}}),
            201,
        ),
        ("GET", "/healthz", &Value::Null, 200),
        ("POST", "/nowhere", &Value::Null, 404),
    ] {
        assert_eq!(audited.send(method, path, body).await, code, "{method} {path}");
    }
    let router = audited.api.router();
    assert_eq!(send(&router, "", request("GET", CONFIG_MAPS, "")).await.status(), 403);
    let mut invalid = request("GET", "/version", "");
    invalid.headers_mut().insert("authorization", "Bearer nonsense".parse().unwrap());
    assert_eq!(send(&router, "", invalid).await.status(), 401);
    let own = audited.api.router_for(Caller::admin());
    assert_eq!(send(&own, "", request("POST", CONFIG_MAPS, map.to_string())).await.status(), 201);

    let mut summary = audited.summary().await;
    let made = summary.remove(5);
    assert!(
        made.starts_with("create configmaps/made-") && made.len() > "create configmaps/made- 201".len(),
        "{made}"
    );
    assert_eq!(
        summary,
        [
            "create secrets/db 201",
            "create secrets/db 409",
            "list secrets 200",
            "get secrets/db 200",
            "create configmaps/plain 201",
            "update configmaps/plain 200",
            "delete configmaps/plain 200",
            "deletecollection configmaps 200",
            "create serviceaccounts/token/absent 404",
            "create selfsubjectrulesreviews 201",
            "post /nowhere 404",
            "list configmaps 403",
            "get /version 401",
        ]
    );
}

#[tokio::test]
async fn an_event_has_the_shape_of_kubernetes() {
    let audited = Audited::new().await;
    let path = "/api/v1/namespaces/default/configmaps?fieldManager=me&unknown=5ecret";
    let mut create = request("POST", path, json!({"metadata": {"name": "a"}}).to_string());
    create.headers_mut().insert("user-agent", "kubectl/v1.36".parse().unwrap());
    create.headers_mut().insert("impersonate-user", "bob".parse().unwrap());
    create.headers_mut().insert("impersonate-group", "system:masters".parse().unwrap());
    let response = send(&audited.api.router(), "jane", create).await;
    let id = response.headers()["audit-id"].to_str().unwrap().to_owned();
    let mut event = audited.events().await.remove(0);
    for time in ["requestReceivedTimestamp", "stageTimestamp"] {
        let text = event[time].take();
        assert_eq!(text.as_str().unwrap().len(), "2026-11-19T22:57:06.123456Z".len(), "{text}");
    }
    assert_eq!(
        event,
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": id,
            "stage": "ResponseComplete",
            "requestURI": "/api/v1/namespaces/default/configmaps?fieldManager=me",
            "verb": "create",
            "user": {"username": "jane", "groups": ["system:masters", "system:authenticated"]},
            "impersonatedUser": {"username": "bob", "groups": ["system:masters", "system:authenticated"]},
            "sourceIPs": ["192.0.2.7"], "userAgent": "kubectl/v1.36",
            "objectRef": {"resource": "configmaps", "namespace": "default", "name": "a", "apiVersion": "v1"},
            "responseStatus": {"metadata": {}, "code": 201},
            "requestReceivedTimestamp": null, "stageTimestamp": null,
            "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
        })
    );
}

#[tokio::test]
async fn all_requests_are_recorded_on_demand() {
    let audited = Audited::start(Scope::All, Limits::default()).await;
    let own = audited.api.router_for(Caller::new("controller", ["system:masters"]));
    let router = audited.api.router();
    assert_eq!(send(&own, "", request("GET", CONFIG_MAPS, "")).await.status(), 200);
    assert_eq!(send(&router, "jane", request("GET", "/healthz", "")).await.status(), 200);
    assert_eq!(audited.summary().await, ["list configmaps 200", "get /healthz 200"]);
    assert_eq!(audited.events().await[0]["user"]["username"], "controller");
}

#[tokio::test]
async fn a_request_beyond_the_limits_is_recorded() {
    let one = Bound { total: 8, per_caller: 1 };
    let limits = LimitOptions { requests: one, wait: Duration::from_millis(1), ..LimitOptions::default() };
    let audited = Audited::start(Scope::Changes, Limits::new(limits)).await;
    let router = audited.api.router();
    let mut busy = Box::pin(send(&router, "jane", request("POST", CONFIG_MAPS, endless())));
    assert!(is_pending(busy.as_mut()));
    assert_eq!(audited.send("GET", CONFIG_MAPS, &Value::Null).await, 429);
    assert_eq!(audited.summary().await, ["list configmaps 429"]);
    assert_eq!(audited.events().await[0]["responseStatus"]["reason"], "TooManyRequests");
}

#[tokio::test]
async fn a_write_whose_client_leaves_is_recorded() {
    let audited = Audited::new().await;
    let router = audited.api.router();
    let mut leaving = Box::pin(send(&router, "jane", request("POST", CONFIG_MAPS, endless())));
    assert!(is_pending(leaving.as_mut()));
    drop(leaving);
    let events = audited.events().await;
    assert_eq!(audited.summary().await, ["create configmaps null"]);
    assert!(events[0]["annotations"]["orchestra/aborted"].is_string(), "{}", events[0]);
}

#[tokio::test]
async fn a_watch_of_secrets_has_a_begin_and_an_end() {
    let audited = Audited::new().await;
    assert_eq!(audited.send("POST", SECRETS, &json!({"metadata": {"name": "a"}})).await, 201);
    let watch = format!("{SECRETS}?watch=true&resourceVersion=0");
    let response = send(&audited.api.router(), "jane", request("GET", &watch, "")).await;
    let mut stream = response.into_body().into_data_stream();
    assert!(stream.next().await.unwrap().unwrap().starts_with(b"{\"type\":\"ADDED\""));
    let stages = async || {
        let events = audited.events().await;
        let watches = events.iter().filter(|event| event["verb"] == "watch");
        watches.map(|event| (event["stage"].clone(), event["auditID"].clone())).collect::<Vec<_>>()
    };
    let started = stages().await;
    assert_eq!(started.len(), 1);
    assert_eq!(started[0].0, "ResponseStarted");
    drop(stream);
    let ended = stages().await;
    assert_eq!(ended[1], (json!("ResponseComplete"), started[0].1.clone()));
}

#[tokio::test]
async fn texts_of_callers_cannot_forge_lines() {
    let audited = Audited::new().await;
    let router = audited.api.router();
    let forged = "x%0a%7B%22kind%22:%22Event%22,%22user%22:%7B%22username%22:%22forged%22%7D%7D%0a";
    let mut get = request("GET", &format!("{SECRETS}/{forged}?fieldManager={forged}"), "");
    get.headers_mut().insert("user-agent", "a\t\"}\\".parse().unwrap());
    let value = axum::http::HeaderValue::from_bytes(b"z\xc2\x85{\"kind\":\"Event\"}\xff").unwrap();
    get.headers_mut().append("user-agent", value);
    get.headers_mut().insert("impersonate-user", "u\"}".parse().unwrap());
    get.headers_mut().insert("impersonate-extra-k%0a", "v".parse().unwrap());
    send(&router, "jane", get).await;
    let body = json!({"metadata": {"name": "a\n{\"kind\":\"Event\"}\u{2028}\u{1b}[2J"}}).to_string();
    assert_eq!(send(&router, "jane\n{}", request("POST", SECRETS, body)).await.status(), 422);
    let text = audited.text().await;
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{2028}'), "{text:?}");
    for event in audited.events().await {
        assert_eq!(event["kind"], "Event");
        assert_ne!(event["user"]["username"], "forged");
    }
}

#[tokio::test]
async fn long_texts_are_cut() {
    let audited = Audited::new().await;
    let mut get =
        request("GET", &format!("{SECRETS}/{}?fieldManager={}", "n".repeat(9000), "m".repeat(9000)), "");
    get.headers_mut().insert("user-agent", "a".repeat(9000).parse().unwrap());
    get.headers_mut().insert("impersonate-user", "u".repeat(9000).parse().unwrap());
    for number in 0..200 {
        get.headers_mut()
            .append("impersonate-group", format!("{number}-{}", "g".repeat(500)).parse().unwrap());
    }
    get.extensions_mut().insert(Caller::new("u".repeat(9000), ["system:masters"]));
    assert_eq!(send(&audited.api.router(), "", get).await.status(), 403);
    let text = audited.text().await;
    assert!(text.len() < 16 * 1024, "{} bytes", text.len());
    assert!(audited.events().await[0]["userAgent"].as_str().unwrap().ends_with("...TRUNCATED"));
}

#[tokio::test]
async fn no_secret_and_no_token_gets_into_the_log() {
    let audited = Audited::new().await;
    let router = audited.api.router();
    let encoded = STANDARD.encode(CANARY);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(audited.send("POST", accounts, &json!({"metadata": {"name": "ann"}})).await, 201);
    let issued = send(&router, "jane", request("POST", &format!("{accounts}/ann/token"), "{}")).await;
    let token = json_of(issued).await["status"]["token"].as_str().unwrap().to_owned();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "data": {"a": encoded},
        "stringData": {"b": CANARY},
    });
    let review = json!({"spec": {"token": token}});
    let secret_patch = json!({"stringData": {"b": CANARY}});
    let (db, apply) = (format!("{SECRETS}/db"), format!("{SECRETS}/db?fieldManager=me&force=true"));
    let wrong = json!({"metadata": {"name": "wrong"}, "type": CANARY, "data": {CANARY: CANARY}});
    let docker = json!({
        "metadata": {"name": "docker"}, "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": CANARY},
    });
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let mut sent = 0;
    for (method, path, kind, body) in [
        ("POST", SECRETS, "application/json", secret.to_string()),
        ("POST", SECRETS, "application/json", secret.to_string()),
        ("POST", SECRETS, "application/json", wrong.to_string()),
        ("POST", SECRETS, "application/json", docker.to_string()),
        ("POST", SECRETS, "application/json", format!("{{broken {CANARY}")),
        (
            "POST",
            SECRETS,
            "application/yaml",
            format!("metadata: {{name: y}}\nstringData: {{b: {CANARY}}}\n"),
        ),
        ("POST", SECRETS, "application/vnd.kubernetes.protobuf", format!("k8s\0{CANARY}")),
        ("PUT", &db, "application/json", secret.to_string()),
        ("PATCH", &db, "application/merge-patch+json", secret_patch.to_string()),
        ("PATCH", &db, "application/strategic-merge-patch+json", secret_patch.to_string()),
        (
            "PATCH",
            &db,
            "application/json-patch+json",
            format!("[{{\"op\":\"add\",\"path\":\"/data/c\",\"value\":\"{encoded}\"}}]"),
        ),
        ("PATCH", &apply, "application/apply-patch+yaml", secret.to_string()),
        ("GET", &db, "application/json", String::new()),
        ("GET", SECRETS, "application/json", String::new()),
        ("POST", reviews, "application/json", review.to_string()),
        ("POST", &format!("{accounts}/ann/token"), "application/json", "{}".to_owned()),
        (
            "GET",
            &format!("{SECRETS}?token={token}&access_token={CANARY}&{CANARY}"),
            "application/json",
            String::new(),
        ),
        ("GET", &format!("{SECRETS}/{token}?fieldManager={token}"), "application/json", String::new()),
        ("POST", &format!("/{token}/x"), "application/json", String::new()),
        ("DELETE", &db, "application/json", secret_patch.to_string()),
    ] {
        for authorization in
            ["", &format!("Bearer {token}"), &format!("Bearer {CANARY}"), &format!("Basic {encoded}")]
        {
            let mut request = request(method, path, body.clone());
            request.headers_mut().insert("content-type", kind.parse().unwrap());
            let caller = if authorization.is_empty() { "jane" } else { "" };
            if !authorization.is_empty() {
                request.headers_mut().insert("authorization", authorization.parse().unwrap());
            }
            request.headers_mut().insert("user-agent", format!("curl {token}").parse().unwrap());
            request.headers_mut().insert("cookie", CANARY.parse().unwrap());
            let _ = to_bytes(send(&router, caller, request).await.into_body(), usize::MAX).await;
            sent += 1;
        }
    }
    let text = audited.text().await;
    assert_eq!(text.lines().count(), sent + 2, "every request is recorded");
    for (what, secret) in [("value", CANARY), ("encoded value", &encoded), ("token", &token)] {
        assert!(!text.contains(secret), "the log has the {what}");
    }
    let signature = token.rsplit('.').next().unwrap();
    assert!(!text.contains(signature) && text.contains("REDACTED"));
}
