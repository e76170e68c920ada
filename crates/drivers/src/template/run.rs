//! Run of an entry for an instance: its inputs are gathered, then it is rendered inside the edit of its Secret, so that the used
//! values are the stored ones.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, ResourceExt as _};
use orchestra_api::{name, plan::Port};
use orchestra_core::{
    provision::{
        Instance,
        params::Params,
        template::{
            Extension, Record, Refusal, Rendered, Request, SavedState, TemplateError, render, setting,
        },
    },
    template::Entry,
};
use serde_json::{Map, Value as Json};

use super::{files::ProvisionerFiles, instance_secret, refused, unreadable_config_map};
use crate::{
    DriverError, DriverErrorKind, ProvisionContext,
    provision_context::{InstanceSecret, SecretData},
};

/// Config map with the environment of a namespace.
const ENVIRONMENT: &str = "environment";

/// Reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// Another resource has to be ready first; a sentence for users.
    #[error("{0}")]
    Pending(String),
    /// No provisioner file has the entry that the orchestrator config names.
    #[error("there is no entry `{0}` in any provisioner file")]
    NoEntry(String),
    /// The template is invalid; a message for the platform's administrators.
    #[error("{uri}: {source}")]
    InvalidTemplate {
        /// URI of the entry.
        uri: String,
        /// Reason.
        source: TemplateError,
    },
    /// It would generate new secrets: the caller has to check for existing data first.
    #[error("new secrets would be generated")]
    NewSecrets,
    /// Error of a request.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

impl RunError {
    fn of(uri: &str, refusal: Refusal) -> Self {
        match refusal {
            Refusal::Pending(message) => Self::Pending(message),
            Refusal::Refused(message) => Self::Driver(refused(message)),
            Refusal::Param(error) => Self::Driver(refused(error.to_string())),
            Refusal::InvalidTemplate(source) => Self::invalid(uri, source),
        }
    }

    fn invalid(uri: &str, source: impl Into<TemplateError>) -> Self {
        Self::InvalidTemplate { uri: uri.to_owned(), source: source.into() }
    }
}

/// Inputs of a run.
pub(super) struct Run<'a> {
    instance: &'a Instance,
    entry: Entry,
    extension: Extension,
    secret_name: String,
    environment: Map<String, Json>,
    /// Version of the environment, if there is one.
    environment_version: Option<String>,
    workloads: BTreeMap<String, BTreeMap<String, Port>>,
}

impl<'a> Run<'a> {
    /// Gathers the inputs.
    pub(super) async fn prepare(
        instance: &'a Instance,
        files: &ProvisionerFiles,
        client: &Client,
        ctx: &dyn ProvisionContext,
    ) -> Result<Self, RunError> {
        let uri = instance.entry.params.get(setting::TEMPLATE).and_then(Json::as_str);
        let private = || {
            let dependent = instance.dependents.first();
            dependent.map(|by| format!("{}.{}", by.workload, by.key)).unwrap_or_default()
        };
        let id = instance.shared_id.clone().unwrap_or_else(private);
        let entry = files.choose(uri, (&instance.type_, &instance.class, &id)).await?;
        let entry = entry.ok_or_else(|| match uri {
            Some(uri) => RunError::NoEntry(uri.to_owned()),
            None => RunError::Driver(refused(format!(
                "There is no template for `{}` of class `{}`: ask the platform's administrators for one.",
                instance.type_, instance.class
            ))),
        })?;
        if let Some(unsupported) = &entry.unsupported {
            return Err(RunError::invalid(&entry.uri, unsupported.clone()));
        }
        let extension = Extension::read(&entry.extension);
        let extension = extension.map_err(|error| RunError::invalid(&entry.uri, error))?;
        let environment =
            if extension.environment { environment(client, &instance.namespace).await? } else { None };
        let (environment, environment_version) = environment.unzip();
        let workloads = ctx.workload_names().into_iter();
        let workloads = workloads.filter_map(|name| ctx.workload_ports(&name).map(|ports| (name, ports)));
        Ok(Self {
            secret_name: name::secret(&instance.type_, &instance.id),
            environment: environment.unwrap_or_default(),
            environment_version,
            workloads: workloads.collect(),
            instance,
            entry,
            extension,
        })
    }

    /// Conditions by which kinds are ready.
    pub(super) fn conditions(&self) -> &BTreeMap<String, String> {
        &self.extension.ready
    }

