//! Logs of a Workload, streamed line by line as JSON objects or as text, and followed until the client disconnects or
//! loses its access.

use std::{io, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{Query, RawQuery, State, rejection::QueryRejection},
    http::{Extensions, HeaderMap, header},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt as _;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use orchestra_api::{Workload, WorkloadPlan};
use orchestra_drivers::{LogLine, LogQuery, Runtime};
use orchestra_limits::Kind;
use serde::Deserialize;
use serde_json::json;

use crate::{
    Server,
    error::Error,
    format::Format,
    log_access::LogAccess,
    workload::{Admitted, At, admit, answer, no_such_workload},
};

/// First pause before a plan that does not exist yet is read again: most exist within milliseconds.
const FIRST_PLAN_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Longest pause: an invalid Workload has no plan until it is edited.
const MAX_PLAN_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Query parameters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    container: Option<String>,
    since: Option<Timestamp>,
    tail: Option<usize>,
    #[serde(default)]
    follow: bool,
}

/// Handler: logs of a Workload.
pub(crate) async fn logs(
    State(server): State<Server>,
    at: At,
    RawQuery(raw_query): RawQuery,
    query: Result<Query<Parameters>, QueryRejection>,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let format = Format::of(&headers);
    let opened = async {
        let Admitted { namespace, name, permit, revoked } =
            admit(&server, at, &extensions, Kind::Long, "get", "log").await?;
        let Query(parameters) = query.map_err(|_| Error::InvalidQuery {
            query: raw_query.unwrap_or_default(),
            supported: "`container`, `since` (a time such as 2026-01-31T12:00:00Z), `tail` (a number) and `follow` (`true` or `false`) are supported",
        })?;
        let access = LogAccess::of(&server, &extensions, &namespace, &name)?;
        let lines = open(&server, &namespace, &name, parameters).await?.take_until(revoked).boxed();
        Ok((access.limit(lines), permit))
    };
    match opened.await {
        Ok((lines, permit)) => {
            let kind = if format == Format::Json { "application/jsonl" } else { "text/plain; charset=utf-8" };
            let response = ([(header::CONTENT_TYPE, kind)], body(lines, format)).into_response();
            answer(permit.answer(response).await, format)
        }
        Err(error) => Error::respond(&error, format),
    }
}

type Lines = futures_util::stream::BoxStream<'static, io::Result<LogLine>>;

async fn open(server: &Server, namespace: &str, name: &str, query: Parameters) -> Result<Lines, Error> {
    let workloads: Api<Workload> = Api::namespaced(server.client.clone(), namespace);
    let workload = workloads.get_opt(name).await?.ok_or_else(|| no_such_workload(namespace, name))?;
    let containers = workload.spec.0.get("containers").and_then(|all| all.as_object());
    if let (Some(container), Some(containers)) = (&query.container, containers)
        && !containers.contains_key(container)
    {
        let names: Vec<_> = containers.keys().map(|name| format!("`{name}`")).collect();
        return Err(Error::NoSuchContainer { container: container.clone(), containers: names.join(", ") });
    }
    let Parameters { container, since, tail, follow } = query;
    let query = LogQuery { container, since, tail, follow };
    if let Some(runtime) = runtime(server, namespace, name).await? {
        return Ok(runtime.logs(namespace, name, query));
    }
    if !query.follow {
        return Ok(futures_util::stream::empty().boxed());
    }
    let (server, namespace, name) = (server.clone(), namespace.to_owned(), name.to_owned());
    let started = async move {
        let runtime = until_planned(&server, &workloads, &namespace, &name).await;
        let lines = runtime.map(|runtime| runtime.map(|runtime| runtime.logs(&namespace, &name, query)));
        match lines {
            Ok(lines) => lines.unwrap_or_else(|| futures_util::stream::empty().boxed()),
            Err(error) => futures_util::stream::iter([Err(io::Error::other(error))]).boxed(),
        }
    };
    Ok(futures_util::stream::once(started).flatten().boxed())
}

/// Runtime of a Workload; `None` if it has no plan yet.
async fn runtime(server: &Server, namespace: &str, name: &str) -> Result<Option<Arc<dyn Runtime>>, Error> {
    let plans: Api<WorkloadPlan> = Api::namespaced(server.client.clone(), namespace);
    let Some(plan) = plans.get_opt(name).await? else { return Ok(None) };
    let runtime_class = plan.spec.runtime_class;
    match server.runtimes.get(&runtime_class) {
        Some(runtime) => Ok(Some(Arc::clone(runtime))),
        None => Err(Error::ExternalRuntime { runtime_class }),
    }
}

/// Waits until a Workload has a plan. Returns its runtime; `None` if the Workload is deleted before.
async fn until_planned(
    server: &Server,
    workloads: &Api<Workload>,
    namespace: &str,
    name: &str,
) -> Result<Option<Arc<dyn Runtime>>, Error> {
    let mut delay = FIRST_PLAN_CHECK_INTERVAL;
    loop {
        tokio::time::sleep(delay).await;
        if let Some(runtime) = runtime(server, namespace, name).await? {
            return Ok(Some(runtime));
        }
        if workloads.get_opt(name).await?.is_none() {
            return Ok(None);
        }
        delay = (delay * 2).min(MAX_PLAN_CHECK_INTERVAL);
    }
}

fn body(lines: Lines, format: Format) -> Body {
    let written = lines.map(move |line| {
        line.map(|LogLine { container, time, text }| match format {
            Format::Json => {
                let line = json!({"container": container, "time": time, "text": text});
                Bytes::from(format!("{line}\n"))
            }
            Format::Text => Bytes::from(format!("{container} | {text}\n")),
        })
    });
    Body::from_stream(written)
}
