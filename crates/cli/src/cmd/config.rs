//! `orchestra config check`, and config maps for other commands.

use std::path::Path;

use orchestra_api::{
    SYSTEM_NAMESPACE,
    config::{CONFIG_KEY, CONFIG_MAP},
};
use orchestra_core::config::{self, Fault};
use orchestra_score::pointer::readable;
use serde_json::{Value as Json, json};

use super::{input, print};
use crate::{
    args::{Config, Output},
    drivers,
    error::CliError,
    exit::Exit,
    ui,
};

pub(crate) fn run(args: &Config) -> Result<Exit, CliError> {
    let Config::Check { file, output } = args;
    check(file, *output)
}

/// Config map with an orchestrator config.
pub(super) fn config_map(config: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": SYSTEM_NAMESPACE}, "data": {CONFIG_KEY: config},
    })
}

fn check(file: &Path, output: Output) -> Result<Exit, CliError> {
    let name = input::name(file);
    let source = input::read(file).map_err(CliError::Input)?;
    // The faults of a config are the same on every kind of platform.
    let faults = config::check(&source.text).err().unwrap_or_default();
    let is_valid = faults.is_empty();
    let warnings = if is_valid { drivers::capabilities().missing(&source.text) } else { Vec::new() };
    let text = match output {
        Output::Json => {
            let answer = json!({"file": name, "valid": is_valid, "faults": faults, "warnings": warnings});
            format!("{answer:#}\n")
        }
        Output::Human => {
            let errors = faults.iter().map(|fault| lines(&name, "", fault));
            let warned = warnings.iter().map(|warning| lines(&name, "warning: ", warning));
            let count = match warnings.len() {
                0 => String::new(),
                1 => ", 1 warning".to_owned(),
                more => format!(", {more} warnings"),
            };
            let verdict = is_valid.then(|| format!("{name}: valid{count}\n"));
            let all: String = errors.chain(warned).chain(verdict).collect();
            ui::printable_lines(&all)
        }
    };
    print(&text)?;
    Ok(if is_valid { Exit::Success } else { Exit::Failure })
}

/// Fault or warning: message, location and hint.
fn lines(file: &str, kind: &str, fault: &Fault) -> String {
    let Fault { pointer, line, message, hint } = fault;
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let at = if pointer.is_empty() { "the document".to_owned() } else { readable(pointer) };
    format!("{file}{line}: {kind}{message}\n    at {at}\n    {hint}\n")
}
