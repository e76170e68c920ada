//! Tables of the built-in kinds.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::age;
use crate::kinds::Kind;

/// Columns of each kind, with the texts of the API. A test checks that the file is well-formed.
static COLUMNS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("builtin-columns.json")).unwrap_or_default());

/// The cells of one object at a time in seconds of Unix time.
type Cells = fn(&Value, i64) -> Vec<Value>;

const CELLS: &[(&str, Cells)] = &[
    ("v1/Namespace", namespace),
    ("v1/ConfigMap", config_map),
    ("v1/Secret", secret),
    ("v1/Service", name_and_age),
    ("v1/ServiceAccount", name_and_age),
    ("v1/Event", core_event),
    ("events.k8s.io/v1/Event", event),
    ("coordination.k8s.io/v1/Lease", lease),
    ("autoscaling/v1/Scale", scale),
    ("rbac.authorization.k8s.io/v1/RoleBinding", binding),
    ("rbac.authorization.k8s.io/v1/ClusterRoleBinding", binding),
];

/// The table of a built-in kind.
pub(super) struct Table {
    columns: &'static Value,
    cells: Option<Cells>,
}

impl Table {
    /// Table of a built-in kind. A kind without its own cells shows its creation time.
    pub(super) fn of(kind: &Kind) -> Self {
        let key = format!("{}/{}", kind.api_version(), kind.kind);
        let cells = CELLS.iter().find(|(of, _)| *of == key).map(|(_, cells)| *cells);
        let columns =
            COLUMNS.get(&key).unwrap_or(&COLUMNS["apiextensions.k8s.io/v1/CustomResourceDefinition"]);
        Self { columns, cells }
    }

    /// True if the kind has no cells of its own.
    pub(super) fn is_generic(&self) -> bool {
        self.cells.is_none()
    }

    pub(super) fn columns(&self) -> Value {
        self.columns.clone()
    }

    pub(super) fn cells(&self, object: &Value, now: i64) -> Vec<Value> {
        self.cells.unwrap_or(generic)(object, now)
    }
}

fn generic(object: &Value, _now: i64) -> Vec<Value> {
    let created = object["metadata"]["creationTimestamp"].as_str().unwrap_or("0001-01-01T00:00:00Z");
    vec![name(object), json!(created)]
}

fn namespace(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), json!(text(&object["status"]["phase"])), created(object, now)]
}

fn config_map(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), json!(size(&object["data"]) + size(&object["binaryData"])), created(object, now)]
}

fn secret(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), json!(text(&object["type"])), json!(size(&object["data"])), created(object, now)]
}

fn name_and_age(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), created(object, now)]
}

fn lease(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), json!(text(&object["spec"]["holderIdentity"])), created(object, now)]
}

fn scale(object: &Value, now: i64) -> Vec<Value> {
    let (desired, available) = (&object["spec"]["replicas"], &object["status"]["replicas"]);
    vec![name(object), desired.clone(), available.clone(), created(object, now)]
}

fn binding(object: &Value, now: i64) -> Vec<Value> {
    let role = &object["roleRef"];
    let subjects = object["subjects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let named = |kind: &str| {
        let of_kind = subjects.iter().filter(|subject| subject["kind"] == kind);
        let names: Vec<String> = of_kind
            .map(|subject| match kind {
                "ServiceAccount" => format!("{}/{}", text(&subject["namespace"]), text(&subject["name"])),
                _ => text(&subject["name"]).to_owned(),
            })
            .collect();
        json!(names.join(", "))
    };
    vec![
        name(object),
        json!(format!("{}/{}", text(&role["kind"]), text(&role["name"]))),
        created(object, now),
        named("User"),
        named("Group"),
        named("ServiceAccount"),
    ]
}

/// The fields whose names differ between the two groups that serve events.
struct EventFields<'a> {
    about: &'a Value,
    first: &'a Value,
    last: &'a Value,
    count: &'a Value,
    source: &'a Value,
    controller: &'a Value,
    message: &'a Value,
}

