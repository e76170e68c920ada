//! `ServiceAccount`: references to secrets by name only.

use serde_json::Value;

use super::Rules;

pub(super) const RULES: Rules = Rules {
    defaults,
    on_create: |_| {},
    decode: super::accept_all,
    validate: |_, _| Vec::new(),
    warnings: super::no_warnings,
};

fn defaults(object: &mut Value) {
    let secrets = object.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}
