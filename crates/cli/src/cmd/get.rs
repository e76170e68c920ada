//! `orchestra get`

use std::io::{self, Write};

use k8s_openapi::jiff::Timestamp;
use kube::{Api, api::ListParams};
use orchestra_api::Workload;

use super::{
    platform::{Platform, Trouble, with_platform},
    show,
};
use crate::{
    args::{Format, Get},
    exit::{Exit, after_writing},
    ui,
};

pub(crate) fn run(args: &Get) -> Exit {
    with_platform(&args.target, async |platform| get(args, &platform).await)
}

async fn get(args: &Get, platform: &Platform) -> Result<Exit, Trouble> {
    let mut workloads = Vec::new();
    if args.names.is_empty() {
        let api: Api<Workload> =
            if args.all_namespaces { Api::all(platform.client.clone()) } else { platform.workloads() };
        let found = api.list(&ListParams::default()).await;
        workloads.extend(found.map_err(|error| platform.trouble("workloads", error))?);
    }
    for name in &args.names {
        workloads.push(platform.workload(name).await?);
    }
    if workloads.is_empty() && !args.all_namespaces && !platform.has_namespace().await {
        return Err(platform.no_namespace());
    }
    if args.output != Format::Human {
        return Ok(match args.names.len() {
            1 => show::objects(&workloads, args.output),
            _ => show::list(&workloads, args.output),
        });
    }
    if workloads.is_empty() {
        let place = if args.all_namespaces {
            String::new()
        } else {
            format!(" in the namespace {:?}", platform.namespace)
        };
        ui::say(&format!("there are no workloads{place}; `orchestra apply` brings one"));
        return Ok(Exit::Yes);
    }
    let table = show::table(&workloads, args.all_namespaces, Timestamp::now());
    Ok(after_writing(io::stdout().lock().write_all(table.as_bytes()), Exit::Yes))
}
