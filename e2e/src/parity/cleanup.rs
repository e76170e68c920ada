//! Deletion of the namespaces, CRDs and cluster roles of a script on a shared server.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::time;

use super::{Script, Target, target::TargetError};

const NAMESPACES: &str = "/api/v1/namespaces";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const CLEANUP_TIMEOUT: Duration = Duration::from_mins(2);

/// Deletes the objects of the script, and waits for the deletion.
pub async fn clean(script: &Script, target: &Target) -> Result<(), TargetError> {
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    loop {
        let mut left = Vec::new();
        for definition in items(target, DEFINITIONS).await? {
            let group = definition["spec"]["group"].as_str().unwrap_or_default();
            if group == script.group() || group.ends_with(&format!(".{}", script.group())) {
                remove_finalizers(target, &definition).await?;
                left.push(format!("{DEFINITIONS}/{}", name(&definition)));
            }
        }
        for namespace in items(target, NAMESPACES).await? {
            let own = script.namespace();
            if name(&namespace) == own || name(&namespace).starts_with(&format!("{own}--")) {
                left.push(format!("{NAMESPACES}/{}", name(&namespace)));
            }
        }
        for plural in ["clusterroles", "clusterrolebindings"] {
            let path = format!("{RBAC}/{plural}");
            for object in items(target, &path).await? {
                if name(&object).starts_with(&format!("{}--", script.namespace())) {
                    left.push(format!("{path}/{}", name(&object)));
                }
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        for path in &left {
            call(target, "DELETE", path, "").await?;
        }
        if Instant::now() > deadline {
            return Err(format!("not deleted: {left:?}").into());
        }
        time::sleep(Duration::from_millis(200)).await;
    }
}

/// Removes the finalizers of all objects of a CRD, which have no controller.
async fn remove_finalizers(target: &Target, definition: &Value) -> Result<(), TargetError> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let Some(version) =
        spec["versions"].as_array().into_iter().flatten().find(|version| version["served"] == true)
    else {
        return Ok(());
    };
    let base = format!("/apis/{}/{}", text(&spec["group"]), text(&version["name"]));
    let plural = text(&spec["names"]["plural"]);
    for resource in items(target, &format!("{base}/{plural}")).await? {
        if resource["metadata"]["finalizers"].is_array() {
            let scope = match resource["metadata"]["namespace"].as_str() {
                Some(namespace) => format!("/namespaces/{namespace}"),
                None => String::new(),
            };
            let path = format!("{base}{scope}/{plural}/{}", name(&resource));
            call(target, "PATCH", &path, r#"{"metadata":{"finalizers":null}}"#).await?;
        }
    }
    Ok(())
}

async fn items(target: &Target, path: &str) -> Result<Vec<Value>, TargetError> {
    let mut list = call(target, "GET", path, "").await?;
    Ok(match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    })
}

async fn call(target: &Target, method: &str, path: &str, body: &str) -> Result<Value, TargetError> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(
            "content-type",
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" },
        )
        .body(Bytes::copy_from_slice(body.as_bytes()))?;
    let body = target.send(request).await?.into_body().collect().await?.to_bytes();
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
