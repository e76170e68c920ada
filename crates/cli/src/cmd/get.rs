//! `orchestra get`

use k8s_openapi::jiff::Timestamp;
use kube::{Api, api::ListParams};
use orchestra_api::Workload;

use super::{
    platform::{Platform, with_platform},
    print, show,
};
use crate::{
    args::{Format, Get},
    error::CliError,
    exit::Exit,
    ui,
};

pub(crate) fn run(args: &Get) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| get(args, &platform).await)
}

async fn get(args: &Get, platform: &Platform) -> Result<Exit, CliError> {
    let mut workloads = Vec::new();
    if args.names.is_empty() {
        let api: Api<Workload> =
            if args.all_namespaces { Api::all(platform.client.clone()) } else { platform.workloads() };
        let found = api.list(&ListParams::default()).await;
        workloads.extend(found.map_err(|error| platform.api_error("workloads", error))?);
    }
    for name in &args.names {
        workloads.push(platform.workload(name).await?);
    }
    if workloads.is_empty() && !args.all_namespaces && !platform.has_namespace().await {
        return Err(platform.namespace_not_found());
    }
    if args.output != Format::Human {
        return match args.names.len() {
            1 => show::objects(&workloads, args.output),
            _ => show::list(&workloads, args.output),
        };
    }
    if workloads.is_empty() {
        let namespace = if args.all_namespaces {
            String::new()
        } else {
            format!(" in namespace {:?}", platform.namespace)
        };
        ui::print_status(&format!("No workloads found{namespace}; create one with `orchestra apply`."));
        return Ok(Exit::Success);
    }
    print(&show::table(&workloads, args.all_namespaces, Timestamp::now()))
}