fn core_event(object: &Value, now: i64) -> Vec<Value> {
    let fields = EventFields {
        about: &object["involvedObject"],
        first: &object["firstTimestamp"],
        last: &object["lastTimestamp"],
        count: &object["count"],
        source: &object["source"],
        controller: &object["reportingComponent"],
        message: &object["message"],
    };
    event_cells(object, &fields, now)
}

fn event(object: &Value, now: i64) -> Vec<Value> {
    let fields = EventFields {
        about: &object["regarding"],
        first: &object["deprecatedFirstTimestamp"],
        last: &object["deprecatedLastTimestamp"],
        count: &object["deprecatedCount"],
        source: &object["deprecatedSource"],
        controller: &object["reportingController"],
        message: &object["note"],
    };
    event_cells(object, &fields, now)
}

fn event_cells(object: &Value, fields: &EventFields<'_>, now: i64) -> Vec<Value> {
    let either =
        |one: &Value, other: &str| if text(one).is_empty() { other.to_owned() } else { text(one).to_owned() };
    let first = either(fields.first, text(&object["eventTime"]));
    let (last, count) = match &object["series"] {
        Value::Object(series) => {
            let observed = series.get("lastObservedTime").map_or("", text);
            (observed.to_owned(), series.get("count").and_then(Value::as_i64).unwrap_or(0))
        }
        _ => (either(fields.last, &first), fields.count.as_i64().filter(|count| *count != 0).unwrap_or(1)),
    };
    let kind = text(&fields.about["kind"]).to_lowercase();
    let about = match text(&fields.about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let component = either(&fields.source["component"], text(fields.controller));
    let source = match either(&fields.source["host"], text(&object["reportingInstance"])) {
        instance if instance.is_empty() => component,
        instance => format!("{component}, {instance}"),
    };
    vec![
        json!(age::since(&last, now)),
        json!(text(&object["type"])),
        json!(text(&object["reason"])),
        json!(about),
        json!(text(&fields.about["fieldPath"])),
        json!(source),
        json!(text(fields.message).trim()),
        json!(age::since(&first, now)),
        json!(count),
        name(object),
    ]
}

fn name(object: &Value) -> Value {
    json!(text(&object["metadata"]["name"]))
}

fn created(object: &Value, now: i64) -> Value {
    json!(age::since(text(&object["metadata"]["creationTimestamp"]), now))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn size(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_as_many_cells_as_columns() {
        for (key, cells) in CELLS {
            assert_eq!(COLUMNS[key].as_array().map(Vec::len), Some(cells(&json!({}), 0).len()), "{key}");
        }
    }

    #[test]
    fn an_event_has_the_same_cells_in_both_groups() {
        let core = json!({
            "metadata": { "name": "e" }, "type": "Normal", "reason": "R", "message": " hello\n",
            "involvedObject": { "kind": "Pod", "name": "p", "fieldPath": "spec.x" },
            "source": { "component": "c", "host": "h" },
            "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:00:50Z", "count": 4,
        });
        let newer = json!({
            "metadata": { "name": "e" }, "type": "Normal", "reason": "R", "note": " hello\n",
            "regarding": { "kind": "Pod", "name": "p", "fieldPath": "spec.x" },
            "deprecatedSource": { "component": "c", "host": "h" },
            "deprecatedFirstTimestamp": "1970-01-01T00:00:00Z",
            "deprecatedLastTimestamp": "1970-01-01T00:00:50Z", "deprecatedCount": 4,
        });
        let cells = json!(["10s", "Normal", "R", "pod/p", "spec.x", "c, h", "hello", "60s", 4, "e"]);
        assert_eq!(json!(core_event(&core, 60)), cells);
        assert_eq!(json!(event(&newer, 60)), cells);
    }

    #[test]
    fn the_series_of_an_event_takes_precedence_over_its_count() {
        let object = json!({
            "metadata": { "name": "e" }, "regarding": { "kind": "Pod" }, "reportingController": "c",
            "eventTime": "1970-01-01T00:00:00.000000Z",
            "series": { "count": 9, "lastObservedTime": "1970-01-01T00:00:50.000000Z" },
        });
        assert_eq!(json!(event(&object, 60)), json!(["10s", "", "", "pod", "", "c", "", "60s", 9, "e"]));
    }
}
