//! One run of an entry for an instance: everything that it rests on is gathered, then it is rendered inside of the edit
//! that keeps it, so that what is used is what is stored.

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
        template::{Extension, Past, Record, Refusal, Rendered, Request, render, setting},
    },
    template::Entry,
};
use serde_json::{Map, Value as Json};

use super::{files::Files, kept, refused};
use crate::{
    DriverError, Neighbourhood,
    neighbourhood::{Contents, Kept},
};

/// The config map that holds the environment of a namespace.
const ENVIRONMENT: &str = "environment";

/// Why a run gives nothing.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something else has to be there first.
    Pending(String),
    /// The template is wrong; why, for those who wrote it.
    Wrong(String),
    /// It would begin anew, with secrets of its own: it has to be looked for data first.
    Beginning,
    /// Something else.
    Driver(DriverError),
}

impl From<DriverError> for Stop {
    fn from(error: DriverError) -> Self {
        Self::Driver(error)
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Pending(message) => Self::Pending(message),
            Refusal::Refused(message) => Self::Driver(refused(message)),
            Refusal::Wrong(why) => Self::Wrong(why),
        }
    }
}

/// A run, with everything that it rests on.
pub(super) struct Run<'a> {
    instance: &'a Instance,
    entry: Entry,
    extension: Extension,
    kept: String,
    environment: Map<String, Json>,
    /// The version of the environment, if there is one.
    environment_version: Option<String>,
    workloads: BTreeMap<String, BTreeMap<String, Port>>,
}

impl<'a> Run<'a> {
    /// Gathers everything.
    pub(super) async fn prepare(
        instance: &'a Instance,
        files: &Files,
        client: &Client,
        around: &dyn Neighbourhood,
    ) -> Result<Self, Stop> {
        let uri = instance.entry.params.get(setting::TEMPLATE).and_then(Json::as_str);
        let private = || {
            let dependent = instance.dependents.first();
            dependent.map(|by| format!("{}.{}", by.workload, by.key)).unwrap_or_default()
        };
        let id = instance.shared_id.clone().unwrap_or_else(private);
        let entry = files.choose(uri, (&instance.type_, &instance.class, &id)).await?;
        let entry = entry.ok_or_else(|| match uri {
            Some(uri) => Stop::Wrong(format!("there is no entry `{uri}` in any provisioner file")),
            None => Stop::Driver(refused(format!(
                "The platform has no template for `{}` of class `{}`: ask the platform team for one.",
                instance.type_, instance.class
            ))),
        })?;
        if let Some(why) = &entry.refused {
            return Err(Stop::Wrong(format!("{}: {why}", entry.uri)));
        }
        let extension = Extension::read(&entry.extension).map_err(Stop::Wrong)?;
        let environment =
            if extension.environment { environment(client, &instance.namespace).await? } else { None };
        let (environment, environment_version) = environment.unzip();
        let neighbours = around.neighbours().into_iter();
        let workloads = neighbours.filter_map(|name| around.neighbour(&name).map(|ports| (name, ports)));
        Ok(Self {
            kept: name::secret(&instance.type_, &instance.id),
            environment: environment.unwrap_or_default(),
            environment_version,
            workloads: workloads.collect(),
            instance,
            entry,
            extension,
        })
    }

    /// The conditions that say of kinds that they are there.
    pub(super) fn conditions(&self) -> &BTreeMap<String, String> {
        &self.extension.ready
    }

    /// The versions of what it rests on and nobody tells of.
    pub(super) fn versions(&self) -> BTreeMap<String, String> {
        self.environment_version.iter().map(|version| (ENVIRONMENT.to_owned(), version.clone())).collect()
    }

