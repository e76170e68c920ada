//! Error responses.

use std::{io, sync::Arc};

use axum::body::Body;
use http::StatusCode;
use orchestra_drivers::{WorkloadOrigin, WorkloadOrigins};
use orchestra_server::{Caller, Server, router};
use orchestra_testkit::Matching;
use serde_json::json;

use crate::platform::{Platform, administrator, object, request};

const WEB: &str = "/orchestra/v1/namespaces/default/workloads/web";

/// Origins that nobody may record.
struct NoRecords;

impl WorkloadOrigins for NoRecords {
    fn is_recorded(&self, _: &str, _: &str) -> io::Result<bool> {
        Ok(true)
    }

    fn record(&self, _: &str, _: &str, _: WorkloadOrigin) -> io::Result<()> {
        panic!("an origin is recorded");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_without_credentials_or_role_are_rejected_before_anything_is_read() {
    let platform = Platform::start().await;
    let user = Caller { user: "eve".to_owned(), groups: vec!["developers".to_owned()], ..Caller::default() };
    for (method, subresource) in
        [("GET", "explain"), ("POST", "plan"), ("GET", "events"), ("GET", "logs"), ("PUT", "origin")]
    {
        for (caller, status, code) in [
            (None, StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
            (Some(user.clone()), StatusCode::FORBIDDEN, "FORBIDDEN"),
        ] {
            let path = format!("{WEB}/{subresource}");
            let server = Server { origins: Some(Arc::new(NoRecords)), ..platform.server() };
            let reply = request(router(server), caller, method, &path, "", "", Body::empty()).await;
            assert_eq!((reply.status, reply.code().as_str()), (status, code), "{path}");
        }
    }
    let reply =
        request(router(platform.server()), None, "GET", "/orchestra/metrics", "", "", Body::empty()).await;
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_errors_have_one_format() {
    let platform = Platform::start().await;
    let web = object("web", &json!({"containers": {"app": {"image": "nginx"}}})).to_string();
    let elsewhere = "/orchestra/v1/namespaces/nowhere/workloads/web/plan";
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(3 * 1024 * 1024));
    for (method, path, body, status, code) in [
        ("GET", format!("{WEB}/explain"), "", 404, "NOT_FOUND"),
        ("GET", format!("{WEB}/events"), "", 404, "NOT_FOUND"),
        ("GET", format!("{WEB}/logs"), "", 404, "NOT_FOUND"),
        ("GET", format!("{WEB}/logs?lines=7"), "", 400, "BAD_REQUEST"),
        ("PUT", format!("{WEB}/origin"), "{\"folder\": \"/\"}", 404, "NO_ORIGINS"),
        ("POST", format!("{WEB}/plan?delete=true"), "", 404, "NOT_FOUND"),
        ("POST", elsewhere.to_owned(), &web, 404, "NOT_FOUND"),
        ("GET", "/orchestra/nothing".to_owned(), "", 404, "NO_SUCH_PATH"),
        ("DELETE", format!("{WEB}/plan"), "", 405, "METHOD_NOT_ALLOWED"),
        ("POST", format!("{WEB}/plan?dryRun=All"), &web, 400, "BAD_REQUEST"),
        ("POST", format!("{WEB}/plan"), "", 400, "BAD_REQUEST"),
        ("POST", format!("{WEB}/plan"), "[]", 400, "BAD_REQUEST"),
        ("POST", format!("{WEB}/plan"), "{\"kind\": \"Workload\"}", 400, "BAD_REQUEST"),
        ("POST", WEB.replace("web", "other") + "/plan", &web, 400, "BAD_REQUEST"),
        ("POST", format!("{WEB}/plan"), &long, 413, "PAYLOAD_TOO_LARGE"),
        (
            "GET",
            "/orchestra/v1/namespaces/default/workloads/..%2Fsecrets%2Fx/explain".to_owned(),
            "",
            400,
            "BAD_REQUEST",
        ),
        ("GET", "/orchestra/v1/namespaces/a%2Fb/workloads/web/explain".to_owned(), "", 400, "BAD_REQUEST"),
    ] {
        for accept in ["application/json", "text/plain"] {
            let body = Body::from(body.to_owned());
            let kind = "application/json";
            let reply =
                request(router(platform.server()), Some(administrator()), method, &path, accept, kind, body)
                    .await;
            assert_eq!(reply.status.as_u16(), status, "{method} {path}: {}", reply.text);
            assert_eq!(reply.error, code, "{method} {path}");
            match accept {
                "text/plain" => {
                    assert!(!reply.text.contains(code) && reply.text.len() > 10, "{}", reply.text);
                }
                _ => assert_eq!(reply.code(), code, "{method} {path}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_yaml_is_rejected_with_its_line() {
    let platform = Platform::start().await;
    let body = "apiVersion: score.dev/v1b1\nkind: Workload\nkind: Workload\n";
    let reply = platform.post(&format!("{WEB}/plan"), "", "application/yaml", body).await;
    assert_eq!(reply.code(), "BAD_REQUEST");
    assert!(reply.text.contains("line 3: "), "{}", reply.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_needs_no_credentials_and_readiness_lists_what_is_missing() {
    let platform = Platform::start().await;
    let get_as = async |server: Server, path: &str, caller: Option<Caller>| {
        request(router(server), caller, "GET", path, "text/plain", "", Body::empty()).await
    };
    let reply = get_as(platform.server(), "/orchestra/healthz", None).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, "ok\n"));
    let reply = get_as(platform.server(), "/orchestra/readyz", None).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, "ok\n"));
    let mut server = platform.server();
    server.awaited = Arc::new(|| vec!["the API".to_owned(), "the caches".to_owned()]);
    let reply = get_as(server, "/orchestra/readyz", None).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.text, "Not ready: waiting for the API, the caches.\n");
    let reply = get_as(platform.server(), "/orchestra/metrics", Some(administrator())).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, "orchestra_up 1\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_the_api_are_not_forwarded_to_callers() {
    let platform = Platform::start().await;
    let server = Server { client: platform.env.faulty_client(), ..platform.server() };
    let path = format!("{WEB}/explain");
    let policies = || Matching::any().path("/apis/score.dev/v1b1/platformpolicies");
    for (fault, status, code) in [
        (platform.env.faults().fail(policies(), 1, StatusCode::BAD_GATEWAY), 503, "UNAVAILABLE"),
        (platform.env.faults().drop_answer(policies(), 2), 503, "UNAVAILABLE"),
        (platform.env.faults().fail(policies(), 3, StatusCode::FORBIDDEN), 500, "INTERNAL_ERROR"),
    ] {
        let reply =
            request(router(server.clone()), Some(administrator()), "GET", &path, "", "", Body::empty()).await;
        assert!(fault.is_triggered(), "{reply:?}");
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (status, code), "{reply:?}");
        assert!(!reply.text.contains("policies"), "{}", reply.text);
    }
}
