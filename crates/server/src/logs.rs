//! What the containers of a Workload wrote, line by line: a JSON object for each, or text for people. Sent as it comes,
//! and for as long as somebody reads it where that is wished.

use axum::{
    body::{Body, Bytes},
    extract::{Query, State, rejection::QueryRejection},
    http::{Extensions, HeaderMap, header},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt as _;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use orchestra_api::{Workload, WorkloadPlan};
use orchestra_drivers::{LogLine, LogWish};
use serde::Deserialize;
use serde_json::json;

use crate::{
    Server,
    answer::{Code, Failure, Format},
    workload::{At, absent, admit},
};

/// The parameters that there are.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    container: Option<String>,
    since: Option<Timestamp>,
    tail: Option<usize>,
    #[serde(default)]
    follow: bool,
}

/// What the containers of a Workload wrote.
pub(crate) async fn logs(
    State(server): State<Server>,
    at: At,
    query: Result<Query<Parameters>, QueryRejection>,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let format = Format::of(&headers);
    let found = async {
        let (namespace, name) = admit(&server, at, &extensions, "get", "log").await?;
        let Query(parameters) = query.map_err(|_| {
            let message = "The parameters cannot be read; there are `container`, `since` (a time such as 2026-01-31T12:00:00Z), `tail` (a number) and `follow` (`true` or `false`).";
            Failure::new(Code::BadRequest, message)
        })?;
        find(&server, &namespace, &name, parameters).await
    };
    match found.await {
        Ok(lines) => {
            let kind = if format == Format::Json { "application/jsonl" } else { "text/plain; charset=utf-8" };
            ([(header::CONTENT_TYPE, kind)], body(lines, format)).into_response()
        }
        Err(failure) => failure.answer(format),
    }
}

type Lines = futures_util::stream::BoxStream<'static, std::io::Result<LogLine>>;

async fn find(server: &Server, namespace: &str, name: &str, wanted: Parameters) -> Result<Lines, Failure> {
    let workloads: Api<Workload> = Api::namespaced(server.client.clone(), namespace);
    let workload = workloads.get_opt(name).await?.ok_or_else(|| absent(namespace, name))?;
    let containers = workload.spec.0.get("containers").and_then(|all| all.as_object());
    if let (Some(container), Some(containers)) = (&wanted.container, containers)
        && !containers.contains_key(container)
    {
        let there: Vec<_> = containers.keys().map(|name| format!("`{name}`")).collect();
        let message = format!("There is no container `{container}`; there is {}.", there.join(", "));
        return Err(Failure::new(Code::BadRequest, message));
    }
    let plans: Api<WorkloadPlan> = Api::namespaced(server.client.clone(), namespace);
    let plan = plans.get_opt(name).await?;
    let runtime = plan.and_then(|plan| server.runtimes.get(&plan.spec.runtime_class).cloned());
    let Parameters { container, since, tail, follow } = wanted;
    let wish = LogWish { container, since, tail, follow };
    Ok(match runtime {
        Some(runtime) => runtime.logs(namespace, name, wish),
        // It does not run yet, or where it runs keeps its logs elsewhere.
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
