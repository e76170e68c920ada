//! `apiextensions.k8s.io/v1`.

use serde_json::{Map, Value};

use super::super::message::{
    Message,
    Type::{self, Bytes, Double, Flag, Int32, Int64, Json, Text, Time},
    many, map, one, set,
};
use super::meta::METADATA;

pub(super) static DEFINITION: Message = &[
    one(1, "metadata", METADATA),
    one(2, "spec", Type::Message(&SPEC)),
    one(3, "status", Type::Message(&STATUS)),
];

static SPEC: Message = &[
    one(1, "group", Text),
    one(3, "names", Type::Message(&NAMES)),
    one(4, "scope", Text),
    many(7, "versions", Type::Message(&VERSION)),
    one(9, "conversion", Type::Message(&CONVERSION)),
    set(10, "preserveUnknownFields", Flag),
];

static NAMES: Message = &[
    one(1, "plural", Text),
    set(2, "singular", Text),
    many(3, "shortNames", Text),
    one(4, "kind", Text),
    set(5, "listKind", Text),
    many(6, "categories", Text),
];

static VERSION: Message = &[
    one(1, "name", Text),
    one(2, "served", Flag),
    one(3, "storage", Flag),
    one(4, "schema", Type::Message(&VALIDATION)),
    one(5, "subresources", Type::Message(&SUBRESOURCES)),
    many(6, "additionalPrinterColumns", Type::Message(&COLUMN)),
    set(7, "deprecated", Flag),
    one(8, "deprecationWarning", Text),
    many(9, "selectableFields", Type::Message(&SELECTABLE_FIELD)),
];

static COLUMN: Message = &[
    one(1, "name", Text),
    one(2, "type", Text),
    set(3, "format", Text),
    set(4, "description", Text),
    set(5, "priority", Int32),
    one(6, "jsonPath", Text),
];

static SELECTABLE_FIELD: Message = &[one(1, "jsonPath", Text)];

static SUBRESOURCES: Message =
    &[one(1, "status", Type::Message(&NO_FIELDS)), one(2, "scale", Type::Message(&SCALE))];

static NO_FIELDS: Message = &[];

static SCALE: Message = &[
    one(1, "specReplicasPath", Text),
    one(2, "statusReplicasPath", Text),
    one(3, "labelSelectorPath", Text),
];

static CONVERSION: Message = &[one(1, "strategy", Text), one(2, "webhook", Type::Message(&WEBHOOK))];

static WEBHOOK: Message =
    &[one(2, "clientConfig", Type::Message(&CLIENT_CONFIG)), many(3, "conversionReviewVersions", Text)];

static CLIENT_CONFIG: Message =
    &[one(1, "service", Type::Message(&SERVICE)), set(2, "caBundle", Bytes), one(3, "url", Text)];

static SERVICE: Message =
    &[one(1, "namespace", Text), one(2, "name", Text), one(3, "path", Text), one(4, "port", Int32)];

static STATUS: Message = &[
    many(1, "conditions", Type::Message(&CONDITION)),
    one(2, "acceptedNames", Type::Message(&NAMES)),
    many(3, "storedVersions", Text),
    set(4, "observedGeneration", Int64),
];

static CONDITION: Message = &[
    one(1, "type", Text),
    one(2, "status", Text),
    one(3, "lastTransitionTime", Time),
    set(4, "reason", Text),
    set(5, "message", Text),
    set(6, "observedGeneration", Int64),
];

static VALIDATION: Message = &[one(1, "openAPIV3Schema", Type::Message(&SCHEMA))];

static SCHEMA: Message = &[
    set(1, "id", Text),
    set(2, "$schema", Text),
    one(3, "$ref", Text),
    set(4, "description", Text),
    set(5, "type", Text),
    set(6, "format", Text),
    set(7, "title", Text),
    one(8, "default", Json),
    one(9, "maximum", Double),
    set(10, "exclusiveMaximum", Flag),
    one(11, "minimum", Double),
    set(12, "exclusiveMinimum", Flag),
    one(13, "maxLength", Int64),
    one(14, "minLength", Int64),
    set(15, "pattern", Text),
    one(16, "maxItems", Int64),
    one(17, "minItems", Int64),
    set(18, "uniqueItems", Flag),
    one(19, "multipleOf", Double),
    many(20, "enum", Json),
    one(21, "maxProperties", Int64),
    one(22, "minProperties", Int64),
    many(23, "required", Text),
    one(24, "items", Type::Wrapped(&SCHEMA_OR_SCHEMAS, schema_or_schemas)),
    many(25, "allOf", Type::Message(&SCHEMA)),
    many(26, "oneOf", Type::Message(&SCHEMA)),
    many(27, "anyOf", Type::Message(&SCHEMA)),
    one(28, "not", Type::Message(&SCHEMA)),
    map(29, "properties", Type::Message(&SCHEMA)),
    one(30, "additionalProperties", Type::Wrapped(&SCHEMA_OR_FLAG, schema_or_flag)),
    map(31, "patternProperties", Type::Message(&SCHEMA)),
    map(32, "dependencies", Type::Wrapped(&SCHEMA_OR_NAMES, schema_or_names)),
    one(33, "additionalItems", Type::Wrapped(&SCHEMA_OR_FLAG, schema_or_flag)),
    map(34, "definitions", Type::Message(&SCHEMA)),
    one(35, "externalDocs", Type::Message(&EXTERNAL_DOCS)),
    one(36, "example", Json),
    set(37, "nullable", Flag),
    one(38, "x-kubernetes-preserve-unknown-fields", Flag),
    set(39, "x-kubernetes-embedded-resource", Flag),
    set(40, "x-kubernetes-int-or-string", Flag),
    many(41, "x-kubernetes-list-map-keys", Text),
    one(42, "x-kubernetes-list-type", Text),
    one(43, "x-kubernetes-map-type", Text),
    many(44, "x-kubernetes-validations", Type::Message(&RULE)),
];

static EXTERNAL_DOCS: Message = &[set(1, "description", Text), set(2, "url", Text)];

static RULE: Message = &[
    one(1, "rule", Text),
    set(2, "message", Text),
    set(3, "messageExpression", Text),
    one(4, "reason", Text),
    set(5, "fieldPath", Text),
    one(6, "optionalOldSelf", Flag),
];

static SCHEMA_OR_SCHEMAS: Message =
    &[one(1, "schema", Type::Message(&SCHEMA)), many(2, "schemas", Type::Message(&SCHEMA))];

fn schema_or_schemas(mut message: Map<String, Value>) -> Value {
    message.remove("schemas").or_else(|| message.remove("schema")).unwrap_or_default()
}

static SCHEMA_OR_NAMES: Message = &[one(1, "schema", Type::Message(&SCHEMA)), many(2, "names", Text)];

fn schema_or_names(mut message: Map<String, Value>) -> Value {
    message.remove("names").or_else(|| message.remove("schema")).unwrap_or_default()
}

static SCHEMA_OR_FLAG: Message = &[one(1, "allows", Flag), one(2, "schema", Type::Message(&SCHEMA))];

fn schema_or_flag(mut message: Map<String, Value>) -> Value {
    message.remove("schema").unwrap_or_else(|| message.remove("allows").unwrap_or(Value::Bool(false)))
}