    /// Versions of inputs that no watch covers.
    pub(super) fn versions(&self) -> BTreeMap<String, String> {
        self.environment_version.iter().map(|version| (ENVIRONMENT.to_owned(), version.clone())).collect()
    }

    fn attempt(&self, is: &SecretData, past: &SavedState) -> Result<(Rendered, SecretData), RunError> {
        let mut params = self.instance.entry.params.clone();
        params.extend(self.instance.params.clone());
        let params = Params { given: params, warning: None };
        let (generated, stored) = instance_secret::generated(&self.extension, &params, is)?;
        let request = Request {
            entry: &self.entry,
            extension: &self.extension,
            instance: self.instance,
            secret_name: &self.secret_name,
            generated: &generated,
            environment: &self.environment,
            workloads: &self.workloads,
        };
        let rendered = render(&request, past).map_err(|refusal| RunError::of(&self.entry.uri, refusal))?;
        let contents = instance_secret::after(&rendered, stored, is)?;
        Ok((rendered, contents))
    }

    /// Result of an entry that needs no Secret.
    pub(super) fn render_stateless(&self) -> Result<Option<Rendered>, RunError> {
        if self.extension.generates.is_some() || !self.entry.templates.manifests.is_empty() {
            return Ok(None);
        }
        let (rendered, _) = self.attempt(&SecretData::new(), &instance_secret::initial_state()?)?;
        let SavedState { state, shared, record, .. } = &rendered.saved;
        let is_plain = state.is_empty() && shared.is_empty() && record.random_values.is_empty();
        let has_nothing = rendered.objects.is_empty() && rendered.sealed.composed.is_empty();
        Ok((is_plain && has_nothing).then_some(rendered))
    }

    /// Renders the entry and stores its state. Generates new secrets only if `may_begin`.
    pub(super) async fn render_and_store(
        &self,
        ctx: &dyn ProvisionContext,
        may_begin: bool,
    ) -> Result<(InstanceSecret, Rendered), RunError> {
        let outcome: Mutex<Option<Result<Rendered, RunError>>> = Mutex::default();
        let note = |result| *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        let edit = |is: &SecretData| {
            let attempt = || {
                let earlier = instance_secret::past(is);
                let is_new = earlier.is_none();
                let past = earlier.map_or_else(instance_secret::initial_state, Ok)?;
                let (rendered, contents) = self.attempt(is, &past)?;
                let draws = !rendered.saved.record.random_values.is_empty();
                if is_new && draws && !may_begin {
                    Err(RunError::NewSecrets)
                } else {
                    Ok((rendered, contents))
                }
            };
            match attempt() {
                Ok((rendered, contents)) => {
                    note(Ok(rendered));
                    Ok(contents)
                }
                Err(error) => {
                    note(Err(error));
                    // Ends the edit; the noted error is returned instead.
                    Err(refused("It cannot be rendered.".to_owned()))
                }
            }
        };
        let stored = ctx.update_secret(&edit).await;
        match (outcome.into_inner().unwrap_or_else(PoisonError::into_inner), stored) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(RunError::Driver(error)),
            (Some(Ok(rendered)), Ok(secret)) => Ok((secret, rendered)),
            (None, Ok(_)) => Err(RunError::NewSecrets),
        }
    }
}

/// Record of an instance; empty if its Secret was deleted.
pub(super) async fn recorded(ctx: &dyn ProvisionContext) -> Result<Record, DriverError> {
    let found: Mutex<Option<Record>> = Mutex::default();
    // The Secret is only read, not created.
    let read = |is: &SecretData| {
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(instance_secret::record(is));
        if is.is_empty() { Err(refused("There is nothing.".to_owned())) } else { Ok(is.clone()) }
    };
    let stored = ctx.update_secret(&read).await;
    match stored {
        Err(error) if error.kind == DriverErrorKind::Transient => Err(error),
        Ok(_) | Err(_) => Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()),
    }
}

/// Environment of a namespace, and its version.
async fn environment(
    client: &Client,
    namespace: &str,
) -> Result<Option<(Map<String, Json>, String)>, DriverError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = api.get_opt(ENVIRONMENT).await;
    let found = found
        .map_err(|error| unreadable_config_map(ENVIRONMENT, "the environment of this namespace", error))?;
    Ok(found.map(|found| {
        let version = found.resource_version().unwrap_or_default();
        let values = found.data.into_iter().flatten().map(|(key, value)| (key, Json::String(value)));
        (values.collect(), version)
    }))
}
