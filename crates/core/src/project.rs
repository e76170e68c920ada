//! Step five: the plan. Variables, files and volumes are expanded with the outputs of claims; secrets stay references.
//! There is a plan only if no value is missing.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use orchestra_api::{
    WorkloadRef, annotation,
    claim::Output,
    label, name,
    plan::{
        Claim, Container, ExposureTarget, File, FileContent, Header, HttpGet, Kind, Lifecycle, Port, Probe,
        Segment, Strategy, Volume, WorkloadPlanSpec,
    },
};
use orchestra_score::{
    expansion::{self, Content, FileError, Unexpanded},
    model,
    placeholder::{Segment as Piece, Token, to_text, tokens},
};
use serde_json::{Map, Value as Json};

use crate::{
    claim_state::is_provided,
    claims::referred_to,
    endpoint,
    outputs::{Gap, Outputs, Reference, text},
    place::Placed,
    policy::Effective,
    revision, runtimes,
};

/// Type of claims that publish an address of the Workload.
const ROUTE: &str = "route";
/// Output of a claim with the name of a volume.
const SOURCE: &str = "source";

/// Inputs of a plan.
#[derive(Debug)]
pub(crate) struct Projection<'a> {
    pub(crate) workload: WorkloadRef,
    pub(crate) namespace: &'a str,
    pub(crate) generation: i64,
    pub(crate) document: &'a model::Workload,
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) effective: &'a Effective,
    pub(crate) placed: &'a Placed,
    pub(crate) requirements: &'a BTreeSet<String>,
    /// Service or job.
    pub(crate) kind: Kind,
    /// Settings of the backend.
    pub(crate) values: Map<String, Json>,
    /// Names of the claims, by key.
    pub(crate) claims: &'a BTreeMap<String, String>,
    pub(crate) outputs: &'a Outputs<'a>,
}

