//! Validation of manifests, as in score-k8s: built-in kinds are checked strictly, other kinds by the cluster.

use k8s_openapi::api::{apps::v1 as apps, core::v1 as core, networking::v1 as networking};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json};

/// Fault of a manifest. The sentence names a field, never a value.
pub(super) fn fault(manifest: &Map<String, Json>) -> Option<String> {
    let text = |key: &str| match manifest.get(key) {
        Some(Json::String(text)) if !text.is_empty() => Ok(text.as_str()),
        None | Some(Json::Null | Json::String(_)) => Err(format!("has no `{key}`")),
        Some(_) => Err(format!("has a `{key}` that is not text")),
    };
    let (api_version, kind) = match (text("apiVersion"), text("kind")) {
        (Ok(api_version), Ok(kind)) => (api_version, kind),
        (Err(fault), _) | (_, Err(fault)) => return Some(fault),
    };
    if api_version.matches('/').count() > 1 {
        return Some("has an `apiVersion` with more than one `/`".to_owned());
    }
    let manifest = Json::Object(manifest.clone());
    match (api_version, kind) {
        ("v1", "ConfigMap") => strict::<core::ConfigMap>(manifest),
        ("v1", "Endpoints") => strict::<core::Endpoints>(manifest),
        ("v1", "LimitRange") => strict::<core::LimitRange>(manifest),
        ("v1", "Namespace") => strict::<core::Namespace>(manifest),
        ("v1", "PersistentVolume") => strict::<core::PersistentVolume>(manifest),
        ("v1", "PersistentVolumeClaim") => strict::<core::PersistentVolumeClaim>(manifest),
        ("v1", "Pod") => strict::<core::Pod>(manifest),
        ("v1", "ResourceQuota") => strict::<core::ResourceQuota>(manifest),
        ("v1", "Secret") => strict::<core::Secret>(manifest),
        ("v1", "Service") => strict::<core::Service>(manifest),
        ("v1", "ServiceAccount") => strict::<core::ServiceAccount>(manifest),
        ("apps/v1", "DaemonSet") => strict::<apps::DaemonSet>(manifest),
        ("apps/v1", "Deployment") => strict::<apps::Deployment>(manifest),
        ("apps/v1", "ReplicaSet") => strict::<apps::ReplicaSet>(manifest),
        ("apps/v1", "StatefulSet") => strict::<apps::StatefulSet>(manifest),
        ("networking.k8s.io/v1", "Ingress") => strict::<networking::Ingress>(manifest),
        ("networking.k8s.io/v1", "IngressClass") => strict::<networking::IngressClass>(manifest),
        ("networking.k8s.io/v1", "NetworkPolicy") => strict::<networking::NetworkPolicy>(manifest),
        _ => None,
    }
}

/// Parses the manifest as its kind; a field that is lost is unknown.
fn strict<K: DeserializeOwned + Serialize>(mut manifest: Json) -> Option<String> {
    if let Err(fault) = normalise(&mut manifest, "") {
        return Some(fault);
    }
    let Ok(Ok(read)) = K::deserialize(&manifest).map(|kind| serde_json::to_value(&kind)) else {
        return Some(format!("does not match the schema of its kind{}", place::<K>(&manifest)));
    };
    unknown(&manifest, &read, "").map(|field| format!("has an unknown field: {field}"))
}

/// First top-level field without which the manifest would match its kind.
fn place<K: DeserializeOwned>(manifest: &Json) -> String {
    let fields = manifest.as_object().into_iter().flatten();
    let culprit = fields.map(|(key, _)| key).find(|key| {
        let mut without = manifest.clone();
        without.as_object_mut().is_some_and(|map| map.remove(*key).is_some())
            && K::deserialize(&without).is_ok()
    });
    culprit.map(|key| format!(" (under `{key}`)")).unwrap_or_default()
}

/// Maps whose values are quantities.
const QUANTITIES: [&str; 8] =
    ["requests", "limits", "capacity", "hard", "max", "min", "default", "defaultRequest"];

/// Normalises what Go's decoder accepts beyond our types: whole numbers as floats, and quantities as numbers.
fn normalise(value: &mut Json, under: &str) -> Result<(), String> {
    match value {
        Json::Number(number) => {
            #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() < 9e15
            {
                *value = Json::from(float as i64);
            }
        }
        Json::Array(items) => items.iter_mut().try_for_each(|item| normalise(item, ""))?,
        Json::Object(map) => {
            // Go's decoder treats null as absent, even in maps of strings.
            map.retain(|_, item| !item.is_null());
            for (key, item) in map.iter_mut() {
                let is_quantity = QUANTITIES.contains(&under) || key == "sizeLimit";
                if is_quantity && let Json::Number(number) = item {
                    *item = Json::String(number.to_string());
                }
                if is_quantity && item.as_str().is_some_and(|text| !looks_like_quantity(text)) {
                    return Err(format!("has an invalid quantity under `{key}`"));
                }
                normalise(item, key)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// `^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$`
fn looks_like_quantity(text: &str) -> bool {
    const SUFFIXES: [&str; 15] =
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let number = unsigned.len() - unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, suffix) = unsigned.split_at(number);
    let exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    number.bytes().any(|b| b.is_ascii_digit())
        && number.matches('.').count() <= 1
        && (SUFFIXES.contains(&suffix) || suffix == "Ei" || exponent)
}

/// First field that is lost.
fn unknown(given: &Json, read: &Json, at: &str) -> Option<String> {
    match (given, read) {
        (Json::Object(given), Json::Object(read)) => given.iter().find_map(|(key, value)| {
            let place = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            match read.get(key) {
                Some(read) => unknown(value, read, &place),
                None => Some(place),
            }
        }),
        (Json::Array(given), Json::Array(read)) => given
            .iter()
            .zip(read)
            .enumerate()
            .find_map(|(number, (given, read))| unknown(given, read, &format!("{at}.{number}"))),
        _ => None,
    }
}
