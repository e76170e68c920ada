//! `orchestra outputs`: what the dependencies of a workload give, with the secrets that its caller may read.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write},
};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, api::ListParams};
use orchestra_api::{ResourceClaim, claim::Output, label};
use orchestra_score::placeholder::to_text;

use super::platform::{Platform, Trouble, with_platform};
use crate::{
    args::Outputs,
    exit::{Exit, after_writing},
};

pub(crate) fn run(args: &Outputs) -> Exit {
    with_platform(&args.target, async |platform| {
        let text = show(args, &platform).await?;
        Ok(after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes))
    })
}

async fn show(args: &Outputs, platform: &Platform) -> Result<String, Trouble> {
    platform.workload(&args.name).await?;
    let mut claims = claims(args, platform).await?;
    if let Some(resource) = &args.resource {
        let keys: Vec<String> = claims.keys().map(|key| format!("`{key}`")).collect();
        let Some(claim) = claims.remove(resource) else {
            let there = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
            return Err(Trouble::No(format!(
                "{} has no resource {resource:?}; it depends on {there}",
                args.name
            )));
        };
        claims = [(resource.clone(), claim)].into();
    }
    let mut text = String::new();
    for (key, claim) in claims {
        let mut outputs = claim.status.unwrap_or_default().outputs;
        if let Some(name) = &args.output {
            let names: Vec<String> = outputs.keys().map(|name| format!("`{name}`")).collect();
            let Some(output) = outputs.remove(name) else {
                let there = if names.is_empty() { "nothing yet".to_owned() } else { names.join(", ") };
                return Err(Trouble::No(format!("the resource {key} gives no {name:?}; it gives {there}")));
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

/// What a workload depends on, by key.
async fn claims(args: &Outputs, platform: &Platform) -> Result<BTreeMap<String, ResourceClaim>, Trouble> {
    let api: Api<ResourceClaim> = Api::namespaced(platform.client.clone(), &platform.namespace);
    let own = ListParams::default().labels(&format!("{}={}", label::WORKLOAD, args.name));
    let listed = api.list(&own).await.map_err(|error| platform.trouble(&args.name, error))?;
    let living = listed.into_iter().filter(|claim| claim.metadata.deletion_timestamp.is_none());
    Ok(living.map(|claim| (claim.spec.key.clone(), claim)).collect())
}

async fn value(platform: &Platform, output: Output) -> Result<String, Trouble> {
    match output {
        Output::Value(value) => Ok(to_text(&value)),
        Output::SecretKeyRef(secret) => {
            let api: Api<Secret> = Api::namespaced(platform.client.clone(), &platform.namespace);
            let found = api.get_opt(&secret.name).await;
            let found = found.map_err(|error| platform.trouble(&secret.name, error))?;
            let bytes = found.and_then(|found| found.data?.remove(&secret.key));
            let bytes = bytes.ok_or_else(|| Trouble::No(format!("the secret {} is gone", secret.name)))?;
            Ok(String::from_utf8_lossy(&bytes.0).into_owned())
        }
    }
}
