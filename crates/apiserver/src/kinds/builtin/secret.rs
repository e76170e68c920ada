//! `Secret`: write-only `stringData`, secret types and their required keys.

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_cel::FieldError;
use serde_json::{Map, Value};

use super::{Rules, configmap};

pub(super) const RULES: Rules =
    Rules { defaults, on_create: |_| {}, decode: super::accept_all, validate, warnings };

fn defaults(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(Value::Object(plain)) = fields.remove("stringData")
        && let Value::Object(data) = fields.entry("data").or_insert_with(|| Value::Object(Map::new()))
    {
        for (key, text) in plain {
            data.insert(key, Value::String(STANDARD.encode(text.as_str().unwrap_or_default())));
        }
    }
    if fields.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        fields.insert("type".to_owned(), Value::String("Opaque".to_owned()));
    }
}

fn validate(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        let (now, before) = (&object["type"], &old["type"]);
        if now != before {
            errors.push(FieldError::invalid("type", now, "field is immutable"));
        }
        errors.extend(configmap::immutable(object, old, &["data"]));
    }
    errors.extend(configmap::keys(object, "data"));
    errors.extend(configmap::size(object, &["data"], "data"));
    let data = configmap::map(object, "data");
    let has = |key: &str| data.is_some_and(|data| data.contains_key(key));
    // Error for a value that is not JSON.
    let json = |key: &str| {
        let bytes = STANDARD.decode(data?.get(key)?.as_str()?).ok()?;
        crate::json::decode(&bytes).err().map(|error| error.to_string())
    };
    let needs_json = |key: &str, errors: &mut Vec<FieldError>| {
        if !has(key) {
            errors.push(FieldError::required(format!("data[{key}]"), ""));
        } else if let Some(why) = json(key) {
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                &Value::String("<secret contents redacted>".to_owned()),
                why,
            ));
        }
    };
    match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if object["metadata"]["annotations"][name].as_str().is_none_or(str::is_empty) {
                errors.push(FieldError::required(format!("metadata.annotations[{name}]"), ""));
            }
        }
        "kubernetes.io/dockercfg" => needs_json(".dockercfg", &mut errors),
        "kubernetes.io/dockerconfigjson" => needs_json(".dockerconfigjson", &mut errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.push(FieldError::required("data[username]", ""));
            errors.push(FieldError::required("data[password]", ""));
        }
        "kubernetes.io/ssh-auth"
            if data
                .and_then(|data| data.get("ssh-privatekey"))
                .and_then(Value::as_str)
                .is_none_or(str::is_empty) =>
        {
            errors.push(FieldError::required("data[ssh-privatekey]", ""));
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !has(key) {
                    errors.push(FieldError::required(format!("data[{key}]"), ""));
                }
            }
        }
        _ => {}
    }
    errors
}

/// Warnings about malformed certificates and keys.
fn warnings(object: &Value, _: Option<&Value>) -> Vec<String> {
    if object["type"] != "kubernetes.io/tls" {
        return Vec::new();
    }
    let text = |key: &str| {
        let bytes = STANDARD.decode(object["data"][key].as_str().unwrap_or_default()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains("-----BEGIN ")
    };
    let what = if !text("tls.crt") {
        "certificate"
    } else if !text("tls.key") {
        "key"
    } else {
        return Vec::new();
    };
    vec![format!("tls: failed to find any PEM data in {what} input")]
}