impl Projection<'_> {
    /// Plan, or all missing values.
    pub(crate) fn project(&self) -> Result<WorkloadPlanSpec, Vec<Gap>> {
        let mut gaps = Vec::new();
        // Parameters are expanded in claims.
        let bare = model::Workload { resources: None, ..self.document.clone() };
        let mut expanded = match expansion::workload(self.outputs, &bare) {
            Ok(expanded) => expanded.containers,
            Err(errors) => {
                gaps.extend(errors.iter().flat_map(|error| self.gaps(error)));
                BTreeMap::new()
            }
        };
        let mut containers = BTreeMap::new();
        for (name, container) in &self.document.containers {
            let Some(expanded) = expanded.remove(name) else { continue };
            let volumes = self.volumes(name, container, expanded.volumes, &mut gaps);
            let files = files(container, expanded.files);
            let variables =
                expanded.variables.into_iter().map(|(name, segments)| (name, text(segments))).collect();
            containers.insert(name.clone(), self.container(name, container, variables, files, volumes));
        }
        if !gaps.is_empty() {
            gaps.sort();
            gaps.dedup();
            return Err(gaps);
        }
        let ports: BTreeMap<_, _> = ports(self.document);
        let exposures = endpoint::choose(&ports, self.routes());
        let mut spec = WorkloadPlanSpec {
            workload_ref: self.workload.clone(),
            observed_workload_generation: self.generation,
            revision: String::new(),
            runtime_class: self.placed.placement.runtime_class.clone(),
            backend_id: self.placed.placement.backend_id.clone(),
            profile: self.placed.profile.clone(),
            requirements: self.requirements.iter().cloned().collect(),
            region: self.effective.annotations.get(annotation::REGION).cloned(),
            kind: self.kind,
            lifecycle: self.lifecycle(&containers),
            containers,
            ports,
            exposures,
            claims: Vec::new(),
            labels: self.labels(),
            annotations: self.annotations(),
            values: self.values.clone(),
        };
        spec.claims = self.used(&spec);
        spec.revision = revision::of(&spec);
        Ok(spec)
    }

    /// Lifecycle: two revisions must not write to one volume at the same time.
    fn lifecycle(&self, containers: &BTreeMap<String, Container>) -> Lifecycle {
        let volumes = containers.values().flat_map(|container| container.volumes.values());
        let strategy =
            if volumes.into_iter().any(|v| !v.read_only) { Strategy::Recreate } else { Strategy::Rolling };
        let suspend = annotation::suspends(&self.effective.annotations);
        Lifecycle { strategy, suspend, ..Lifecycle::default() }
    }

    fn gaps(&self, unexpanded: &Unexpanded) -> Vec<Gap> {
        match &unexpanded.error {
            FileError::References(errors) => errors.iter().map(|error| self.outputs.gap(error)).collect(),
            FileError::NotBase64 => {
                vec![gap(format!("{} at {}.", unexpanded.error, unexpanded.pointer.readable()))]
            }
        }
    }

    fn container(
        &self,
        name: &str,
        given: &model::Container,
        variables: BTreeMap<String, Vec<Segment>>,
        files: BTreeMap<String, File>,
        volumes: BTreeMap<String, Volume>,
    ) -> Container {
        let compute = self.effective.compute.get(name).cloned().unwrap_or_default();
        Container {
            image: given.image.clone(),
            command: given.command.clone(),
            args: given.args.clone(),
            variables,
            files,
            volumes,
            before: given
                .before
                .iter()
                .flatten()
                .map(|(name, before)| (name.clone(), before.ready))
                .collect(),
            requests: compute.requests,
            limits: compute.limits,
            liveness_probe: given.liveness_probe.as_ref().map(probe),
            readiness_probe: given.readiness_probe.as_ref().map(probe),
        }
    }

    /// Volumes of a container. A volume comes from a claim, unless the backend accepts other sources.
    fn volumes(
        &self,
        container: &str,
        given: &model::Container,
        mut expanded: BTreeMap<String, Vec<Piece<Reference>>>,
        gaps: &mut Vec<Gap>,
    ) -> BTreeMap<String, Volume> {
        let accepts_sources = runtimes::allows_volume_sources(&self.values);
        let mut volumes = BTreeMap::new();
        for (path, volume) in given.volumes.iter().flatten() {
            let Some(pieces) = expanded.remove(path) else { continue };
            let (claim, source) = match pieces.as_slice() {
                [Piece::Reference(Reference::Claim(key))] => {
                    if !self.outputs.claim(key).is_some_and(is_provided) {
                        gaps.push(Gap {
                            resource: Some(key.clone()),
                            output: None,
                            awaited: true,
                            message: format!("Waiting for the volume `{key}`."),
                        });
                    }
                    (Some(key.clone()), self.source(key))
                }
                _ => (named_claim(&volume.source), text(pieces)),
            };
            if claim.is_none() && !accepts_sources {
                gaps.push(gap(format!(
                    "The volume at `{path}` of container `{container}` has the source `{}`, but volumes come from resources here: \
                     declare a resource of type `volume` and write `${{resources.NAME}}`.",
                    volume.source
                )));
            }
            volumes.insert(
                path.clone(),
                Volume {
                    claim,
                    source,
                    path: volume.path.clone(),
                    read_only: volume.read_only == Some(true),
                },
            );
        }
        volumes
    }

    /// Name of a volume in its outputs, if there is one.
    fn source(&self, key: &str) -> Vec<Segment> {
        let outputs =
            self.outputs.claim(key).and_then(|claim| claim.status.as_ref()).map(|status| &status.outputs);
        match outputs.and_then(|outputs| outputs.get(SOURCE)) {
            Some(Output::Value(value)) => vec![Segment::Literal(to_text(value))],
            Some(Output::SecretKeyRef(_)) | None => Vec::new(),
        }
    }

    fn routes(&self) -> impl Iterator<Item = &str> {
        let resources = self.document.resources.iter().flatten();
        resources.filter(|(_, resource)| resource.type_ == ROUTE).map(|(key, _)| key.as_str())
    }

    /// Labels for the objects of the runtime, without those that identify their owner.
    fn labels(&self) -> BTreeMap<String, String> {
        let all = self.labels.iter().filter(|(key, _)| !label::is_reserved(key));
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Annotations for the objects of the runtime, without those for the platform.
    fn annotations(&self) -> BTreeMap<String, String> {
        let all = self.effective.annotations.iter();
        all.filter(|(key, _)| !annotation::is_ours(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Claims that a plan refers to.
    fn used(&self, spec: &WorkloadPlanSpec) -> Vec<Claim> {
        let mut keys: BTreeMap<&str, bool> = BTreeMap::new();
        for container in spec.containers.values() {
            let files = container.files.values().filter_map(|file| match &file.content {
                FileContent::Text(text) => Some(text),
                FileContent::Binary(_) => None,
            });
            let volumes = container.volumes.values();
            for key in volumes.clone().filter_map(|volume| volume.claim.as_deref()) {
                // Another container may use a secret of the same claim.
                keys.entry(key).or_insert(false);
            }
            let texts = container.variables.values().chain(files).chain(volumes.map(|volume| &volume.source));
            for segment in texts.flatten() {
                if let Segment::ClaimOutput(output) = segment {
                    keys.insert(&output.claim, true);
                }
            }
        }
        for (key, _) in self.document.resources.iter().flatten() {
            if self.is_referred_to(key) {
                keys.entry(key).or_insert(false);
            }
        }
        for exposure in &spec.exposures {
            if let ExposureTarget::ClaimKey(key) = &exposure.target {
                keys.entry(key).or_insert(false);
            }
        }
        let claim = |(key, is_secret): (&str, bool)| {
            let resource = self.document.resources.as_ref()?.get(key)?;
            let status = self.outputs.claim(key).and_then(|claim| claim.status.as_ref());
            let class = self.effective.classes.get(key)?;
            let (id, workload) = (resource.id.as_deref(), &self.workload.name);
            Some(Claim {
                key: key.to_owned(),
                name: self.claims.get(key)?.clone(),
                type_: resource.type_.clone(),
                class: class.clone(),
                instance: Some(name::instance(self.namespace, &resource.type_, class, id, workload, key)),
                outputs_revision: status
                    .filter(|_| is_secret)
                    .and_then(|status| status.outputs_revision.clone()),
            })
        };
        keys.into_iter().filter_map(claim).collect()
    }

    /// True if a container refers to a resource, even if the plan only has its plain value.
    fn is_referred_to(&self, key: &str) -> bool {
        self.document.containers.values().any(|container| {
            let files = container.files.iter().flatten().filter_map(|(_, file)| match &file.content {
                model::FileContent::Content(text) if file.no_expand != Some(true) => Some(text.as_str()),
                _ => None,
            });
            let variables = container.variables.iter().flatten().map(|(_, value)| value.as_str());
            variables.chain(files).any(|text| referred_to(text).any(|named| named == key))
        })
    }
}

fn gap(message: String) -> Gap {
    Gap { resource: None, output: None, awaited: false, message }
}

/// Claim whose output is the source of a volume.
fn named_claim(source: &str) -> Option<String> {
    let is_one_reference = matches!(tokens(source).collect::<Vec<_>>().as_slice(), [Token::Reference(_)]);
    referred_to(source).next().filter(|_| is_one_reference)
}

fn files(given: &model::Container, expanded: BTreeMap<String, Content<Reference>>) -> BTreeMap<String, File> {
    let mode = |path: &str| given.files.as_ref()?.get(path)?.mode.clone();
    let files = expanded.into_iter().map(|(path, content)| {
        let content = match content {
            Content::Text(segments) => FileContent::Text(text(segments)),
            Content::Bytes(bytes) => FileContent::Binary(STANDARD.encode(bytes)),
            // Rejected by validation.
            Content::Source(_) => FileContent::Text(Vec::new()),
        };
        let mode = mode(&path);
        (path, File { mode, content })
    });
    files.collect()
}

fn ports(document: &model::Workload) -> BTreeMap<String, Port> {
    let ports = document.service.iter().flat_map(|service| service.ports.iter().flatten());
    let port = |given: &model::ServicePort| Port {
        port: given.port,
        target_port: given.target_port.unwrap_or(given.port),
        protocol: given.protocol.unwrap_or_default(),
    };
    ports.map(|(name, given)| (name.clone(), port(given))).collect()
}

fn probe(given: &model::Probe) -> Probe {
    Probe {
        http_get: given.http_get.as_ref().map(|get| HttpGet {
            host: get.host.clone(),
            scheme: get.scheme.unwrap_or_default(),
            path: get.path.clone(),
            port: get.port,
            headers: get
                .http_headers
                .iter()
                .flatten()
                .map(|header| Header { name: header.name.clone(), value: header.value.clone() })
                .collect(),
        }),
        exec: given.exec.as_ref().map(|exec| exec.command.clone()).unwrap_or_default(),
    }
}
