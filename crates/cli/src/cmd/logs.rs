//! `orchestra logs`

use std::io::{self, Write};

use futures_util::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _, stream::BoxStream};
use http::Method;
use http_body_util::BodyExt as _;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::platform::{Platform, with_platform};
use crate::{
    args::Logs,
    error::CliError,
    exit::{Exit, written},
    ui,
};

/// Log line of a container.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Line {
    pub(super) container: String,
    pub(super) time: Timestamp,
    pub(super) text: String,
}

/// Selection of log lines.
#[derive(Clone, Debug, Default)]
pub(super) struct LogOptions<'a> {
    pub(super) container: Option<&'a str>,
    pub(super) since: Option<Timestamp>,
    pub(super) tail: Option<usize>,
    pub(super) follow: bool,
}

pub(crate) fn run(args: &Logs) -> Result<Exit, CliError> {
    with_platform(&args.target, async |platform| {
        let workload = platform.workload(&args.name).await?;
        let containers = workload.spec.0.get("containers").and_then(|all| all.as_object());
        let is_one = args.container.is_some() || containers.is_none_or(|all| all.len() == 1);
        let ago = args.since.and_then(|ago| SignedDuration::try_from(ago).ok());
        let options = LogOptions {
            container: args.container.as_deref(),
            since: ago.and_then(|ago| Timestamp::now().checked_sub(ago).ok()),
            tail: args.tail,
            follow: args.follow,
        };
        let mut lines = platform.logs(&args.name, &options).await?;
        while let Some(line) = lines.next().await {
            let Line { container, time, text } = match line {
                Ok(line) => line,
                Err(error) => return Err(end_of_access(&platform, &args.name).await.unwrap_or(error)),
            };
            let from = if is_one { String::new() } else { format!("{container} | ") };
            let at = if args.timestamps { format!("{time:.3} ") } else { String::new() };
            written(writeln!(io::stdout().lock(), "{at}{from}{}", ui::printable(&text)))?;
        }
        let ended = if args.follow { end_of_access(&platform, &args.name).await } else { None };
        ended.map_or(Ok(Exit::Success), Err)
    })
}

/// Error if a stream has ended because the caller has no access any more.
async fn end_of_access(platform: &Platform, workload: &str) -> Option<CliError> {
    let error = platform.workload(workload).await.err()?;
    let is_access =
        matches!(error, CliError::Unauthorized(_) | CliError::Forbidden { .. } | CliError::User(_));
    is_access.then_some(error)
}

impl Platform {
    /// Log stream of a workload.
    pub(super) async fn logs(
        &self,
        workload: &str,
        options: &LogOptions<'_>,
    ) -> Result<BoxStream<'static, Result<Line, CliError>>, CliError> {
        let LogOptions { container, since, tail, follow } = options;
        let mut path = format!("logs?follow={follow}");
        for (name, value) in [
            ("container", container.map(ToOwned::to_owned)),
            ("since", since.map(|since| since.to_string())),
            ("tail", tail.map(|tail| tail.to_string())),
        ] {
            path.extend(value.map(|value| format!("&{name}={value}")));
        }
        let response = self.send(Method::GET, workload, &path, "application/json", Vec::new()).await?;
        let lines =
            response.into_body().into_data_stream().map_err(io::Error::other).into_async_read().lines();
        let parsed = lines.map(|line| {
            let parsed = line.and_then(|line| serde_json::from_str(&line).map_err(io::Error::from));
            parsed.map_err(CliError::LogStream)
        });
        Ok(parsed.boxed())
    }
}
