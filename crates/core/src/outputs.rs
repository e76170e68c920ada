//! What the placeholders of a Workload stand for: its metadata, and the outputs of its claims.

use std::collections::BTreeMap;

use orchestra_api::{
    ResourceClaim,
    claim::{Output, Phase},
    plan::{ClaimOutput, Segment as PlanSegment},
};
use orchestra_score::{
    expansion::Scope,
    placeholder::{Reference, ReferenceError, Segment, to_text, walk},
};
use serde_json::Value as Json;

/// The type of resources that stand for the variables of the shell.
const ENVIRONMENT: &str = "environment";

/// What a text keeps in place of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// A secret output.
    Secret(ClaimOutput),
    /// A claim itself, as the source of a volume.
    Claim(String),
}

/// The outputs of the claims of one Workload, by key. A claim that is not there yet has none.
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

    /// Why a reference has no value, and what will help.
    pub(crate) fn gap(&self, error: &ReferenceError) -> Gap {
        let (ReferenceError::KeyNotFound { reference, .. } | ReferenceError::NotAMap { reference, .. }) =
            error
        else {
            return Gap { resource: None, output: None, awaited: false, message: format!("{error}.") };
        };
        let Ok(Reference::Resource { name, keys }) = Reference::parse(reference) else {
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
                "The output `{output}` of resource `{name}` is not known, since the resource cannot be had: its line among the dependencies says why."
            ),
            _ => format!("Waiting for the output `{output}` of resource `{name}`."),
        };
        let awaited = !claim.is_some_and(is_provided);
        Gap { resource: Some(name), output: Some(output), awaited, message }
    }
}

/// A value that is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// The resource it is an output of.
    pub resource: Option<String>,
    /// The output.
    pub output: Option<String>,
    /// Whether it may still come by itself.
    pub awaited: bool,
    /// What is missing, in a sentence.
    pub message: String,
}

/// Whether a claim is bound as it is now asked for, with everything it will give.
pub(crate) fn is_provided(claim: &ResourceClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.phase == Phase::Bound && status.outputs_available)
        && is_observed(claim)
}

/// Whether a claim was bound once, also while it is being changed or cannot be reached.
pub(crate) fn was_bound(claim: &ResourceClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| {
        status.phase == Phase::Bound || status.outputs_revision.is_some() || !status.outputs.is_empty()
    })
}

/// Whether the status of a claim is about the claim as it is asked for now. A deletion counts as a generation, and asks
/// for nothing else.
pub(crate) fn is_observed(claim: &ResourceClaim) -> bool {
    let observed = claim.status.as_ref().and_then(|status| status.observed_generation);
    let deletion = i64::from(claim.metadata.deletion_timestamp.is_some());
    observed.is_none_or(|observed| {
        claim.metadata.generation.is_none_or(|generation| observed >= generation - deletion)
    })
}

impl Scope for Outputs<'_> {
    type Kept = Kept;

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
        written: &str,
    ) -> Result<Segment<Kept>, ReferenceError> {
        let unknown =
            |key: &str| ReferenceError::KeyNotFound { reference: written.to_owned(), key: key.to_owned() };
        let Some((output, rest)) = keys.split_first() else { return Err(unknown("")) };
        let claim = self.claim(resource).filter(|claim| is_provided(claim)).ok_or_else(|| unknown(output))?;
        let outputs = claim.status.as_ref().map(|status| &status.outputs);
        match outputs.and_then(|outputs| outputs.get(output)) {
            Some(Output::Value(value)) => Ok(Segment::Literal(to_text(walk(value, rest, written)?))),
            Some(Output::SecretKeyRef(secret)) if rest.is_empty() => {
                Ok(Segment::Reference(Kept::Secret(ClaimOutput {
                    claim: resource.to_owned(),
                    output: output.clone(),
                    secret_key_ref: secret.clone(),
                })))
            }
            Some(Output::SecretKeyRef(_)) => {
                Err(ReferenceError::NotAMap { reference: written.to_owned(), key: rest.join(".") })
            }
            None => Err(unknown(output)),
        }
    }

    fn resource(&self, resource: &str) -> Segment<Kept> {
        Segment::Reference(Kept::Claim(resource.to_owned()))
    }
}

/// A text as plans write it. A claim itself has no text: only volumes name one, and they look for it first.
pub(crate) fn text(segments: Vec<Segment<Kept>>) -> Vec<PlanSegment> {
    let segments = segments.into_iter().map(|segment| match segment {
        Segment::Literal(text) => PlanSegment::Literal(text),
        Segment::Reference(Kept::Secret(output)) => PlanSegment::ClaimOutput(output),
        Segment::Reference(Kept::Claim(key)) => PlanSegment::Literal(key),
    });
    segments.collect()
}
