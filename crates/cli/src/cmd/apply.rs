//! `orchestra apply`

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::Path,
};

use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use orchestra_api::Workload;
use serde_json::json;

use super::{
    attach::attach,
    documents::Verdict,
    platform::{Platform, Trouble, with_platform},
    show,
    wait::{self, Goals},
};
use crate::{
    args::{Apply, Documents, Format, Goal},
    exit::{Exit, after_writing},
    ui,
};

/// Under this name the author's fields are kept.
pub(super) const MANAGER: &str = "orchestra";

pub(crate) fn run(args: &Apply) -> Exit {
    let workloads = match workloads(&args.documents) {
        Ok(workloads) => workloads,
        Err(exit) => return exit,
    };
    with_platform(&args.target, async |platform| apply(args, &platform, workloads).await)
}

/// The objects for all files; nothing if one of them has a mistake.
pub(super) fn workloads(documents: &Documents) -> Result<Vec<Workload>, Exit> {
    let verdicts = documents.verdicts()?;
    if verdicts.iter().any(|verdict| !verdict.report.is_valid()) {
        let screen = ui::Screen::stderr();
        let mut out = io::stderr().lock();
        let written = verdicts.iter().try_for_each(|verdict| screen.findings(&mut out, verdict));
        let written = written.and_then(|()| ui::Screen::summary(&mut out, &verdicts));
        return Err(after_writing(written, Exit::No));
    }
    warn(&verdicts);
    let mut names = BTreeSet::new();
    let mut workloads = Vec::new();
    for (verdict, path) in verdicts.into_iter().zip(&documents.files) {
        workloads.push(workload(verdict, path, documents.allow_outside).map_err(|why| {
            ui::complain(&why);
            Exit::No
        })?);
    }
    for workload in &workloads {
        if !names.insert(workload.name_any()) {
            ui::complain(&format!("two files describe the workload {}", workload.name_any()));
            return Err(Exit::No);
        }
    }
    Ok(workloads)
}

/// Warnings do not stop anything, but are said.
fn warn(verdicts: &[Verdict]) {
    if verdicts.iter().any(|verdict| !verdict.report.diagnostics.is_empty()) {
        let screen = ui::Screen::stderr();
        let mut out = io::stderr().lock();
        // Where standard error is closed, nobody listens.
        let _ = verdicts.iter().try_for_each(|verdict| screen.findings(&mut out, verdict));
    }
}

fn workload(verdict: Verdict, path: &Path, allow_outside: bool) -> Result<Workload, String> {
    let Verdict { file, report } = verdict;
    let mut document = report.workload.ok_or_else(|| format!("{file} could not be read"))?;
    attach(&mut document, path, allow_outside).map_err(|why| format!("{file}: {why}"))?;
    Ok(Workload::of_document(&document))
}

/// Whether two versions say the same, apart from what the platform writes meanwhile.
fn is_same(before: &Workload, after: &Workload) -> bool {
    before.uid() == after.uid()
        && before.metadata.generation == after.metadata.generation
        && before.metadata.labels == after.metadata.labels
        && before.metadata.annotations == after.metadata.annotations
}

async fn apply(args: &Apply, platform: &Platform, workloads: Vec<Workload>) -> Result<Exit, Trouble> {
    let api = platform.workloads();
    let mut params = PatchParams::apply(MANAGER);
    params.force = args.force_conflicts;
    let mut applied = Vec::new();
    for workload in workloads {
        let name = workload.name_any();
        let before = api.get_opt(&name).await.map_err(|error| platform.trouble(&name, error))?;
        if before.as_ref().is_some_and(|before| before.metadata.deletion_timestamp.is_some()) {
            return Err(Trouble::No(format!(
                "{name} is being deleted; apply it again when it is gone: `orchestra wait {name} --for deleted`"
            )));
        }
        let mut object = json!(workload);
        object["apiVersion"] = json!(orchestra_api::API_VERSION);
        object["kind"] = json!("Workload");
        let after = api.patch(&name, &params, &Patch::Apply(object)).await;
        let after = after.map_err(|error| match error {
            kube::Error::Api(status) if status.code == 404 && status.message.contains("namespaces") => {
                platform.no_namespace()
            }
            error => platform.trouble(&name, error),
        })?;
        let what = match before {
            None => "created",
            Some(before) if is_same(&before, &after) => "unchanged",
            Some(_) => "configured",
        };
        if args.output == Format::Human {
            let written = writeln!(io::stdout().lock(), "workload {name} {what}");
            if after_writing(written, Exit::Yes) != Exit::Yes {
                return Ok(Exit::No);
            }
        }
        applied.push(after);
    }
    if args.wait {
        let names = applied.iter().map(ResourceExt::name_any).collect();
        let goals = Goals { names, goal: Goal::Ready, timeout: args.timeout };
        let exit = wait::wait(platform, goals).await?;
        if exit != Exit::Yes {
            return Ok(exit);
        }
    }
    Ok(match args.output {
        Format::Human => Exit::Yes,
        format => show::objects(&applied, format),
    })
}
