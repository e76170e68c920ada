//! Applies of a `Job` that a mocked cluster denies.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use http::{Method, Request, Response};
use kube::client::Body;
use tower::service_fn;

use super::*;
use crate::DriverErrorKind;

const OWNER: Owner<'_> = Owner { namespace: "shop", instance: "seed" };

fn job(image: &str) -> Json {
    let labels = json!({label::INSTANCE: OWNER.instance, label::MANAGED_BY: label::ORCHESTRA});
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "seed", "namespace": OWNER.namespace, "labels": labels},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}], "restartPolicy": "Never"}}},
    })
}

/// Error of an apply that a cluster with or without a live Job denies, and the methods of the requests.
async fn apply_to(live: Option<Json>, denial: Json) -> (DriverError, Vec<Method>) {
    let absent = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
        "reason": "NotFound", "message": "jobs.batch \"seed\" not found"});
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let service = service_fn(move |request: Request<Body>| {
        let method = request.method().clone();
        let answer = match &live {
            _ if method == Method::PATCH => &denial,
            Some(live) => live,
            None => &absent,
        };
        let code = answer["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(200);
        let body = Body::from(answer.to_string().into_bytes());
        seen.lock().unwrap().push(method);
        async move { Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap()) }
    });
    let error = Objects::new(Client::new(service, OWNER.namespace)).apply(OWNER, &job("seed:2")).await;
    let requests = requests.lock().unwrap().clone();
    (error.unwrap_err(), requests)
}

/// Error of an apply to a live Job that is answered with a 422, and the methods of the requests.
async fn apply_denied(message: &str, causes: &Json) -> (DriverError, Vec<Method>) {
    let mut live = job("seed:1");
    live["metadata"]["uid"] = json!("1");
    let denial = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422, "reason": "Invalid",
        "message": message, "details": {"name": "seed", "group": "batch", "kind": "Job", "causes": causes}});
    apply_to(Some(live), denial).await
}

#[tokio::test]
async fn an_object_that_another_client_creates_concurrently_is_retried() {
    let conflict = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 409, "reason": "Conflict",
        "message": "Apply failed with 1 conflict: conflict with \"kubectl\": .spec.suspend"});
    let (error, requests) = apply_to(None, conflict).await;
    assert_eq!(requests, [Method::GET, Method::PATCH]);
    assert!(error.kind == DriverErrorKind::Transient, "{error:?}");
}

#[tokio::test]
async fn a_job_whose_changed_fields_are_immutable_is_replaced() {
    let cause = json!({"reason": "FieldValueInvalid", "field": "spec.template",
        "message": "Invalid value: {}: field is immutable"});
    let (error, requests) =
        apply_denied("Job.batch \"seed\" is invalid: spec.template: field is immutable", &json!([cause]))
            .await;
    assert_eq!(requests.last(), Some(&Method::DELETE));
    assert!(error.to_string().contains("Waiting for the previous instance"), "{error}");
}

#[tokio::test]
async fn a_job_is_not_deleted_because_a_policy_denies_its_change_or_the_template_is_invalid() {
    let denied = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no";
    let (error, requests) =
        apply_denied(&format!("jobs.batch \"seed\" is forbidden: {denied}"), &json!([{"message": denied}]))
            .await;
    assert_eq!(requests, [Method::GET, Method::PATCH]);
    assert_eq!((error.kind, error.reason), (DriverErrorKind::Transient, Reason::PolicyViolation));

    let cause =
        json!({"reason": "FieldValueInvalid", "field": "spec.parallelism", "message": "Invalid value: -1"});
    let (error, requests) =
        apply_denied("Job.batch \"seed\" is invalid: spec.parallelism: Invalid value: -1", &json!([cause]))
            .await;
    assert_eq!(requests, [Method::GET, Method::PATCH]);
    assert_eq!((error.kind, error.reason), (DriverErrorKind::Refused, Reason::BindingFailed));
}
