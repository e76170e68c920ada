//! Builders of Workloads.

use orchestra_e2e::platform::Error;
use serde_json::{Value as Json, json};

use crate::cluster;

/// Workload with a spec in YAML, in which `PROBE` is replaced by the image of the suite.
pub(crate) fn workload(name: &str, spec: &str) -> Result<Json, Error> {
    let spec: Json = serde_saphyr::from_str(&spec.replace("PROBE", &cluster::probe()))
        .map_err(|error| format!("spec of {name}: {error}"))?;
    Ok(json!({"apiVersion": "score.dev/v1b1", "kind": "Workload", "metadata": {"name": name}, "spec": spec}))
}

/// Adds an annotation.
pub(crate) fn annotated(mut workload: Json, key: &str, value: &str) -> Json {
    workload["metadata"]["annotations"][key] = value.into();
    workload
}

/// Sets the profile.
pub(crate) fn of_profile(workload: Json, profile: &str) -> Json {
    annotated(workload, "score.dev/profile", profile)
}

/// Workload that serves a page with this text.
pub(crate) fn page(name: &str, text: &str) -> Result<Json, Error> {
    let mut page = workload(
        name,
        "
        containers:
          app:
            image: PROBE
            command: [sh, -c]
            args: ['mkdir -p /tmp/www && echo \"$TEXT\" > /tmp/www/index.html && exec hold httpd -f -p 8080 -h /tmp/www']
            variables: {}
            readinessProbe: {httpGet: {path: /, port: 8080}}
        service: {ports: {web: {port: 80, targetPort: 8080}}}
        ",
    )?;
    page["spec"]["containers"]["app"]["variables"]["TEXT"] = text.into();
    Ok(page)
}
