//! Events have two groups and one store: the core form is kept, `events.k8s.io` is a view of it.

use serde_json::{Map, Value};

/// A form that differs from the stored one.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// From what clients write to what is kept.
    pub to_stored: fn(&mut Value),
    /// From what is kept to what clients read.
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
        // What the core form always shows is left out of the view when empty.
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
