//! `core/v1`, `coordination.k8s.io/v1` and `events.k8s.io/v1`.

use super::super::message::{
    Message,
    Type::{self, Bytes, Flag, Int32, MicroTime, Text, Time},
    many, map, one, set,
};
use super::meta::METADATA;

pub(super) static CONFIG_MAP: Message = &[
    one(1, "metadata", METADATA),
    map(2, "data", Text),
    map(3, "binaryData", Bytes),
    one(4, "immutable", Flag),
];

pub(super) static SECRET: Message = &[
    one(1, "metadata", METADATA),
    map(2, "data", Bytes),
    set(3, "type", Text),
    map(4, "stringData", Text),
    one(5, "immutable", Flag),
];

pub(super) static SERVICE_ACCOUNT: Message = &[
    one(1, "metadata", METADATA),
    many(2, "secrets", Type::Message(&OBJECT_REFERENCE)),
    many(3, "imagePullSecrets", Type::Message(&LOCAL_OBJECT_REFERENCE)),
    one(4, "automountServiceAccountToken", Flag),
];

static LOCAL_OBJECT_REFERENCE: Message = &[set(1, "name", Text)];

static OBJECT_REFERENCE: Message = &[
    set(1, "kind", Text),
    set(2, "namespace", Text),
    set(3, "name", Text),
    set(4, "uid", Text),
    set(5, "apiVersion", Text),
    set(6, "resourceVersion", Text),
    set(7, "fieldPath", Text),
];

pub(super) static NAMESPACE: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&NAMESPACE_SPEC)),
    one(3, "status", Type::Message(&NAMESPACE_STATUS)),
];

static NAMESPACE_SPEC: Message = &[many(1, "finalizers", Text)];

static NAMESPACE_STATUS: Message =
    &[set(1, "phase", Text), many(2, "conditions", Type::Message(&NAMESPACE_CONDITION))];

static NAMESPACE_CONDITION: Message = &[
    one(1, "type", Text),
    one(2, "status", Text),
    one(4, "lastTransitionTime", Time),
    set(5, "reason", Text),
    set(6, "message", Text),
];

pub(super) static EVENT: Message = &[
    one(1, "metadata", METADATA),
    one(2, "involvedObject", Type::Message(&OBJECT_REFERENCE)),
    set(3, "reason", Text),
    set(4, "message", Text),
    one(5, "source", Type::Message(&EVENT_SOURCE)),
    one(6, "firstTimestamp", Time),
    one(7, "lastTimestamp", Time),
    set(8, "count", Int32),
    set(9, "type", Text),
    one(10, "eventTime", MicroTime),
    one(11, "series", Type::Message(&EVENT_SERIES)),
    set(12, "action", Text),
    one(13, "related", Type::Message(&OBJECT_REFERENCE)),
    one(14, "reportingComponent", Text),
    one(15, "reportingInstance", Text),
];

static EVENT_SOURCE: Message = &[set(1, "component", Text), set(2, "host", Text)];

static EVENT_SERIES: Message = &[set(1, "count", Int32), one(2, "lastObservedTime", MicroTime)];

pub(super) static EVENT_VIEW: Message = &[
    one(1, "metadata", METADATA),
    one(2, "eventTime", MicroTime),
    one(3, "series", Type::Message(&EVENT_VIEW_SERIES)),
    set(4, "reportingController", Text),
    set(5, "reportingInstance", Text),
    set(6, "action", Text),
    set(7, "reason", Text),
    one(8, "regarding", Type::Message(&OBJECT_REFERENCE)),
    one(9, "related", Type::Message(&OBJECT_REFERENCE)),
    set(10, "note", Text),
    set(11, "type", Text),
    one(12, "deprecatedSource", Type::Message(&EVENT_SOURCE)),
    one(13, "deprecatedFirstTimestamp", Time),
    one(14, "deprecatedLastTimestamp", Time),
    set(15, "deprecatedCount", Int32),
];

static EVENT_VIEW_SERIES: Message = &[one(1, "count", Int32), one(2, "lastObservedTime", MicroTime)];

pub(super) static LEASE: Message =
    &[one(1, "metadata", METADATA), one(2, "spec", Type::Message(&LEASE_SPEC))];

static LEASE_SPEC: Message = &[
    one(1, "holderIdentity", Text),
    one(2, "leaseDurationSeconds", Int32),
    one(3, "acquireTime", MicroTime),
    one(4, "renewTime", MicroTime),
    one(5, "leaseTransitions", Int32),
    one(6, "strategy", Text),
    one(7, "preferredHolder", Text),
];
