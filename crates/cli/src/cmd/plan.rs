//! `orchestra plan`

use http::Method;
use kube::ResourceExt;
use serde_json::json;

use super::{
    apply::{LoadedWorkload, load_workloads},
    platform::{Platform, with_platform},
    show,
};
use crate::{
    args::{Format, Plan},
    error::CliError,
    exit::Exit,
};

pub(crate) fn run(args: &Plan) -> Result<Exit, CliError> {
    if let Some(name) = &args.delete {
        return with_platform(&args.target, async |platform| {
            let response =
                platform.query(Method::POST, name, "plan?delete=true", Vec::new(), args.output).await?;
            show::response(&response.text, args.output)
        });
    }
    let loaded = load_workloads(&args.documents)?;
    with_platform(&args.target, async |platform| plan(args, &platform, loaded).await)
}

async fn plan(args: &Plan, platform: &Platform, loaded: Vec<LoadedWorkload>) -> Result<Exit, CliError> {
    let mut is_refused = false;
    let mut plans = Vec::new();
    for LoadedWorkload { workload, .. } in loaded {
        let name = workload.name_any();
        let mut object = json!(workload);
        object["apiVersion"] = json!(orchestra_api::API_VERSION);
        object["kind"] = json!("Workload");
        let body = object.to_string().into_bytes();
        let response = platform.query(Method::POST, &name, "plan", body, args.output).await?;
        is_refused |= response.is_refused;
        plans.push((name, response.text));
    }
    // One document for any number of files.
    let text = match (&plans[..], args.output) {
        ([(_, only)], _) => only.clone(),
        (several, Format::Human) => {
            let titled = several.iter().map(|(name, text)| format!("Workload {name}:\n{text}"));
            titled.collect::<Vec<_>>().join("\n")
        }
        (several, _) => {
            let texts: Vec<&str> = several.iter().map(|(_, text)| text.as_str()).collect();
            format!("[{}]", texts.join(","))
        }
    };
    let exit = show::response(&text, args.output)?;
    Ok(if is_refused { Exit::Failure } else { exit })
}
