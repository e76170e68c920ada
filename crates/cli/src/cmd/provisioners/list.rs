//! Who provides what, and by which file.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use orchestra_api::{
    SYSTEM_NAMESPACE,
    config::{CONFIG_KEY, CONFIG_MAP, IN_FORCE_MAP, Provisioner},
};
use orchestra_core::{
    config::{
        self, Config,
        builtin::{self as built_in, TEMPLATE},
    },
    provision::template::{builtin, setting},
    template::Entry,
};
use orchestra_drivers::template::files;
use serde_json::{Value as Json, json};

use super::super::{platform::Trouble, show};
use crate::{
    args::Format,
    exit::{Exit, after_writing},
    ui,
};

/// The platform's own provisioner files, by `map/key`.
#[derive(Default)]
pub(super) struct Files {
    /// Those that can be used, with their texts.
    pub(super) good: BTreeMap<String, (Vec<Entry>, String)>,
    /// Those that cannot, and why.
    pub(super) bad: BTreeMap<String, String>,
}

impl Files {
    pub(super) async fn read(client: &Client) -> Result<Self, Trouble> {
        let maps = files::maps(client).await.map_err(|error| unreadable("provisioner files", &error))?;
        let mut found = Self::default();
        for (name, text) in maps.iter().flat_map(files::of) {
            match files::read(text) {
                Ok(entries) => {
                    found.good.insert(name, (entries, text.to_owned()));
                }
                Err(fault) => {
                    found.bad.insert(name, fault);
                }
            }
        }
        Ok(found)
    }

    /// The file and the URI that provide for an entry of the document.
    fn behind(&self, entry: &Provisioner) -> (String, Option<String>) {
        let uri = entry.params.get(setting::TEMPLATE).and_then(Json::as_str);
        let wanted = (
            entry.type_.as_str(),
            entry.class.as_deref().unwrap_or("default"),
            entry.id.as_deref().unwrap_or_default(),
        );
        let own = builtin::choose(self.good.values().flat_map(|(entries, _)| entries), uri, wanted);
        if let Some(own) = own {
            let file = self.good.iter().find(|(_, (entries, _))| entries.contains(own));
            return (file.map(|(name, _)| name.clone()).unwrap_or_default(), Some(own.uri.clone()));
        }
        match builtin::choose(builtin::entries().iter(), uri, wanted) {
            Some(entry) => ("built in".to_owned(), Some(entry.uri.clone())),
            None => ("no file has it".to_owned(), uri.map(ToOwned::to_owned)),
        }
    }
}

/// Whether a file has an entry of this URI, or for this type.
pub(super) fn is_meant(entries: &[Entry], name: &str) -> bool {
    entries.iter().any(|entry| entry.uri == name || entry.type_ == name)
}

/// The platform's document, as it is in force.
pub(super) async fn document(client: &Client) -> Result<Config, Trouble> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM_NAMESPACE);
    for name in [IN_FORCE_MAP, CONFIG_MAP] {
        let found = api.get_opt(name).await.map_err(|error| unreadable("document", &error))?;
        let text = found.and_then(|map| map.data?.remove(CONFIG_KEY));
        if let Some(config) = text.and_then(|text| config::check(&text).ok()) {
            return Ok(config);
        }
    }
    Ok(Config::builtin())
}

fn unreadable(what: &str, error: &kube::Error) -> Trouble {
    match error {
        kube::Error::Api(status) if status.code == 403 => Trouble::No(format!(
            "you may not read the platform's {what} in the namespace {SYSTEM_NAMESPACE}; ask the platform team, or use --builtin"
        )),
        error => Trouble::Unreachable(format!("the platform's {what} cannot be read: {error}")),
    }
}

/// A line of the list.
struct Line {
    type_: String,
    class: String,
    id: String,
    engine: String,
    runtimes: String,
    from: String,
    uri: Option<String>,
}

fn lines(document: &[Provisioner], files: &Files) -> Vec<Line> {
    let line = |entry: &Provisioner, said: &str| {
        let any = |word: &Option<String>| word.clone().unwrap_or_else(|| "*".to_owned());
        let is_template = entry.engine == TEMPLATE || entry.engine == built_in::BUILTIN;
        let (file, uri) = if is_template { files.behind(entry) } else { (String::new(), None) };
        let from = match (said, file.as_str()) {
            (said, "") => said.to_owned(),
            ("built in", file) => file.to_owned(),
            (said, file) => format!("{said}, {file}"),
        };
        Line {
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
    let said = document.iter().map(|entry| line(entry, "document"));
    said.chain(built_in::all().iter().map(|entry| line(entry, "built in"))).collect()
}

pub(super) fn print(document: &[Provisioner], files: &Files, format: Format) -> Exit {
    for (file, fault) in &files.bad {
        ui::complain(&format!("the file {file} cannot be used: {fault}"));
    }
    let lines = lines(document, files);
    if format != Format::Human {
        let list: Vec<Json> = lines
            .iter()
            .map(|line| {
                json!({"type": line.type_, "class": line.class, "id": line.id, "engine": line.engine,
                    "runtimeClasses": line.runtimes, "from": line.from, "uri": line.uri})
            })
            .collect();
        let faults: Vec<Json> =
            files.bad.iter().map(|(file, fault)| json!({"file": file, "fault": fault})).collect();
        return show::data(&json!({"provisioners": list, "faults": faults}), format);
    }
    let mut rows = vec![["TYPE", "CLASS", "ID", "RUNTIME", "ENGINE", "FROM"].map(ToOwned::to_owned)];
    rows.extend(
        lines
            .into_iter()
            .map(|line| [line.type_, line.class, line.id, line.runtimes, line.engine, line.from]),
    );
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{:<width$}   ", ui::printable(cell));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    after_writing(io::stdout().lock().write_all(text.as_bytes()), Exit::Yes)
}
