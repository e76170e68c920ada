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
use orchestra_core::{preview, workload_state};
use orchestra_drivers::WorkloadOrigin;
use serde_json::json;

use super::{
    attach::attach,
    documents::CheckedFile,
    platform::{Platform, with_platform},
    show,
    wait::{self, WaitOptions},
    workload_origin,
};
use crate::{
    args::{Apply, Documents, Format, Goal},
    error::CliError,
    exit::{Exit, written},
    ui,
};

/// Field manager of Score files.
pub(super) const FIELD_MANAGER: &str = "orchestra";

pub(crate) fn run(args: &Apply) -> Result<Exit, CliError> {
    let loaded = load_workloads(&args.documents)?;
    with_platform(&args.target, async |platform| apply(args, &platform, loaded).await)
}

/// Workload of a Score file.
pub(super) struct LoadedWorkload {
    pub(super) workload: Workload,
    /// Origin on this machine, if the file refers to it.
    origin: Option<WorkloadOrigin>,
}

/// Workloads of all files. Prints diagnostics; fails if one of the files is invalid.
pub(super) fn load_workloads(documents: &Documents) -> Result<Vec<LoadedWorkload>, CliError> {
    let files = documents.check()?;
    let is_valid = files.iter().all(|file| file.report.is_valid());
    print_findings(&files, is_valid);
    if !is_valid {
        return Err(CliError::InvalidFiles);
    }
    let mut names = BTreeSet::new();
    let mut all = Vec::new();
    for (file, path) in files.into_iter().zip(&documents.files) {
        all.push(load(file, path, documents.allow_outside)?);
    }
    for LoadedWorkload { workload, .. } in &all {
        if !names.insert(workload.name_any()) {
            return Err(CliError::DuplicateWorkload(workload.name_any()));
        }
    }
    Ok(all)
}

/// Prints diagnostics to standard error; with a summary if a file is invalid.
fn print_findings(files: &[CheckedFile], is_valid: bool) {
    let screen = ui::Screen::stderr();
    let mut out = io::stderr().lock();
    let printed = files.iter().try_for_each(|file| screen.findings(&mut out, file));
    if !is_valid {
        // Standard error may be closed.
        let _ = printed.and_then(|()| ui::Screen::summary(&mut out, files));
    }
}

fn load(file: CheckedFile, path: &Path, allow_outside: bool) -> Result<LoadedWorkload, CliError> {
    let CheckedFile { file, report } = file;
    let mut document = report.workload.ok_or(CliError::InvalidFiles)?;
    attach(&mut document, path, allow_outside).map_err(|source| CliError::Attach { file, source })?;
    let origin = workload_origin::of(&document, path)?;
    Ok(LoadedWorkload { workload: Workload::of_document(&document), origin })
}

/// True if an apply changed nothing, apart from status and bookkeeping. A controller may write its finalizer meanwhile.
fn is_same(before: &Workload, after: &Workload) -> bool {
    before.uid() == after.uid()
        && before.metadata.generation == after.metadata.generation
        && before.labels() == after.labels()
        && before.annotations() == after.annotations()
}

/// Applies a workload. Returns it with `created`, `configured` or `unchanged`.
pub(super) async fn apply_workload(
    platform: &Platform,
    loaded: &LoadedWorkload,
    force: bool,
) -> Result<(Workload, &'static str), CliError> {
    let api = platform.workloads();
    let mut params = PatchParams::apply(FIELD_MANAGER);
    params.force = force;
    let LoadedWorkload { workload, origin } = loaded;
    let name = workload.name_any();
    let before = api.get_opt(&name).await.map_err(|error| platform.api_error(&name, error))?;
    if before.as_ref().is_some_and(workload_state::is_deleting) {
        return Err(CliError::BeingDeleted(name));
    }
    if let Some(origin) = origin {
        match before {
            None => platform.record_origin(&name, origin).await?,
            // It is recorded for the version that is applied, not for an earlier one that others may have written.
            Some(_) => platform.check_origin(&name, origin).await?,
        }
    }
    let mut object = json!(workload);
    object["apiVersion"] = json!(orchestra_api::API_VERSION);
    object["kind"] = json!("Workload");
    let after = api.patch(&name, &params, &Patch::Apply(object)).await;
    let mut after = after.map_err(|error| platform.api_error(&name, error))?;
    if let (Some(origin), Some(_)) = (origin, &before) {
        platform.record_origin(&name, origin).await?;
    }
    if preview::resumes(&after) {
        after = platform.suspend(&name, false).await?;
    }
    let outcome = match before {
        None => "created",
        Some(before) if is_same(&before, &after) => "unchanged",
        Some(_) => "configured",
    };
    Ok((after, outcome))
}

impl Platform {
    /// Suspends a workload, which keeps its data; or resumes it.
    pub(super) async fn suspend(&self, name: &str, suspend: bool) -> Result<Workload, CliError> {
        let annotations = if suspend { json!({annotation::SUSPEND: "true"}) } else { json!({}) };
        let object = json!({
            "apiVersion": orchestra_api::API_VERSION, "kind": "Workload",
            "metadata": {"name": name, "annotations": annotations},
        });
        let params = PatchParams::apply(annotation::SUSPEND_MANAGER).force();
        let patched = self.workloads().patch(name, &params, &Patch::Apply(object)).await;
        patched.map_err(|error| self.api_error(name, error))
    }
}

async fn apply(args: &Apply, platform: &Platform, loaded: Vec<LoadedWorkload>) -> Result<Exit, CliError> {
    let mut applied = Vec::new();
    for loaded in loaded {
        let (after, outcome) = apply_workload(platform, &loaded, args.force_conflicts).await?;
        let name = after.name_any();
        if args.output == Format::Human {
            written(writeln!(io::stdout().lock(), "workload {name} {outcome}"))?;
        }
        applied.push(after);
    }
    if args.wait {
        let names = applied.iter().map(ResourceExt::name_any).collect();
        let options = WaitOptions { names, goal: Goal::Ready, timeout: args.timeout, quiet: false };
        wait::wait(platform, options).await?;
    }
    match args.output {
        Format::Human => Ok(Exit::Success),
        format => show::objects(&applied, format),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_empty_map_of_annotations_is_no_change() {
        let before: Workload =
            serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": {}})).unwrap();
        let mut after = before.clone();
        after.metadata.annotations = Some(BTreeMap::new());
        assert!(is_same(&before, &after));
        after.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
        assert!(!is_same(&before, &after));
    }
}
