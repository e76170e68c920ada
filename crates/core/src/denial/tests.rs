//! Statuses of a 1.36 API server.

use serde_json::{Value as Json, json};

use super::*;

fn status(code: u16, reason: &str, message: &str, details: &Json) -> Status {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code});
    serde_json::from_value(status).unwrap()
}

fn cause(reason: &str, field: &str, message: &str) -> Json {
    let cause = json!({"reason": reason, "field": field, "message": message});
    json!({"name": "x", "kind": "configmaps", "causes": [cause]})
}

#[test]
fn a_denied_write_is_classified_by_its_cause_before_its_text() {
    for (case, status, expected) in [
        (
            "a namespace that is being deleted",
            status(
                403,
                "Forbidden",
                "configmaps \"x\" is forbidden: unable to create new content in namespace a because it is being terminated",
                &cause("NamespaceTerminating", "metadata.namespace", "namespace a is being terminated"),
            ),
            Some(Denial::Terminating),
        ),
        (
            "the same, in other words",
            status(
                403,
                "Forbidden",
                "the namespace is going away",
                &cause("NamespaceTerminating", "metadata.namespace", ""),
            ),
            Some(Denial::Terminating),
        ),
        (
            "a quota",
            status(
                403,
                "Forbidden",
                "configmaps \"x\" is forbidden: exceeded quota: small, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1",
                &json!({"name": "x", "kind": "configmaps"}),
            ),
            Some(Denial::Quota),
        ),
        (
            "the security level of a namespace",
            status(
                403,
                "Forbidden",
                "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true (pod or container \"web\" must set securityContext.runAsNonRoot=true)",
                &json!({"name": "x", "kind": "pods"}),
            ),
            Some(Denial::Policy),
        ),
        (
            "a missing role",
            status(
                403,
                "Forbidden",
                "configmaps is forbidden: User \"u\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"a\"",
                &json!({"kind": "configmaps"}),
            ),
            Some(Denial::Permission),
        ),
        (
            "an admission policy",
            status(
                422,
                "Invalid",
                "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                &json!({"name": "x", "kind": "configmaps", "causes": [
                    {"message": "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"}]}),
            ),
            Some(Denial::Policy),
        ),
        (
            "a webhook that gives a code",
            status(403, "", "admission webhook \"w\" denied the request: no", &Json::Null),
            Some(Denial::Policy),
        ),
        (
            "a webhook that gives none",
            status(400, "", "admission webhook \"w\" denied the request without explanation", &Json::Null),
            Some(Denial::Policy),
        ),
        (
            "a webhook that gives causes, as one of controller-runtime does",
            status(
                422,
                "Invalid",
                "admission webhook \"w\" denied the request: Job.batch \"x\" is invalid: spec.team: Required value: no",
                &cause("FieldValueRequired", "spec.team", "Required value: no"),
            ),
            Some(Denial::Policy),
        ),
    ] {
        assert_eq!(Denial::of(&status), expected, "{case}");
    }
}

#[test]
fn a_forbidden_write_lacks_a_permission_only_if_the_authorizer_says_so() {
    let webhook = "admission webhook \"w\" denied the request: exceeded quota: x, it is being terminated";
    for (message, expected) in [
        (webhook, Denial::Policy),
        ("pods \"x\" is forbidden: failed quota: small: must specify limits.cpu for: web", Denial::Policy),
        (
            "pods \"x\" is forbidden: maximum cpu usage per Container is 100m, but limit is 200m",
            Denial::Policy,
        ),
        (
            "pods \"x\" is forbidden: error looking up service account a/b: serviceaccount \"b\" not found",
            Denial::Policy,
        ),
        ("pods \"x\" is forbidden: no PriorityClass with name high was found", Denial::Policy),
        (
            "roles \"x\" is forbidden: user \"u\" (groups=[\"g\"]) is attempting to grant RBAC permissions not currently held:",
            Denial::Permission,
        ),
    ] {
        let status = status(403, "Forbidden", message, &Json::Null);
        assert_eq!(Denial::of(&status), Some(expected), "{message}");
    }
}

#[test]
fn an_invalid_object_is_denied_and_a_transient_failure_is_not() {
    for (case, status, expected) in [
        (
            "an invalid field",
            status(
                422,
                "Invalid",
                "Deployment.apps \"x\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                &cause("FieldValueInvalid", "spec.replicas", "Invalid value: -1"),
            ),
            Some(Denial::Invalid),
        ),
        (
            "an invalid field that quotes the words of a policy",
            status(
                422,
                "Invalid",
                "ConfigMap \"x\" is invalid: data[denied request]: Invalid value: \"denied request\"",
                &cause("FieldValueInvalid", "data[denied request]", "Invalid value: \"denied request\""),
            ),
            Some(Denial::Invalid),
        ),
        (
            "an apply that does not match the schema",
            status(
                500,
                "",
                "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dta: field not declared in schema",
                &Json::Null,
            ),
            Some(Denial::Invalid),
        ),
        (
            "a store that is busy",
            status(500, "InternalError", "etcdserver: leader changed", &Json::Null),
            None,
        ),
        (
            "a conflict",
            status(
                409,
                "Conflict",
                "Apply failed with 1 conflict: conflict with \"m\": .data.a",
                &cause("FieldManagerConflict", ".data.a", "conflict with \"m\""),
            ),
            None,
        ),
        ("a limit of requests", status(429, "TooManyRequests", "slow down", &Json::Null), None),
    ] {
        assert_eq!(Denial::of(&status), expected, "{case}");
    }
}

