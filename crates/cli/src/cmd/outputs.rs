//! `orchestra outputs`: outputs of the dependencies of a workload, secrets included.

use std::{collections::BTreeMap, fmt::Write as _};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, api::ListParams};
use orchestra_api::{ResourceClaim, claim::Output};
use orchestra_core::claim_state;
use orchestra_score::placeholder::to_text;

use super::{
    platform::{Platform, with_platform},
    print,
};
use crate::{args::Outputs, error::CliError, exit::Exit};

pub(crate) fn run(args: &Outputs) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| print(&show(args, &platform).await?))
}

async fn show(args: &Outputs, platform: &Platform) -> Result<String, CliError> {
    platform.workload(&args.name).await?;
    let mut claims = claims(args, platform).await?;
    if let Some(resource) = &args.resource {
        let keys: Vec<String> = claims.keys().map(|key| format!("`{key}`")).collect();
        let Some(claim) = claims.remove(resource) else {
            let (workload, resource) = (args.name.clone(), resource.clone());
            return Err(CliError::NoResource { workload, resource, known: or_none(&keys) });
        };
        claims = [(resource.clone(), claim)].into();
    }
    let mut text = String::new();
    for (key, claim) in claims {
        let mut outputs = claim.status.unwrap_or_default().outputs;
        if let Some(name) = &args.output {
            let names: Vec<String> = outputs.keys().map(|name| format!("`{name}`")).collect();
            let Some(output) = outputs.remove(name) else {
                let (resource, output) = (key, name.clone());
                return Err(CliError::NoOutput { resource, output, known: or_none(&names) });
            };
            return Ok(format!("{}\n", value(platform, output).await?));
        }
        for (name, output) in outputs {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{key}.{name}={}", value(platform, output).await?);
        }
    }
    Ok(text)
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Claims of a workload, by key.
async fn claims(args: &Outputs, platform: &Platform) -> Result<BTreeMap<String, ResourceClaim>, CliError> {
    let api: Api<ResourceClaim> = Api::namespaced(platform.client.clone(), &platform.namespace);
    let own = ListParams::default().fields(&claim_state::of_workload(&args.name));
    let listed = api.list(&own).await.map_err(|error| platform.api_error(&args.name, error))?;
    let current = listed.into_iter().filter(|claim| claim.metadata.deletion_timestamp.is_none());
    Ok(current.map(|claim| (claim.spec.key.clone(), claim)).collect())
}

async fn value(platform: &Platform, output: Output) -> Result<String, CliError> {
    match output {
        Output::Value(value) => Ok(to_text(&value)),
        Output::SecretKeyRef(secret) => {
            let api: Api<Secret> = Api::namespaced(platform.client.clone(), &platform.namespace);
            let found = api.get_opt(&secret.name).await;
            let found = found.map_err(|error| platform.api_error(&secret.name, error))?;
            let bytes = found.and_then(|found| found.data?.remove(&secret.key));
            let bytes = bytes.ok_or(CliError::NoSecret(secret.name))?;
            Ok(String::from_utf8_lossy(&bytes.0).into_owned())
        }
    }
}
