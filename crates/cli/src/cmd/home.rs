//! Where Workloads come from: the folder of their Score file, and the variables of the shell that they ask for. What runs
//! on this machine has to know both, and neither belongs into the object.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs, io,
    path::{Path, PathBuf},
};

use http::{Method, StatusCode};
use orchestra_score::{
    Workload,
    placeholder::{Reference, Token, tokens},
};
use orchestra_server::Home;
use serde_json::Value as Json;

use super::platform::{Platform, Trouble};

/// The file with variables beside a Score file.
pub(super) const ENV_FILE: &str = ".env";
/// The type of resources that stand for the variables of the shell.
const ENVIRONMENT: &str = "environment";

/// Where a document comes from; nothing if it does not refer to that.
pub(super) fn of(document: &Workload, score_file: &Path) -> Result<Option<Home>, String> {
    let names = variables(document);
    let is_here = document.containers.values().any(|container| container.image == ".");
    if !is_here && names.is_empty() {
        return Ok(None);
    }
    let failed = |what: &Path, error: io::Error| format!("{}: {error}", what.display());
    let folder = folder_of(score_file).map_err(|error| failed(score_file, error))?;
    let file = folder.join(ENV_FILE);
    let mut environment = match fs::read_to_string(&file) {
        Ok(text) => read(&text)
            .map_err(|line| format!("{}: line {line} is not of the form NAME=VALUE", file.display()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
        Err(error) => return Err(failed(&file, error)),
    };
    for name in &names {
        if let Ok(value) = env::var(name) {
            environment.insert(name.clone(), value);
        }
    }
    environment.retain(|name, _| names.contains(name));
    Ok(Some(Home { folder, path: env::var("PATH").ok(), environment }))
}

/// The folder of a Score file, as an absolute path; that of the shell if the file is standard input.
fn folder_of(score_file: &Path) -> io::Result<PathBuf> {
    let folder = score_file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::canonicalize(folder.unwrap_or(Path::new(".")))
}

/// The variables that a document asks for, through its resources of type `environment`.
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

/// The variables of a file, or the number of a line that is none. Quotes around a value do not belong to it.
fn read(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let mut all = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number + 1)?;
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
    /// Tells the platform where a workload comes from. One that runs nothing on this machine need not know.
    pub(super) async fn note(&self, workload: &str, home: &Home) -> Result<(), Trouble> {
        let body = serde_json::to_vec(home).map_err(|error| Trouble::No(format!("{workload}: {error}")))?;
        let answer = self.send(Method::PUT, workload, "home", "application/json", body).await?;
        match answer.status() {
            StatusCode::NOT_FOUND | StatusCode::FORBIDDEN => Ok(()),
            status if status.is_success() => Ok(()),
            status => {
                let text = self.text(workload, answer).await?;
                Err(self.no(workload, status, &text).await)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use orchestra_score::{Document, Source};

    use super::*;

    #[test]
    fn variables_are_read_as_people_write_them() {
        let text = "# a comment\n\nA=1\nexport B = two words \nC=\"with # and =\"\nD=''\n";
        let all = read(text).unwrap();
        let all: Vec<_> = all.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(all, [("A", "1"), ("B", "two words"), ("C", "with # and ="), ("D", "")]);
        assert_eq!(read("A=1\nnothing\n"), Err(2));
    }

    #[test]
    fn a_document_asks_only_for_what_it_refers_to() {
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
