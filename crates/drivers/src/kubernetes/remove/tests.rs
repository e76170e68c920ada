//! Removals on a mocked cluster.

use std::convert::Infallible;

use http::{Request, Response};
use kube::{Client, client::Body};
use orchestra_api::{WorkloadRef, plan::WorkloadPlanSpec};
use serde_json::{Value as Json, json};
use tower::service_fn;

use super::*;
use crate::Runtime as _;

/// Runtime on a cluster where a pod of the Workload still runs, and lists of all namespaces are forbidden.
fn runtime() -> Kubernetes {
    let service = service_fn(|request: Request<Body>| {
        let failure = |code: u16, reason: &str| -> (u16, Json) {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                "message": "it failed"});
            (code, status)
        };
        let (code, body) = match request.uri().path() {
            "/api/v1/namespaces/shop/pods" => {
                let metadata = json!({"name": "web-1", "namespace": "shop", "uid": "p", "annotations": {WORKLOAD_UID: "u"}});
                (200, json!({"metadata": {}, "items": [{"metadata": metadata}]}))
            }
            path if path.contains("/namespaces/shop/") => failure(404, "NotFound"),
            _ => failure(403, "Forbidden"),
        };
        let body = Body::from(body.to_string().into_bytes());
        async move { Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap()) }
    });
    Kubernetes::open(Client::new(service, "shop"))
}

fn target() -> Target {
    let workload_ref = WorkloadRef { name: "web".to_owned(), uid: "u".to_owned() };
    let plan = WorkloadPlanSpec { workload_ref, ..WorkloadPlanSpec::default() };
    Target { namespace: "shop".to_owned(), name: "web".to_owned(), plan }
}

fn item(kind: &str) -> InventoryItem {
    InventoryItem { kind: kind.to_owned(), name: "web".to_owned(), id: None }
}

#[tokio::test]
async fn a_workload_is_not_gone_while_its_pods_run_even_if_no_pod_was_listed_yet() {
    for is_watching in [false, true] {
        let runtime = runtime();
        let changes = is_watching.then(|| runtime.changes());
        let removed = runtime.remove(&target(), &[item("Deployment.apps")]).await.unwrap();
        assert!(matches!(removed, Removed::Stopping(_)), "{removed:?}, watching: {is_watching}");
        drop(changes);
    }
}

#[tokio::test]
async fn a_plan_is_held_while_its_inventory_has_a_kind_that_this_version_does_not_know() {
    let error =
        runtime().remove(&target(), &[item("Service"), item("Gadget.example.org")]).await.unwrap_err();
    assert_eq!(error.kind, DriverErrorKind::Unwatched);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("Gadget.example.org"), "{cause}");
}
