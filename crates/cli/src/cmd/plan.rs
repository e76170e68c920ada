//! `orchestra plan`

use http::Method;
use kube::ResourceExt;
use orchestra_api::Workload;
use serde_json::json;

use super::{
    apply::workloads,
    platform::{Platform, Trouble, with_platform},
    show,
};
use crate::{args::Plan, exit::Exit};

pub(crate) fn run(args: &Plan) -> Exit {
    if let Some(name) = &args.delete {
        return with_platform(&args.target, async |platform| {
            let answer =
                platform.ask(Method::POST, name, "plan?delete=true", Vec::new(), args.output).await?;
            Ok(show::answer(&answer, args.output))
        });
    }
    match workloads(&args.documents, args.allow_outside) {
        Ok(workloads) => with_platform(&args.target, async |platform| plan(args, &platform, workloads).await),
        Err(exit) => exit,
    }
}

async fn plan(args: &Plan, platform: &Platform, workloads: Vec<Workload>) -> Result<Exit, Trouble> {
    for workload in workloads {
        let name = workload.name_any();
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
