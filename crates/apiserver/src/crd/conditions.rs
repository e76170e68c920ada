//! Conditions of a definition.

use serde_json::{Value, json};

/// Sets a condition; its transition time changes only with its status.
pub(crate) fn set(definition: &mut Value, name: &str, status: &str, reason: &str, message: &str, now: &str) {
    let Some(fields) = definition.get_mut("status").and_then(Value::as_object_mut) else { return };
    let conditions = fields.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return };
    let mut condition = json!({
        "type": name, "status": status, "lastTransitionTime": now, "reason": reason, "message": message,
    });
    match conditions.iter_mut().find(|known| known["type"] == name) {
        Some(known) => {
            if known["status"] == status {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => conditions.push(condition),
    }
}

/// Status of a condition; empty if absent.
pub(crate) fn status<'a>(definition: &'a Value, name: &str) -> &'a str {
    definition["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == name)
        .and_then(|condition| condition["status"].as_str())
        .unwrap_or_default()
}