    fn attempt(&self, is: &Contents, past: &Past) -> Result<(Rendered, Contents), Stop> {
        let mut params = self.instance.entry.params.clone();
        params.extend(self.instance.params.clone());
        let params = Params { given: params, warning: None };
        let (generated, kept) = kept::generated(&self.extension, &params, is)?;
        let request = Request {
            entry: &self.entry,
            extension: &self.extension,
            instance: self.instance,
            kept: &self.kept,
            generated: &generated,
            environment: &self.environment,
            workloads: &self.workloads,
        };
        let rendered = render(&request, past).map_err(|refusal| match refusal {
            Refusal::Wrong(why) => Stop::Wrong(format!("{}: {why}", self.entry.uri)),
            other => other.into(),
        })?;
        let contents = kept::after(&rendered, kept, is)?;
        Ok((rendered, contents))
    }

    /// What it gives if nothing of it has to be kept.
    pub(super) fn alone(&self) -> Result<Option<Rendered>, Stop> {
        if self.extension.generates.is_some() || !self.entry.templates.manifests.is_empty() {
            return Ok(None);
        }
        let (rendered, _) = self.attempt(&Contents::new(), &kept::beginning()?)?;
        let Past { state, shared, record, .. } = &rendered.past;
        let is_plain = state.is_empty() && shared.is_empty() && record.drawn.is_empty();
        let has_nothing = rendered.objects.is_empty() && rendered.sealed.composed.is_empty();
        Ok((is_plain && has_nothing).then_some(rendered))
    }

    /// Renders it, and keeps what has to be kept. Begins with secrets of its own only where it may.
    pub(super) async fn keep(
        &self,
        around: &dyn Neighbourhood,
        may_begin: bool,
    ) -> Result<(Kept, Rendered), Stop> {
        let outcome: Mutex<Option<Result<Rendered, Stop>>> = Mutex::default();
        let note = |result| *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        let edit = |is: &Contents| {
            let attempt = || {
                let earlier = kept::past(is);
                let is_new = earlier.is_none();
                let past = earlier.map_or_else(kept::beginning, Ok)?;
                let (rendered, contents) = self.attempt(is, &past)?;
                let draws = !rendered.past.record.drawn.is_empty();
                if is_new && draws && !may_begin { Err(Stop::Beginning) } else { Ok((rendered, contents)) }
            };
            match attempt() {
                Ok((rendered, contents)) => {
                    note(Ok(rendered));
                    Ok(contents)
                }
                Err(stop) => {
                    note(Err(stop));
                    Err(refused("It cannot be rendered.".to_owned()))
                }
            }
        };
        let kept = around.keep(&edit).await;
        match (outcome.into_inner().unwrap_or_else(PoisonError::into_inner), kept) {
            (Some(Err(stop)), _) => Err(stop),
            (_, Err(error)) => Err(Stop::Driver(error)),
            (Some(Ok(rendered)), Ok(kept)) => Ok((kept, rendered)),
            (None, Ok(_)) => Err(Stop::Beginning),
        }
    }
}

/// What was noted of an instance; nothing if its Secret is gone.
pub(super) async fn recorded(around: &dyn Neighbourhood) -> Result<Record, DriverError> {
    let found: Mutex<Option<Record>> = Mutex::default();
    // The Secret is only read: where there is none, none is made.
    let read = |is: &Contents| {
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept::record(is));
        if is.is_empty() { Err(refused("There is nothing.".to_owned())) } else { Ok(is.clone()) }
    };
    let kept = around.keep(&read).await;
    match kept {
        Err(error @ DriverError::Transient { .. }) => Err(error),
        Ok(_) | Err(DriverError::Refused { .. }) => {
            Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default())
        }
    }
}

/// What a namespace has set for all its Workloads, and the version of it.
async fn environment(
    client: &Client,
    namespace: &str,
) -> Result<Option<(Map<String, Json>, String)>, DriverError> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = api.get_opt(ENVIRONMENT).await.map_err(|error| {
        tracing::warn!("the environment of a namespace cannot be read: {error}");
        DriverError::unreachable(
            "The environment of this namespace cannot be read at the moment; it is tried again.",
        )
    })?;
    Ok(found.map(|found| {
        let version = found.resource_version().unwrap_or_default();
        let values = found.data.into_iter().flatten().map(|(key, value)| (key, Json::String(value)));
        (values.collect(), version)
    }))
}
