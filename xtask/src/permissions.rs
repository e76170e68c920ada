//! Reference of the permissions of each role, generated from `deploy/rbac`, so that a review sees every change of them.

use std::{fmt::Write, fs, io};

use serde_json::Value;

use crate::root;

/// Folder of the roles.
const ROLES: &str = "deploy/rbac";

/// Error of reading a role.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PermissionsError {
    #[error("failed to read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("failed to parse {path}: {source}")]
    Parse { path: String, source: Box<serde_saphyr::Error> },
}

/// Markdown page with a table of rules for each role.
pub(crate) fn page() -> Result<String, PermissionsError> {
    let mut text = "# Permissions\n\n\
        Generated from `deploy/rbac` by `cargo xtask gen`; [RBAC](../spec/rbac.md) says what each role is for.\n"
        .to_owned();
    let folder = root().join(ROLES);
    let read = |source| PermissionsError::Read { path: ROLES.to_owned(), source };
    let mut files = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>())
        .map_err(read)?;
    files.sort();
    for file in files {
        let path = file.display().to_string();
        let content = fs::read_to_string(&file)
            .map_err(|source| PermissionsError::Read { path: path.clone(), source })?;
        let documents: Vec<Value> = serde_saphyr::from_multiple(&content)
            .map_err(|source| PermissionsError::Parse { path, source: Box::new(source) })?;
        for role in documents.iter().filter(|document| document["rules"].is_array()) {
            section(&mut text, role);
        }
    }
    Ok(text)
}

fn section(text: &mut String, role: &Value) {
    let metadata = &role["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let namespace = metadata["namespace"].as_str().map(|name| format!(", in `{name}`")).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n## {name}\n\n{}{namespace}\n\n| API group | resources | names | verbs |\n|---|---|---|---|\n",
        role["kind"].as_str().unwrap_or_default()
    );
    for rule in role["rules"].as_array().into_iter().flatten() {
        let list = |key: &str| {
            let values = rule[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            values.map(|value| if value.is_empty() { "core" } else { value }).collect::<Vec<_>>().join(", ")
        };
        let resources =
            if rule["nonResourceURLs"].is_array() { list("nonResourceURLs") } else { list("resources") };
        let _ = writeln!(
            text,
            "| {} | {resources} | {} | {} |",
            list("apiGroups"),
            list("resourceNames"),
            list("verbs")
        );
    }
}
