//! `orchestra plan`

use http::Method;
use kube::ResourceExt;
use serde_json::json;

use super::{
    apply::{Described, described},
    platform::{Platform, Trouble, with_platform},
    show,
};
use crate::{
    args::{Format, Plan},
    exit::Exit,
};

pub(crate) fn run(args: &Plan) -> Exit {
    if let Some(name) = &args.delete {
        return with_platform(&args.target, async |platform| {
            let answer =
                platform.ask(Method::POST, name, "plan?delete=true", Vec::new(), args.output).await?;
            Ok(show::answer(&answer.text, args.output))
        });
    }
    match described(&args.documents) {
        Ok(described) => with_platform(&args.target, async |platform| plan(args, &platform, described).await),
        Err(exit) => exit,
    }
}

async fn plan(args: &Plan, platform: &Platform, described: Vec<Described>) -> Result<Exit, Trouble> {
    let mut is_refused = false;
    let mut answers = Vec::new();
    for Described { workload, .. } in described {
        let name = workload.name_any();
        let mut object = json!(workload);
        object["apiVersion"] = json!(orchestra_api::API_VERSION);
        object["kind"] = json!("Workload");
        let body = object.to_string().into_bytes();
        let answer = platform.ask(Method::POST, &name, "plan", body, args.output).await?;
        is_refused |= answer.is_refused;
        answers.push((name, answer.text));
    }
    // One document, however many files.
    let text = match (&answers[..], args.output) {
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
    Ok(match show::answer(&text, args.output) {
        Exit::Yes if is_refused => Exit::No,
        exit => exit,
    })
}
