//! `orchestra plan`

use std::io::{self, Write};

use http::Method;
use kube::ResourceExt;
use orchestra_api::Workload;
use serde_json::json;

use super::{
    apply::workloads,
    platform::{Platform, Trouble, with_platform},
    show,
};
use crate::{
    args::{Format, Plan},
    exit::{Exit, after_writing},
};

pub(crate) fn run(args: &Plan) -> Exit {
    if let Some(name) = &args.delete {
        return with_platform(&args.target, async |platform| {
            let answer =
                platform.ask(Method::POST, name, "plan?delete=true", Vec::new(), args.output).await?;
            Ok(show::answer(&answer, args.output))
        });
    }
    match workloads(&args.documents) {
        Ok(workloads) => with_platform(&args.target, async |platform| plan(args, &platform, workloads).await),
        Err(exit) => exit,
    }
}

async fn plan(args: &Plan, platform: &Platform, workloads: Vec<Workload>) -> Result<Exit, Trouble> {
    let several = workloads.len() > 1;
    for workload in workloads {
        let name = workload.name_any();
        if several && args.output == Format::Human {
            let written = writeln!(io::stdout().lock(), "Workload {name}:");
            if after_writing(written, Exit::Yes) != Exit::Yes {
                return Ok(Exit::No);
            }
        }
        let mut object = json!(workload);
        object["apiVersion"] = json!(orchestra_api::API_VERSION);
        object["kind"] = json!("Workload");
        let body = object.to_string().into_bytes();
        let answer = platform.ask(Method::POST, &name, "plan", body, args.output).await?;
        let exit = show::answer(&answer, args.output);
        if exit != Exit::Yes {
            return Ok(exit);
        }
    }
    Ok(Exit::Yes)
}
