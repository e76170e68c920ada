//! Logs of a Workload, streamed line by line as JSON objects or as text, and followed until the client disconnects.

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
use orchestra_drivers::{LogLine, LogQuery};
use serde::Deserialize;
use serde_json::json;

use crate::{
    Server,
    error::Error,
    format::Format,
    workload::{At, admit, no_such_workload},
};

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
        let (namespace, name) = admit(&server, at, &extensions, "get", "log").await?;
        let Query(parameters) = query.map_err(|_| Error::InvalidQuery {
            query: raw_query.unwrap_or_default(),
            supported: "`container`, `since` (a time such as 2026-01-31T12:00:00Z), `tail` (a number) and `follow` (`true` or `false`) are supported",
        })?;
        open(&server, &namespace, &name, parameters).await
    };
    match opened.await {
        Ok(lines) => {
            let kind = if format == Format::Json { "application/jsonl" } else { "text/plain; charset=utf-8" };
            ([(header::CONTENT_TYPE, kind)], body(lines, format)).into_response()
        }
        Err(error) => error.respond(format),
    }
}

type Lines = futures_util::stream::BoxStream<'static, std::io::Result<LogLine>>;

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
    let plans: Api<WorkloadPlan> = Api::namespaced(server.client.clone(), namespace);
    let plan = plans.get_opt(name).await?;
    let runtime = plan.and_then(|plan| server.runtimes.get(&plan.spec.runtime_class).cloned());
    let Parameters { container, since, tail, follow } = query;
    Ok(match runtime {
        Some(runtime) => runtime.logs(namespace, name, LogQuery { container, since, tail, follow }),
        // Not running yet, or the logs of an external runtime are elsewhere.
        None => futures_util::stream::empty().boxed(),
    })
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
