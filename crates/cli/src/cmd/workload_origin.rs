//! Origin of a Workload: the folder of its Score file, and the environment variables that it refers to. Runtimes of this
//! machine need both, and neither belongs into the object.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs, io,
    path::{Path, PathBuf},
};

use http::Method;
use orchestra_drivers::WorkloadOrigin;
use orchestra_score::{
    Workload,
    model::LOCAL_IMAGE,
    placeholder::{Reference, Token, tokens},
};
use orchestra_server::Code;
use serde_json::Value as Json;

use super::{input, platform::Platform};
use crate::error::CliError;

/// File with environment variables, beside the Score file.
pub(super) const ENV_FILE: &str = ".env";
/// Resource type of environment variables.
const ENVIRONMENT: &str = "environment";

/// Origin of a document; `None` if the document does not refer to it.
pub(super) fn of(document: &Workload, score_file: &Path) -> Result<Option<WorkloadOrigin>, CliError> {
    let names = variables(document);
    let runs_here = document.containers.values().any(|container| container.image == LOCAL_IMAGE);
    if !runs_here && names.is_empty() {
        return Ok(None);
    }
    let failed = |path: &Path, source| CliError::Read { path: path.to_owned(), source };
    let folder = folder_of(score_file).map_err(|error| failed(score_file, error))?;
    let file = folder.join(ENV_FILE);
    let mut environment = match input::read_text(&file) {
        Ok(text) => parse(&text).map_err(|source| CliError::EnvFile { path: file.clone(), source })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(failed(&file, error)),
    };
    for name in &names {
        if let Ok(value) = env::var(name) {
            environment.insert(name.clone(), value);
        }
    }
    environment.retain(|name, _| names.contains(name));
    Ok(Some(WorkloadOrigin { folder, path: env::var("PATH").ok(), environment, first_plan: None }))
}

/// Absolute folder of a Score file; the current one for standard input.
fn folder_of(score_file: &Path) -> io::Result<PathBuf> {
    let folder = score_file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::canonicalize(folder.unwrap_or(Path::new(".")))
}

/// Environment variables that a document refers to, through resources of type `environment`.
fn variables(document: &Workload) -> BTreeSet<String> {
    let resources = document.resources.iter().flatten();
    let environments: BTreeSet<&str> = resources
        .filter(|(_, resource)| resource.type_ == ENVIRONMENT)
        .map(|(key, _)| key.as_str())
        .collect();
    let mut found = BTreeSet::new();
    if !environments.is_empty() {
        visit(&serde_json::to_value(document).unwrap_or_default(), &environments, &mut found);
    }
    found
}

fn visit(value: &Json, environments: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    match value {
        Json::String(text) => found.extend(tokens(text).filter_map(|token| match token {
            Token::Reference(reference) => match Reference::parse(reference) {
                Ok(Reference::Resource { name, keys, .. }) if environments.contains(name.as_str()) => {
                    keys.first().cloned()
                }
                _ => None,
            },
            _ => None,
        })),
        Json::Array(list) => list.iter().for_each(|item| visit(item, environments, found)),
        Json::Object(map) => map.values().for_each(|item| visit(item, environments, found)),
        _ => {}
    }
}

/// First line of an environment file that is not a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: expected NAME=VALUE")]
pub(crate) struct EnvLineError {
    /// Number of the line, from 1.
    line: usize,
}

/// Variables of a file, without quotes around values.
fn parse(text: &str) -> Result<BTreeMap<String, String>, EnvLineError> {
    let mut all = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(EnvLineError { line: number + 1 })?;
        let value = value.trim();
        let unquoted = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
            .unwrap_or(value);
        all.insert(name.trim().to_owned(), unquoted.to_owned());
    }
    Ok(all)
}

impl Platform {
    /// Sends the origin of a workload to the platform. A platform without a runtime on this machine does not need it.
    pub(super) async fn record_origin(
        &self,
        workload: &str,
        origin: &WorkloadOrigin,
    ) -> Result<(), CliError> {
        self.send_origin(workload, "origin", origin).await
    }

