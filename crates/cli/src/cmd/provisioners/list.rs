//! List of provisioners, with their files.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use kube::Client;
use orchestra_api::config::Provisioner;
use orchestra_core::{
    config::{Config, PlatformKind, builtin as built_in},
    denial::Denial,
    provision::template::{builtin, setting},
    template::Entry,
};
use orchestra_drivers::template::files::{self, FileError};
use orchestra_server::config_in_force;
use serde_json::{Value as Json, json};

use super::super::{self as cmd, show};
use crate::{args::Format, error::CliError, exit::Exit, ui};

/// Custom provisioner files, by `map/key`.
#[derive(Default)]
pub(super) struct ProvisionerFiles {
    /// Entries of the valid files.
    pub(super) valid: BTreeMap<String, Vec<Entry>>,
    /// Texts of the valid files.
    pub(super) texts: BTreeMap<String, String>,
    /// Invalid files.
    pub(super) invalid: BTreeMap<String, FileError>,
}

impl ProvisionerFiles {
    pub(super) async fn read(client: &Client) -> Result<Self, CliError> {
        let maps = files::maps(client).await.map_err(|error| read_error("provisioner files", error))?;
        let mut found = Self::default();
        for (name, text) in maps.iter().flat_map(files::of) {
            match files::read(text) {
                Ok(entries) => {
                    found.texts.insert(name.clone(), text.to_owned());
                    found.valid.insert(name, entries);
                }
                Err(error) => {
                    found.invalid.insert(name, error);
                }
            }
        }
        Ok(found)
    }

    /// File and URI of the template for an entry of the orchestrator config.
    fn template_of(&self, entry: &Provisioner) -> (String, Option<String>) {
        let uri = entry.params.get(setting::TEMPLATE).and_then(Json::as_str);
        let wanted = (
            entry.type_.as_str(),
            entry.class.as_deref().unwrap_or("default"),
            entry.id.as_deref().unwrap_or_default(),
        );
        match builtin::find(&self.valid, uri, wanted) {
            Some((entry, file)) => (file.unwrap_or("built in").to_owned(), Some(entry.uri.clone())),
            None => ("file not found".to_owned(), uri.map(ToOwned::to_owned)),
        }
    }

    /// Text of the first valid file with an entry of this URI or type.
    pub(super) fn text_with(&self, name: &str) -> Option<&str> {
        let (file, _) = self.valid.iter().find(|(_, entries)| has_entry(entries, name))?;
        self.texts.get(file).map(String::as_str)
    }
}

/// True if a file has an entry of this URI or type.
pub(super) fn has_entry(entries: &[Entry], name: &str) -> bool {
    entries.iter().any(|entry| entry.uri == name || entry.type_ == name)
}

/// Orchestrator config in force.
pub(super) async fn config(client: &Client) -> Result<Arc<Config>, CliError> {
    // Provisioner entries are the same on every kind of platform.
    let found = config_in_force(client, PlatformKind::default()).await;
    found.map(|found| found.config).map_err(|error| read_error("orchestrator config", error))
}

fn read_error(what: &'static str, error: kube::Error) -> CliError {
    match error {
        kube::Error::Api(status) if Denial::of(&status) == Some(Denial::Permission) => {
            CliError::ReadSystemForbidden { what, status }
        }
        source => CliError::ReadSystem { what, source },
    }
}

/// Row of the list.
struct Row {
    type_: String,
    class: String,
    id: String,
    engine: String,
    runtimes: String,
    from: String,
    uri: Option<String>,
}

fn rows(config: &[Provisioner], files: &ProvisionerFiles) -> Vec<Row> {
    let row = |entry: &Provisioner, origin: &str| {
        let any = |word: &Option<String>| word.clone().unwrap_or_else(|| "*".to_owned());
        let (file, uri) = if built_in::uses_templates(&entry.engine) {
            files.template_of(entry)
        } else {
            (String::new(), None)
        };
        let from = match (origin, file.as_str()) {
            (origin, "") => origin.to_owned(),
            ("built in", file) => file.to_owned(),
            (origin, file) => format!("{origin}, {file}"),
        };
        Row {
            type_: entry.type_.clone(),
            class: any(&entry.class),
            id: any(&entry.id),
            engine: entry.engine.clone(),
            runtimes: if entry.runtime_classes.is_empty() {
                "*".to_owned()
            } else {
                entry.runtime_classes.join(",")
            },
            from,
            uri,
        }
    };
    let configured = config.iter().map(|entry| row(entry, "config"));
    configured.chain(built_in::all().iter().map(|entry| row(entry, "built in"))).collect()
}

pub(super) fn print(
    config: &[Provisioner],
    files: &ProvisionerFiles,
    format: Format,
) -> Result<Exit, CliError> {
    for (file, error) in &files.invalid {
        ui::print_status(&format!(
            "error: invalid provisioner file {file}: {error}; a running orchestrator keeps the last valid version"
        ));
    }
    let rows = rows(config, files);
    if format != Format::Human {
        let list: Vec<Json> = rows
            .iter()
            .map(|row| {
                json!({"type": row.type_, "class": row.class, "id": row.id, "engine": row.engine,
                    "runtimeClasses": row.runtimes, "from": row.from, "uri": row.uri})
            })
            .collect();
        let faults: Vec<Json> = files
            .invalid
            .iter()
            .map(|(file, error)| json!({"file": file, "fault": error.to_string()}))
            .collect();
        return show::value(&json!({"provisioners": list, "faults": faults}), format);
    }
    let mut table = vec![["TYPE", "CLASS", "ID", "RUNTIME", "ENGINE", "FROM"].map(ToOwned::to_owned)];
    table.extend(
        rows.into_iter().map(|row| [row.type_, row.class, row.id, row.runtimes, row.engine, row.from]),
    );
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in &table {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{:<width$}   ", ui::printable(cell));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    cmd::print(&text)
}
