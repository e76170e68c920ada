//! `orchestra doctor`: looks at a cluster, and says what is missing and what to do about it.

mod checks;
mod rights;

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::json;

use super::platform::{self, Platform, Trouble};
use crate::{
    args::{Doctor, Output},
    exit::{Exit, after_writing},
    ui,
};

/// The oldest version of Kubernetes whose API understands the definitions of the kinds.
const OLDEST: (u32, u32) = (1, 34);

/// What was found at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// What was looked at.
    name: &'static str,
    verdict: Verdict,
    /// What was found.
    message: String,
    /// What to do; nothing if all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// How it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// Some workloads may miss it.
    Warn,
    /// It is missing.
    Fail,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, message: message.into(), remedy: None }
    }

    fn warn(name: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Warn, message: message.into(), remedy: Some(remedy.into()) }
    }

    fn fail(name: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Fail, message: message.into(), remedy: Some(remedy.into()) }
    }

    /// It could not be looked at.
    fn unknown(name: &'static str, error: &kube::Error) -> Self {
        let why = match error {
            kube::Error::Api(status) => status.message.clone(),
            error => platform::root_cause(error),
        };
        Self::warn(name, format!("it cannot be told: {why}"), "ask somebody who may look")
    }

    fn line(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        };
        let remedy = self.remedy.as_ref().map(|remedy| format!("\n                         {remedy}"));
        format!("{verdict:<4}  {:<18} {}{}\n", self.name, self.message, remedy.unwrap_or_default())
    }
}

/// Runs the command.
pub(crate) fn run(args: &Doctor) -> Exit {
    platform::run(async {
        let mut cluster = Platform::cluster(&args.cluster).await?;
        if let Some(namespace) = &args.namespace {
            cluster.namespace.clone_from(namespace);
        }
        let version = version(&cluster).await?;
        let mut found = vec![judged(&version)];
        found.extend(checks::all(&cluster).await);
        let is_well = found.iter().all(|check| check.verdict != Verdict::Fail);
        let text = match args.output {
            Output::Json => format!("{:#}\n", json!({"healthy": is_well, "checks": found})),
            Output::Human => ui::printable_lines(&found.iter().map(Check::line).collect::<String>()),
        };
        let exit = if is_well { Exit::Yes } else { Exit::No };
        Ok(after_writing(io::stdout().lock().write_all(text.as_bytes()), exit))
    })
}

/// Refuses a cluster whose API does not understand the definitions of the kinds.
pub(super) async fn check_version(cluster: &Platform) -> Result<(), Trouble> {
    let found = judged(&version(cluster).await?);
    match (found.verdict, found.remedy) {
        (Verdict::Fail, Some(remedy)) => Err(Trouble::No(format!("{}; {remedy}", found.message))),
        _ => Ok(()),
    }
}

/// The version of the cluster, as it says it.
async fn version(cluster: &Platform) -> Result<String, Trouble> {
    let info = cluster.client.apiserver_version().await;
    info.map(|info| info.git_version).map_err(|error| match error {
        kube::Error::Api(status) if status.code != 404 => {
            Trouble::No(format!("the cluster does not say its version: {}", status.message))
        }
        error => cluster.trouble("the version of the cluster", error),
    })
}

fn judged(version: &str) -> Check {
    let name = "version";
    let mut numbers =
        version.trim_start_matches('v').split(['.', '-', '+']).map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST => {
            Check::ok(name, format!("Kubernetes {version}"))
        }
        (Some(_), Some(_)) => Check::fail(
            name,
            format!(
                "the cluster has Kubernetes {version}, and the orchestrator needs {}.{}",
                OLDEST.0, OLDEST.1
            ),
            "bring the cluster up to date",
        ),
        _ => Check::warn(
            name,
            format!("the cluster says {version:?} of its version"),
            "look whether it is a cluster",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_judged_as_clusters_write_them() {
        for (version, verdict) in [
            ("v1.36.4", Verdict::Ok),
            ("v1.34.0-eks-1234", Verdict::Ok),
            ("1.34+", Verdict::Ok),
            ("v1.33.9", Verdict::Fail),
            ("v1.4.0", Verdict::Fail),
            ("v2.0.0", Verdict::Ok),
            ("unknown", Verdict::Warn),
        ] {
            assert_eq!(judged(version).verdict, verdict, "{version}");
        }
    }

    #[test]
    fn whatever_is_wrong_comes_with_what_to_do() {
        let line = Check::fail("kinds", "there are none", "run `orchestra install`").line();
        assert_eq!(
            line,
            "fail  kinds              there are none\n                         run `orchestra install`\n"
        );
        assert_eq!(Check::ok("kinds", "all there").line(), "ok    kinds              all there\n");
    }
}
