//! Preparation of a plan: commands, environments, files and mounts of its programs, with secrets resolved. The result lives
//! in memory only.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use orchestra_api::{
    condition::Reason,
    plan::{Container, FileContent, Segment, Text, Volume, WorkloadPlanSpec},
    reference::SecretKeyRef,
};

use super::{
    OriginStore,
    launch_spec::{Mount, PlacedFile},
    local_bindings::{self, LocalBinding},
};
use crate::{DriverError, Secrets, Target, WorkloadOrigin};

/// Default modes of files: of plain ones, and of those that contain secrets.
const MODE: u32 = 0o644;
const SECRET_MODE: u32 = 0o600;
/// Variables of the platform's own environment that every program inherits.
const INHERITED: [&str; 6] = ["HOME", "LANG", "LOGNAME", "TMPDIR", "TZ", "USER"];

/// A program, ready to be started.
#[derive(Clone, PartialEq)]
pub(super) struct PreparedProgram {
    pub(super) command: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<PlacedFile>,
    pub(super) mounts: Vec<Mount>,
}

/// Message without an origin of the version that is to run.
pub(super) const UNKNOWN_FOLDER: &str = "The folder of `image: .` is unknown on this machine: apply the file here with `orchestra up` or `orchestra apply`.";

/// Programs of a plan, by container.
pub(super) type PreparedPrograms = BTreeMap<String, PreparedProgram>;

/// Inputs of a preparation.
pub(super) struct Preparation<'a> {
    pub(super) data: &'a Path,
    pub(super) origins: &'a OriginStore,
    pub(super) target: &'a Target,
    pub(super) secrets: &'a dyn Secrets,
}

impl Preparation<'_> {
    /// Programs of a plan of the target.
    pub(super) async fn prepare(&self, plan: &WorkloadPlanSpec) -> Result<PreparedPrograms, DriverError> {
        let Target { namespace, name, .. } = self.target;
        let origin = self.origins.find(namespace, name).map_err(unreadable)?;
        let origin = origin.ok_or_else(|| DriverError::refused(Reason::PermissionDenied, UNKNOWN_FOLDER))?;
        let mut programs = PreparedPrograms::new();
        for (name, container) in &plan.containers {
            let prepared = self.container(plan, container, &origin).await?;
            programs.insert(name.clone(), prepared);
        }
        Ok(programs)
    }

    async fn container(
        &self,
        plan: &WorkloadPlanSpec,
        container: &Container,
        origin: &WorkloadOrigin,
    ) -> Result<PreparedProgram, DriverError> {
        let mut environment = base_environment(origin.path.as_deref());
        for (name, text) in &container.variables {
            let value = String::from_utf8(self.text(text).await?).map_err(|_| {
                DriverError::refused(
                    Reason::ProjectionError,
                    format!("The variable `{name}` refers to a secret that is not valid UTF-8."),
                )
            })?;
            environment.insert(name.clone(), value);
        }
        let mut files = Vec::new();
        for (target, file) in &container.files {
            let content = match &file.content {
                FileContent::Text(text) => self.text(text).await?,
                FileContent::Binary(text) => BASE64_STANDARD.decode(text).map_err(|_| {
                    DriverError::refused(
                        Reason::SpecInvalid,
                        format!("The content of the file `{target}` is not valid base64."),
                    )
                })?,
            };
            let usual = if is_secret(&file.content) { SECRET_MODE } else { MODE };
            let mode =
                file.mode.as_deref().and_then(|mode| u32::from_str_radix(mode, 8).ok()).unwrap_or(usual);
            files.push(PlacedFile { target: target.into(), content, mode });
        }
        let mut mounts = Vec::new();
        for (target, volume) in &container.volumes {
            self.volume(plan, target, volume, &mut files, &mut mounts).await?;
        }
        let command = container.command.iter().chain(&container.args).flatten().cloned().collect();
        Ok(PreparedProgram { command, environment, folder: origin.folder.clone(), files, mounts })
    }

    async fn volume(
        &self,
        plan: &WorkloadPlanSpec,
        target: &str,
        volume: &Volume,
        files: &mut Vec<PlacedFile>,
        mounts: &mut Vec<Mount>,
    ) -> Result<(), DriverError> {
        let key = volume.claim.as_deref().unwrap_or_default();
        let claim = plan.claims.iter().find(|claim| claim.key == key);
        let binding = match claim {
            Some(claim) => {
                local_bindings::find(self.data, &self.target.namespace, &claim.name).map_err(unreadable)?
            }
            None => None,
        };
        let inner = Path::new(volume.path.as_deref().unwrap_or_default().trim_start_matches('/'));
        if inner.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(DriverError::refused(
                Reason::ProjectionError,
                format!("The `path` of the volume at `{target}` leaves the volume: write one without `..`."),
            ));
        }
        match binding {
            Some(LocalBinding::Folder(source)) => {
                let source = source.join(inner);
                fs::create_dir_all(&source).map_err(unreadable)?;
                mounts.push(Mount { source, target: target.into(), read_only: volume.read_only });
                Ok(())
            }
            Some(LocalBinding::Secret { name, keys }) => {
                for key in keys {
                    let secret = SecretKeyRef { name: name.clone(), key: key.clone() };
                    let content = self.secret(&secret).await?;
                    files.push(PlacedFile { target: Path::new(target).join(key), content, mode: 0o400 });
                }
                Ok(())
            }
            Some(LocalBinding::Route(_)) | None => Err(DriverError::refused(
                Reason::ProjectionError,
                format!(
                    "The resource `{key}` cannot be mounted at `{target}`: on this machine only resources of type `volume` and `secret` can."
                ),
            )),
        }
    }

    async fn text(&self, text: &Text) -> Result<Vec<u8>, DriverError> {
        let mut whole = Vec::new();
        for segment in text {
            match segment {
                Segment::Literal(text) => whole.extend_from_slice(text.as_bytes()),
                Segment::ClaimOutput(output) => whole.extend(self.secret(&output.secret_key_ref).await?),
            }
        }
        Ok(whole)
    }

    async fn secret(&self, secret: &SecretKeyRef) -> Result<Vec<u8>, DriverError> {
        match self.secrets.read(secret).await? {
            Some(read) => Ok(read.value.expose().to_vec()),
            None => Err(DriverError::transient(
                Reason::ProjectionError,
                format!("The secret `{}` has no key `{}` yet.", secret.name, secret.key),
            )),
        }
    }
}

/// True if a file contains a secret.
fn is_secret(content: &FileContent) -> bool {
    let is_output = |segment: &Segment| matches!(segment, Segment::ClaimOutput(_));
    matches!(content, FileContent::Text(text) if text.iter().any(is_output))
}

fn unreadable(error: io::Error) -> DriverError {
    DriverError::transient(Reason::RuntimeDegraded, format!("The data folder cannot be read: {error}."))
        .with_source(error)
}

/// Environment of every program: inherited variables, and the `PATH` of the author with the folder of this program last.
fn base_environment(path: Option<&str>) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> =
        INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect();
    let own = env::current_exe().ok().and_then(|program| Some(program.parent()?.to_owned()));
    let path = path.map(OsString::from).or_else(|| env::var_os("PATH")).unwrap_or_default();
    let all = env::split_paths(&path).chain(own);
    if let Some(path) = env::join_paths(all).ok().and_then(|path| path.into_string().ok()) {
        found.insert("PATH".to_owned(), path);
    }
    found
}
