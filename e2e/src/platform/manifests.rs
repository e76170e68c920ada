//! Manifests of the project.

use std::{fs, path::Path};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use serde_json::Value as Json;

use super::{Error, eventually, project};

/// Installs CRDs, and roles if the server supports them.
pub async fn install(client: &Client, with_roles: bool) -> Result<(), Error> {
    let deploy = project().join("deploy");
    apply_file(client, &deploy.join("namespace.yaml")).await?;
    apply_folder(client, &deploy.join("crds")).await?;
    if with_roles {
        apply_folder(client, &deploy.join("rbac")).await?;
    }
    for plural in ["workloads", "platformpolicies", "resourceclaims", "workloadplans", "workloadexposures"] {
        eventually(format!("{plural} are served"), async || {
            let request = http::Request::get(format!("/apis/score.dev/v1b1/{plural}")).body(Vec::new())?;
            Ok(client.request_text(request).await.map(drop)?)
        })
        .await?;
    }
    Ok(())
}

async fn apply_folder(client: &Client, folder: &Path) -> Result<(), Error> {
    let mut files: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_, Error>>()?;
    files.sort();
    for file in files {
        apply_file(client, &file).await?;
    }
    Ok(())
}

async fn apply_file(client: &Client, file: &Path) -> Result<(), Error> {
    for object in documents(file)? {
        apply(client, &object).await.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// Documents of a YAML file.
pub fn documents(file: &Path) -> Result<Vec<Json>, Error> {
    let text = fs::read_to_string(file)?;
    text.split("\n---\n").map(|document| Ok(serde_saphyr::from_str(document)?)).collect()
}

/// Creates or replaces an object.
pub async fn apply(client: &Client, object: &Json) -> Result<(), Error> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply("e2e").force();
    api.patch(&text(&object["metadata"]["name"]), &params, &Patch::Apply(object)).await?;
    Ok(())
}
