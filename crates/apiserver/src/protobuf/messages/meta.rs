//! `apimachinery/pkg/apis/meta/v1`.

use super::super::message::{
    Message,
    Type::{self, Flag, Int64, Json, Text, Time},
    many, map, one, set,
};

/// Metadata of every object, field 1.
pub(super) const METADATA: Type = Type::Message(&OBJECT_META);

static OBJECT_META: Message = &[
    set(1, "name", Text),
    set(2, "generateName", Text),
    set(3, "namespace", Text),
    set(4, "selfLink", Text),
    set(5, "uid", Text),
    set(6, "resourceVersion", Text),
    set(7, "generation", Int64),
    one(8, "creationTimestamp", Time),
    one(9, "deletionTimestamp", Time),
    one(10, "deletionGracePeriodSeconds", Int64),
    map(11, "labels", Text),
    map(12, "annotations", Text),
    many(13, "ownerReferences", Type::Message(&OWNER_REFERENCE)),
    many(14, "finalizers", Text),
    many(17, "managedFields", Type::Message(&MANAGED_FIELDS)),
];

static OWNER_REFERENCE: Message = &[
    one(1, "kind", Text),
    one(3, "name", Text),
    one(4, "uid", Text),
    one(5, "apiVersion", Text),
    one(6, "controller", Flag),
    one(7, "blockOwnerDeletion", Flag),
];

static MANAGED_FIELDS: Message = &[
    set(1, "manager", Text),
    set(2, "operation", Text),
    set(3, "apiVersion", Text),
    one(4, "time", Time),
    set(6, "fieldsType", Text),
    one(7, "fieldsV1", Json),
    set(8, "subresource", Text),
];

pub(super) static DELETE_OPTIONS: Message = &[
    one(1, "gracePeriodSeconds", Int64),
    one(2, "preconditions", Type::Message(&PRECONDITIONS)),
    one(3, "orphanDependents", Flag),
    one(4, "propagationPolicy", Text),
    many(5, "dryRun", Text),
    one(6, "ignoreStoreReadErrorWithClusterBreakingPotential", Flag),
];

static PRECONDITIONS: Message = &[one(1, "uid", Text), one(2, "resourceVersion", Text)];

/// Label selector.
pub(super) static LABEL_SELECTOR: Message =
    &[map(1, "matchLabels", Text), many(2, "matchExpressions", Type::Message(&REQUIREMENT))];

/// Requirement of a label or field selector.
pub(super) static REQUIREMENT: Message =
    &[one(1, "key", Text), one(2, "operator", Text), many(3, "values", Text)];
