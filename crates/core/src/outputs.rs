//! Values of the placeholders of a Workload: its metadata, and the outputs of its claims.

use std::collections::BTreeMap;

use orchestra_api::{
    ResourceClaim,
    claim::{Output, Phase},
    plan::{ClaimOutput, Segment as PlanSegment},
};
use orchestra_score::{
    expansion::Scope,
    placeholder::{Reference as Placeholder, ReferenceError, Segment, to_text, walk},
};
use serde_json::Value as Json;

use crate::claim_state::{is_observed, is_provided};

/// Type of resources whose outputs are environment variables of the shell.
const ENVIRONMENT: &str = "environment";

/// Reference that stays in an expanded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// A secret output.
    Secret(ClaimOutput),
    /// A claim, as the source of a volume.
    Claim(String),
}

/// Outputs of the claims of one Workload, by key. A missing claim has none.
#[derive(Debug)]
pub(crate) struct Outputs<'a> {
    metadata: Json,
    claims: BTreeMap<&'a str, Option<&'a ResourceClaim>>,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(metadata: Json, claims: BTreeMap<&'a str, Option<&'a ResourceClaim>>) -> Self {
        Self { metadata, claims }
    }

    pub(crate) fn claim(&self, key: &str) -> Option<&'a ResourceClaim> {
        self.claims.get(key).copied().flatten()
    }

    /// Gap of a reference without a value.
    pub(crate) fn gap(&self, error: &ReferenceError) -> Gap {
        let (ReferenceError::KeyNotFound { reference, .. } | ReferenceError::NotAMap { reference, .. }) =
            error
        else {
            return Gap { resource: None, output: None, awaited: false, message: format!("{error}.") };
        };
        let Ok(Placeholder::Resource { name, keys }) = Placeholder::parse(reference) else {
            return Gap { resource: None, output: None, awaited: false, message: format!("{error}.") };
        };
        let output = keys.join(".");
        let claim = self.claim(&name);
        let message = match claim.and_then(|claim| claim.status.as_ref()) {
            Some(status) if claim.is_some_and(is_provided) => {
                let mut known = status.outputs.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>();
                if known.is_empty() {
                    known.push("none".to_owned());
                }
                if claim.is_some_and(|claim| claim.spec.type_ == ENVIRONMENT) {
                    let message = format!(
                        "The variable `{output}` is not set where the workload was applied: set it in the shell or in the file `.env`, and apply the workload again."
                    );
                    return Gap { resource: Some(name), output: Some(output), awaited: false, message };
                }
                format!(
                    "Resource `{name}` has no output `{output}`; its outputs are: {}. Correct the placeholder `${{{reference}}}`.",
                    known.join(", ")
                )
            }
            Some(status) if status.phase == Phase::Failed && claim.is_some_and(is_observed) => format!(
                "The output `{output}` of resource `{name}` is missing, because its provisioning failed."
            ),
            _ => format!("Waiting for the output `{output}` of resource `{name}`."),
        };
        let awaited = !claim.is_some_and(is_provided);
        Gap { resource: Some(name), output: Some(output), awaited, message }
    }
}

/// Missing value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// Resource of the output.
    pub resource: Option<String>,
    /// Output.
    pub output: Option<String>,
    /// True if it may still appear without a change of the document.
    pub awaited: bool,
    /// Sentence for users.
    pub message: String,
}

impl Scope for Outputs<'_> {
    type Kept = Reference;

    fn metadata(&self) -> &Json {
        &self.metadata
    }

    fn declares(&self, resource: &str) -> bool {
        self.claims.contains_key(resource)
    }

    fn output(
        &self,
        resource: &str,
        keys: &[String],
        placeholder: &str,
    ) -> Result<Segment<Reference>, ReferenceError> {
        let unknown = |key: &str| ReferenceError::KeyNotFound {
            reference: placeholder.to_owned(),
            key: key.to_owned(),
        };
        let Some((output, rest)) = keys.split_first() else { return Err(unknown("")) };
        let claim = self.claim(resource).filter(|claim| is_provided(claim)).ok_or_else(|| unknown(output))?;
        let outputs = claim.status.as_ref().map(|status| &status.outputs);
        match outputs.and_then(|outputs| outputs.get(output)) {
            Some(Output::Value(value)) => Ok(Segment::Literal(to_text(walk(value, rest, placeholder)?))),
            Some(Output::SecretKeyRef(secret)) if rest.is_empty() => {
                Ok(Segment::Reference(Reference::Secret(ClaimOutput {
                    claim: resource.to_owned(),
                    output: output.clone(),
                    secret_key_ref: secret.clone(),
                })))
            }
            Some(Output::SecretKeyRef(_)) => {
                Err(ReferenceError::NotAMap { reference: placeholder.to_owned(), key: rest.join(".") })
            }
            None => Err(unknown(output)),
        }
    }

    fn resource(&self, resource: &str) -> Segment<Reference> {
        Segment::Reference(Reference::Claim(resource.to_owned()))
    }
}

/// Segments of a plan. A claim has no text: only volumes refer to one, and they handle it first.
pub(crate) fn text(segments: Vec<Segment<Reference>>) -> Vec<PlanSegment> {
    let segments = segments.into_iter().map(|segment| match segment {
        Segment::Literal(text) => PlanSegment::Literal(text),
        Segment::Reference(Reference::Secret(output)) => PlanSegment::ClaimOutput(output),
        Segment::Reference(Reference::Claim(key)) => PlanSegment::Literal(key),
    });
    segments.collect()
}
