//! `rbac.authorization.k8s.io/v1`, `authentication.k8s.io/v1` and `authorization.k8s.io/v1`.

use serde_json::{Map, Value};

use super::super::message::{
    Message,
    Type::{self, Flag, Int64, Text, Time},
    many, map, one, set,
};
use super::meta::{LABEL_SELECTOR, METADATA, REQUIREMENT};

/// `Role`, and `ClusterRole` with its aggregation rule.
pub(super) static ROLE: Message = &[
    one(1, "metadata", METADATA),
    many(2, "rules", Type::Message(&POLICY_RULE)),
    one(3, "aggregationRule", Type::Message(&AGGREGATION_RULE)),
];

static POLICY_RULE: Message = &[
    many(1, "verbs", Text),
    many(2, "apiGroups", Text),
    many(3, "resources", Text),
    many(4, "resourceNames", Text),
    many(5, "nonResourceURLs", Text),
];

static AGGREGATION_RULE: Message = &[many(1, "clusterRoleSelectors", Type::Message(&LABEL_SELECTOR))];

pub(super) static ROLE_BINDING: Message = &[
    one(1, "metadata", METADATA),
    many(2, "subjects", Type::Message(&SUBJECT)),
    one(3, "roleRef", Type::Message(&ROLE_REF)),
];

static SUBJECT: Message =
    &[one(1, "kind", Text), set(2, "apiGroup", Text), one(3, "name", Text), set(4, "namespace", Text)];

static ROLE_REF: Message = &[one(1, "apiGroup", Text), one(2, "kind", Text), one(3, "name", Text)];

pub(super) static SELF_SUBJECT_REVIEW: Message =
    &[one(1, "metadata", METADATA), one(2, "status", Type::Message(&SELF_SUBJECT_REVIEW_STATUS))];

static SELF_SUBJECT_REVIEW_STATUS: Message = &[one(1, "userInfo", Type::Message(&USER_INFO))];

static USER_INFO: Message = &[
    set(1, "username", Text),
    set(2, "uid", Text),
    many(3, "groups", Text),
    map(4, "extra", Type::Wrapped(&EXTRA_VALUE, items)),
];

static EXTRA_VALUE: Message = &[many(1, "items", Text)];

/// List that is a message of its own on the wire.
fn items(mut message: Map<String, Value>) -> Value {
    message.remove("items").unwrap_or_else(|| Value::Array(Vec::new()))
}

pub(super) static TOKEN_REVIEW: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&TOKEN_REVIEW_SPEC)),
    one(3, "status", Type::Message(&TOKEN_REVIEW_STATUS)),
];

static TOKEN_REVIEW_SPEC: Message = &[set(1, "token", Text), many(2, "audiences", Text)];

static TOKEN_REVIEW_STATUS: Message = &[
    set(1, "authenticated", Flag),
    one(2, "user", Type::Message(&USER_INFO)),
    set(3, "error", Text),
    many(4, "audiences", Text),
];

pub(super) static TOKEN_REQUEST: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&TOKEN_REQUEST_SPEC)),
    one(3, "status", Type::Message(&TOKEN_REQUEST_STATUS)),
];

static TOKEN_REQUEST_SPEC: Message = &[
    many(1, "audiences", Text),
    one(3, "boundObjectRef", Type::Message(&BOUND_OBJECT_REFERENCE)),
    one(4, "expirationSeconds", Int64),
];

static BOUND_OBJECT_REFERENCE: Message =
    &[set(1, "kind", Text), set(2, "apiVersion", Text), set(3, "name", Text), set(4, "uid", Text)];

static TOKEN_REQUEST_STATUS: Message = &[one(1, "token", Text), one(2, "expirationTimestamp", Time)];

/// `SubjectAccessReview`, and `LocalSubjectAccessReview` of a namespace.
pub(super) static SUBJECT_ACCESS_REVIEW: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&SUBJECT_ACCESS_REVIEW_SPEC)),
    one(3, "status", Type::Message(&SUBJECT_ACCESS_REVIEW_STATUS)),
];

static SUBJECT_ACCESS_REVIEW_SPEC: Message = &[
    one(1, "resourceAttributes", Type::Message(&RESOURCE_ATTRIBUTES)),
    one(2, "nonResourceAttributes", Type::Message(&NON_RESOURCE_ATTRIBUTES)),
    set(3, "user", Text),
    many(4, "groups", Text),
    map(5, "extra", Type::Wrapped(&EXTRA_VALUE, items)),
    set(6, "uid", Text),
];

static SUBJECT_ACCESS_REVIEW_STATUS: Message = &[
    one(1, "allowed", Flag),
    set(2, "reason", Text),
    set(3, "evaluationError", Text),
    set(4, "denied", Flag),
];

static RESOURCE_ATTRIBUTES: Message = &[
    set(1, "namespace", Text),
    set(2, "verb", Text),
    set(3, "group", Text),
    set(4, "version", Text),
    set(5, "resource", Text),
    set(6, "subresource", Text),
    set(7, "name", Text),
    one(8, "fieldSelector", Type::Message(&SELECTOR_ATTRIBUTES)),
    one(9, "labelSelector", Type::Message(&SELECTOR_ATTRIBUTES)),
];

static SELECTOR_ATTRIBUTES: Message =
    &[set(1, "rawSelector", Text), many(2, "requirements", Type::Message(&REQUIREMENT))];

static NON_RESOURCE_ATTRIBUTES: Message = &[set(1, "path", Text), set(2, "verb", Text)];

pub(super) static SELF_SUBJECT_ACCESS_REVIEW: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&SELF_SUBJECT_ACCESS_REVIEW_SPEC)),
    one(3, "status", Type::Message(&SUBJECT_ACCESS_REVIEW_STATUS)),
];

static SELF_SUBJECT_ACCESS_REVIEW_SPEC: Message = &[
    one(1, "resourceAttributes", Type::Message(&RESOURCE_ATTRIBUTES)),
    one(2, "nonResourceAttributes", Type::Message(&NON_RESOURCE_ATTRIBUTES)),
];

pub(super) static SELF_SUBJECT_RULES_REVIEW: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&SELF_SUBJECT_RULES_REVIEW_SPEC)),
    one(3, "status", Type::Message(&SUBJECT_RULES_REVIEW_STATUS)),
];

static SELF_SUBJECT_RULES_REVIEW_SPEC: Message = &[set(1, "namespace", Text)];

static SUBJECT_RULES_REVIEW_STATUS: Message = &[
    many(1, "resourceRules", Type::Message(&RESOURCE_RULE)),
    many(2, "nonResourceRules", Type::Message(&NON_RESOURCE_RULE)),
    one(3, "incomplete", Flag),
    set(4, "evaluationError", Text),
];

static RESOURCE_RULE: Message = &[
    many(1, "verbs", Text),
    many(2, "apiGroups", Text),
    many(3, "resources", Text),
    many(4, "resourceNames", Text),
];

static NON_RESOURCE_RULE: Message = &[many(1, "verbs", Text), many(2, "nonResourceURLs", Text)];
