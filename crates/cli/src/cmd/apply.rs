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
use orchestra_api::{Workload, annotation};
use orchestra_server::Home;
use serde_json::json;

use super::{
    attach::attach,
    documents::Verdict,
    home,
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
/// Under this name it is kept that a workload is stopped for now.
const SUSPENDER: &str = "orchestra-suspend";

pub(crate) fn run(args: &Apply) -> Exit {
    let described = match described(&args.documents) {
        Ok(described) => described,
        Err(exit) => return exit,
    };
    with_platform(&args.target, async |platform| apply(args, &platform, described).await)
}

/// What a file describes.
pub(super) struct Described {
    /// The object.
    pub(super) workload: Workload,
    /// Where it comes from, if that matters.
    home: Option<Home>,
}

/// What all files describe; nothing if one of them has a mistake.
pub(super) fn described(documents: &Documents) -> Result<Vec<Described>, Exit> {
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
    let mut all = Vec::new();
    for (verdict, path) in verdicts.into_iter().zip(&documents.files) {
        all.push(describe(verdict, path, documents.allow_outside).map_err(|why| {
            ui::complain(&why);
            Exit::No
        })?);
    }
    for Described { workload, .. } in &all {
        if !names.insert(workload.name_any()) {
            ui::complain(&format!("two files describe the workload {}", workload.name_any()));
            return Err(Exit::No);
        }
    }
    Ok(all)
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

fn describe(verdict: Verdict, path: &Path, allow_outside: bool) -> Result<Described, String> {
    let Verdict { file, report } = verdict;
    let mut document = report.workload.ok_or_else(|| format!("{file} could not be read"))?;
    attach(&mut document, path, allow_outside).map_err(|why| format!("{file}: {why}"))?;
    let home = home::of(&document, path).map_err(|why| format!("{file}: {why}"))?;
    Ok(Described { workload: Workload::of_document(&document), home })
}

/// Whether two versions say the same, apart from what the platform writes meanwhile.
fn is_same(before: &Workload, after: &Workload) -> bool {
    before.uid() == after.uid()
        && before.metadata.generation == after.metadata.generation
        && before.metadata.labels == after.metadata.labels
        && before.metadata.annotations == after.metadata.annotations
}

/// Hands a workload to the platform, which then runs it. Also says what became of it, in a word.
pub(super) async fn put(
    platform: &Platform,
    described: &Described,
    force: bool,
) -> Result<(Workload, &'static str), Trouble> {
    let api = platform.workloads();
    let mut params = PatchParams::apply(MANAGER);
    params.force = force;
    let Described { workload, home } = described;
    let name = workload.name_any();
    let before = api.get_opt(&name).await.map_err(|error| platform.trouble(&name, error))?;
    if before.as_ref().is_some_and(|before| before.metadata.deletion_timestamp.is_some()) {
        return Err(Trouble::No(format!(
            "{name} is being deleted; apply it again when it is gone: `orchestra wait {name} --for deleted`"
        )));
    }
    if let Some(home) = home {
        platform.note(&name, home).await?;
    }
    let mut object = json!(workload);
    object["apiVersion"] = json!(orchestra_api::API_VERSION);
    object["kind"] = json!("Workload");
    let after = api.patch(&name, &params, &Patch::Apply(object)).await;
    let mut after = after.map_err(|error| match error {
        kube::Error::Api(status) if status.code == 404 && status.message.contains("namespaces") => {
            platform.no_namespace()
        }
        error => platform.trouble(&name, error),
    })?;
    let asks_to = |workload: &Workload| workload.annotations().contains_key(annotation::SUSPEND);
    if asks_to(&after) && !asks_to(workload) {
        after = platform.suspend(&name, false).await?;
    }
    let what = match before {
        None => "created",
        Some(before) if is_same(&before, &after) => "unchanged",
        Some(_) => "configured",
    };
    Ok((after, what))
}

impl Platform {
    /// Stops a workload for now, with everything kept; or starts it again.
    pub(super) async fn suspend(&self, name: &str, suspend: bool) -> Result<Workload, Trouble> {
        let annotations = if suspend { json!({annotation::SUSPEND: "true"}) } else { json!({}) };
        let object = json!({
            "apiVersion": orchestra_api::API_VERSION, "kind": "Workload",
            "metadata": {"name": name, "annotations": annotations},
        });
        let params = PatchParams::apply(SUSPENDER).force();
        let patched = self.workloads().patch(name, &params, &Patch::Apply(object)).await;
        patched.map_err(|error| self.trouble(name, error))
    }
}

async fn apply(args: &Apply, platform: &Platform, described: Vec<Described>) -> Result<Exit, Trouble> {
    let mut applied = Vec::new();
    for described in described {
        let (after, what) = put(platform, &described, args.force_conflicts).await?;
        let name = after.name_any();
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
        let goals = Goals { names, goal: Goal::Ready, timeout: args.timeout, quiet: false };
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