#[test]
fn only_an_invalid_rendered_object_is_not_retried() {
    for (denial, is_retried) in [
        (Denial::Terminating, true),
        (Denial::Quota, true),
        (Denial::Policy, true),
        (Denial::Permission, true),
        (Denial::Invalid, false),
    ] {
        assert_eq!(denial.is_retried(WriteOf::RenderedObject), is_retried, "{denial:?}");
    }
}

#[test]
fn an_object_is_replaced_only_if_nothing_but_immutable_fields_deny_its_update() {
    let immutable = json!({"reason": "FieldValueInvalid", "field": "spec.template",
        "message": "Invalid value: {\"spec\":{}}: field is immutable"});
    let tandem = json!({"reason": "FieldValueInvalid", "field": "spec.completions",
        "message": "Invalid value: 3: can only be modified in tandem with spec.parallelism"});
    let negative = json!({"reason": "FieldValueInvalid", "field": "spec.parallelism",
        "message": "Invalid value: -1: must be greater than or equal to 0"});
    let invalid = "Job.batch \"x\" is invalid: spec.template: Invalid value: {}: field is immutable";
    let webhook = "admission webhook \"w\" denied the request: spec.queue: field is immutable";
    let policy = "jobs.batch \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: field is immutable";
    for (case, message, causes, expected) in [
        ("an immutable field", invalid, json!([immutable]), true),
        ("two of them", invalid, json!([immutable, tandem]), true),
        ("an invalid field beside it", invalid, json!([immutable, negative]), false),
        ("an invalid template", "Job.batch \"x\" is invalid", json!([negative]), false),
        ("no cause", invalid, json!([]), false),
        ("a policy", policy, json!([{"message": policy}]), false),
        ("a webhook with causes", webhook, json!([immutable]), false),
    ] {
        let status = status(422, "Invalid", message, &json!({"name": "x", "kind": "jobs", "causes": causes}));
        assert_eq!(requires_replacement(&status), expected, "{case}");
    }
}

#[test]
fn a_race_is_a_conflict_or_a_deleted_object_but_not_a_deleted_namespace() {
    let details = |kind: &str| json!({"name": "x", "kind": kind});
    for (code, reason, kind, expected) in [
        (409, "Conflict", "secrets", true),
        (409, "AlreadyExists", "secrets", true),
        (404, "NotFound", "secrets", true),
        (404, "NotFound", "namespaces", false),
        (500, "InternalError", "secrets", false),
    ] {
        assert_eq!(is_race(&status(code, reason, "", &details(kind))), expected, "{code} {reason} {kind}");
    }
}

#[test]
fn missing_objects_namespaces_and_kinds_are_distinguished() {
    let details = |name: &str, kind: &str| json!({"name": name, "kind": kind});
    for (status, expected) in [
        (
            status(404, "NotFound", "deployments.apps \"x\" not found", &details("x", "deployments")),
            Some(NotFound::Object),
        ),
        (
            status(404, "NotFound", "namespaces \"a\" not found", &details("a", "namespaces")),
            Some(NotFound::Namespace),
        ),
        (
            status(404, "NotFound", "the server could not find the requested resource", &json!({})),
            Some(NotFound::Kind),
        ),
        (status(404, "", "404 page not found", &Json::Null), Some(NotFound::Kind)),
        (status(409, "Conflict", "the object has been modified", &details("x", "deployments")), None),
    ] {
        assert_eq!(NotFound::of(&status), expected, "{}", status.message);
    }
}

#[test]
fn the_text_of_a_policy_is_quoted() {
    let message = "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: every workload needs the label `team`";
    assert_eq!(
        Denial::Policy.describe(message).message,
        "Denied by a policy: every workload needs the label `team`"
    );
    let message = "pods \"x-7\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true (pod or container \"web\" must set securityContext.runAsNonRoot=true)";
    assert_eq!(
        Denial::Policy.describe(message).message,
        "Denied by a policy: this namespace allows only containers that do not run as root; use an image with a non-root user, and ask the platform's administrators to run it with these restrictions, or to relax the policy of the namespace."
    );
    for (message, expected) in [
        (
            "pods \"x\" is forbidden: maximum cpu usage per Container is 100m, but limit is 200m",
            "Forbidden by the cluster: maximum cpu usage per Container is 100m, but limit is 200m.",
        ),
        (
            "Error creating: pods \"x-7\" is forbidden: no PriorityClass with name high was found",
            "Forbidden by the cluster: no PriorityClass with name high was found.",
        ),
    ] {
        assert_eq!(Denial::Policy.describe(message).message, expected);
    }
}
