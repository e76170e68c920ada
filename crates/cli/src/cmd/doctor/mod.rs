//! `orchestra doctor`: checks of a cluster, with remedies.

mod checks;
mod permissions;

use orchestra_api::crd::MIN_KUBERNETES;
use serde::Serialize;
use serde_json::json;

use super::{
    platform::{self, Platform},
    print,
};
use crate::{
    args::{Doctor, Output},
    error::{CliError, root_cause},
    exit::Exit,
    ui,
};

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    name: &'static str,
    verdict: Verdict,
    message: String,
    /// Remedy of a warning or failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    /// Some workloads may need it.
    Warn,
    /// All workloads need it.
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

    /// The check failed.
    fn unknown(name: &'static str, error: &kube::Error) -> Self {
        let message = format!("check failed: {}", root_cause(error));
        Self::warn(name, message, "run it with the permissions of a cluster administrator")
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

pub(crate) fn run(args: &Doctor) -> Result<Exit, CliError> {
    platform::block_on(async {
        let mut cluster = Platform::cluster(&args.cluster).await?;
        if let Some(namespace) = &args.namespace {
            cluster.namespace.clone_from(namespace);
        }
        let version = version(&cluster).await?;
        let mut checks = vec![version_check(&version)];
        checks.extend(checks::all(&cluster).await);
        let is_healthy = checks.iter().all(|check| check.verdict != Verdict::Fail);
        print(&match args.output {
            Output::Json => format!("{:#}\n", json!({"healthy": is_healthy, "checks": checks})),
            Output::Human => ui::printable_lines(&checks.iter().map(Check::line).collect::<String>()),
        })?;
        Ok(if is_healthy { Exit::Success } else { Exit::Failure })
    })
}

/// Fails on a cluster whose version is too old.
pub(super) async fn require_version(cluster: &Platform) -> Result<(), CliError> {
    let found = version(cluster).await?;
    match parse_version(&found) {
        Some(version) if version < MIN_KUBERNETES => {
            Err(CliError::OldCluster { found, required: MIN_KUBERNETES })
        }
        _ => Ok(()),
    }
}

/// Version that the cluster reports.
async fn version(cluster: &Platform) -> Result<String, CliError> {
    let info = cluster.client.apiserver_version().await;
    info.map(|info| info.git_version).map_err(|error| match error {
        kube::Error::Api(status) if status.code != 404 => CliError::ClusterVersion(status),
        error => cluster.api_error("the version of the cluster", error),
    })
}

fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim_start_matches('v').split(['.', '-', '+']).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn version_check(version: &str) -> Check {
    let name = "version";
    match parse_version(version) {
        Some(found) if found >= MIN_KUBERNETES => Check::ok(name, format!("Kubernetes {version}")),
        Some(_) => {
            let (major, minor) = MIN_KUBERNETES;
            let message =
                format!("Kubernetes {version} is too old: the orchestrator requires {major}.{minor}");
            Check::fail(name, message, "upgrade the cluster")
        }
        None => Check::warn(
            name,
            format!("unknown version {version:?}"),
            "check that the kubeconfig leads to a Kubernetes cluster",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_distributions_are_parsed() {
        for (version, verdict) in [
            ("v1.36.4", Verdict::Ok),
            ("v1.34.0-eks-1234", Verdict::Ok),
            ("1.34+", Verdict::Ok),
            ("v1.33.9", Verdict::Fail),
            ("v1.4.0", Verdict::Fail),
            ("v2.0.0", Verdict::Ok),
            ("unknown", Verdict::Warn),
        ] {
            assert_eq!(version_check(version).verdict, verdict, "{version}");
        }
    }

    #[test]
    fn a_failed_check_shows_its_remedy() {
        let line = Check::fail("crds", "missing: workloads.score.dev", "run `orchestra install`").line();
        assert_eq!(
            line,
            "fail  crds               missing: workloads.score.dev\n                         run `orchestra install`\n"
        );
        assert_eq!(Check::ok("crds", "all installed").line(), "ok    crds               all installed\n");
    }
}
