//! `orchestra logs`: what a workload writes.

use std::io::{self, Write};

use futures_util::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _, stream::BoxStream};
use http::Method;
use http_body_util::BodyExt as _;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::platform::{Platform, Trouble, with_platform};
use crate::{
    args::Logs,
    exit::{Exit, after_writing},
    ui,
};

/// A line that a container wrote.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Line {
    pub(super) container: String,
    pub(super) time: Timestamp,
    pub(super) text: String,
}

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish<'a> {
    pub(super) container: Option<&'a str>,
    pub(super) since: Option<Timestamp>,
    pub(super) tail: Option<usize>,
    pub(super) follow: bool,
}

pub(crate) fn run(args: &Logs) -> Exit {
    with_platform(&args.target, async |platform| {
        let workload = platform.workload(&args.name).await?;
        let containers = workload.spec.0.get("containers").and_then(|all| all.as_object());
        let is_one = args.container.is_some() || containers.is_none_or(|all| all.len() == 1);
        let ago = args.since.and_then(|ago| SignedDuration::try_from(ago).ok());
        let wish = Wish {
            container: args.container.as_deref(),
            since: ago.and_then(|ago| Timestamp::now().checked_sub(ago).ok()),
            tail: args.tail,
            follow: args.follow,
        };
        let mut lines = platform.logs(&args.name, &wish).await?;
        while let Some(line) = lines.next().await {
            let Line { container, time, text } = line?;
            let from = if is_one { String::new() } else { format!("{container} | ") };
            let at = if args.timestamps { format!("{time:.3} ") } else { String::new() };
            let written = writeln!(io::stdout().lock(), "{at}{from}{}", ui::printable(&text));
            if after_writing(written, Exit::Yes) != Exit::Yes {
                return Ok(Exit::No);
            }
        }
        Ok(Exit::Yes)
    })
}

impl Platform {
    /// What a workload writes.
    pub(super) async fn logs(
        &self,
        workload: &str,
        wish: &Wish<'_>,
    ) -> Result<BoxStream<'static, Result<Line, Trouble>>, Trouble> {
        let Wish { container, since, tail, follow } = wish;
        let mut question = format!("logs?follow={follow}");
        for (name, value) in [
            ("container", container.map(ToOwned::to_owned)),
            ("since", since.map(|since| since.to_string())),
            ("tail", tail.map(|tail| tail.to_string())),
        ] {
            question.extend(value.map(|value| format!("&{name}={value}")));
        }
        let answer = self.send(Method::GET, workload, &question, "application/json", Vec::new()).await?;
        let status = answer.status();
        if !status.is_success() {
            let text = self.text(workload, answer).await?;
            return Err(self.no(workload, status, &text).await);
        }
        let lines = answer.into_body().into_data_stream().map_err(io::Error::other).into_async_read().lines();
        let broken = |error: &dyn std::fmt::Display| {
            Trouble::Unreachable(format!("what the workload writes can be read no longer: {error}"))
        };
        let parsed = lines.map(move |line| match line {
            Ok(line) => serde_json::from_str(&line).map_err(|error| broken(&error)),
            Err(error) => Err(broken(&error)),
        });
        Ok(parsed.boxed())
    }
}