    /// Checks the permission for that.
    pub(super) async fn check_origin(&self, workload: &str, origin: &WorkloadOrigin) -> Result<(), CliError> {
        self.send_origin(workload, "origin?dryRun=All", origin).await
    }

    async fn send_origin(&self, workload: &str, path: &str, origin: &WorkloadOrigin) -> Result<(), CliError> {
        let body = serde_json::to_vec(origin).map_err(|error| CliError::Encode(error.into()))?;
        match self.send(Method::PUT, workload, path, "application/json", body).await {
            Ok(_)
            | Err(
                CliError::NoServer(_)
                // A server with its own address belongs to a cluster.
                | CliError::ServerUnreachable { .. }
                | CliError::NoToken,
            ) => Ok(()),
            Err(error) if error.has_code(Code::NoOrigins) => Ok(()),
            Err(error) if error.has_code(Code::Forbidden) => Err(self.no_program_right(workload)),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use orchestra_score::{Document, Source};

    use super::*;

    #[test]
    fn env_files_may_have_comments_quotes_and_export() {
        let text = "# a comment\n\nA=1\nexport B = two words \nC=\"with # and =\"\nD=''\n";
        let all = parse(text).unwrap();
        let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(all, [("A", "1"), ("B", "two words"), ("C", "with # and ="), ("D", "")]);
        assert_eq!(parse("A=1\nnothing\n"), Err(EnvLineError { line: 2 }));
    }

    #[test]
    fn an_env_file_that_is_too_long_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let score_file = folder.path().join("score.yaml");
        fs::File::create(folder.path().join(ENV_FILE)).unwrap().set_len(1 << 40).unwrap();
        let text = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {app: {image: .}}\n";
        let document = Document::parse(Source::new("score.yaml", text)).check().workload.unwrap();
        let error = of(&document, &score_file).unwrap_err();
        assert!(
            matches!(error, CliError::Read { source, .. } if source.kind() == io::ErrorKind::FileTooLarge)
        );
    }

    #[tokio::test]
    async fn only_a_platform_that_needs_no_origins_may_refuse_one() {
        async fn recorded(status: u16, code: Option<Code>) -> Result<(), CliError> {
            let service = tower::service_fn(move |request: Request<Body>| async move {
                let is_origin = request.uri().path().ends_with("/workloads/web/origin");
                let response = Response::builder().status(if is_origin { status } else { 404 });
                let response = code.into_iter().fold(response, |response, code| {
                    response.header(orchestra_server::ERROR_CODE, code.name())
                });
                response.body(Body::from(
                    br#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404}"#.to_vec(),
                ))
            });
            let config = kube::Config::new("https://localhost".parse().unwrap());
            let platform = Platform::with_client(config, kube::Client::new(service, "default"));
            let origin = WorkloadOrigin { folder: "/".into(), ..WorkloadOrigin::default() };
            platform.record_origin("web", &origin).await
        }
        assert!(recorded(204, None).await.is_ok());
        assert!(recorded(404, Some(Code::NoOrigins)).await.is_ok());
        assert!(recorded(404, None).await.is_ok(), "no server");
        assert!(recorded(404, Some(Code::NoSuchPath)).await.is_err());
        let error = recorded(403, Some(Code::Forbidden)).await.unwrap_err().to_string();
        assert!(error.contains("`score-program-runner`") && error.contains("--trust-users"), "{error}");
    }

    #[test]
    fn only_variables_in_placeholders_are_taken() {
        let text = r#"
            apiVersion: score.dev/v1b1
            metadata: {name: web}
            containers:
              app: {image: nginx, variables: {KEY: "${resources.env.API_KEY}", HOST: "${resources.db.host}"}}
            resources: {env: {type: environment}, db: {type: postgres}}
        "#;
        let document = Document::parse(Source::new("score.yaml", text)).check().workload.unwrap();
        assert_eq!(variables(&document), ["API_KEY".to_owned()].into());
    }
}
