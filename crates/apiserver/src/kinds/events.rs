//! Conversion of events: the core form is stored, `events.k8s.io` is a view of it.

use serde_json::{Map, Value};

/// Served form that differs from the stored one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Converts the served form to the stored form.
    pub to_stored: fn(&mut Value),
    /// Converts the stored form to the served form.
    pub from_stored: fn(&mut Value),
}

/// The view of `events.k8s.io/v1`.
pub(crate) const VIEW: View = View { to_stored, from_stored };

/// Fields of the view, and of the core form.
const RENAMED: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

fn to_stored(event: &mut Value) {
    if let Some(fields) = event.as_object_mut() {
        for (view, stored) in RENAMED {
            rename(fields, view, stored);
        }
    }
}

fn from_stored(event: &mut Value) {
    if let Some(fields) = event.as_object_mut() {
        for (view, stored) in RENAMED {
            rename(fields, stored, view);
        }
        // The core form always has these fields; the view omits empty ones.
        for field in ["reportingController", "reportingInstance"] {
            if fields.get(field).and_then(Value::as_str) == Some("") {
                fields.remove(field);
            }
        }
    }
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}
