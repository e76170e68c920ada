//! `orchestra config check`

use std::{
    io::{self, Write},
    path::Path,
};

use orchestra_core::config::{self, Fault};
use orchestra_score::pointer::readable;
use serde_json::json;

use super::input;
use crate::{
    args::{Config, Output},
    drivers,
    exit::{Exit, after_writing},
    ui,
};

pub(crate) fn run(args: &Config) -> Exit {
    let Config::Check { file, output } = args;
    check(file, *output)
}

fn check(file: &Path, output: Output) -> Exit {
    let name = input::name(file);
    let source = match input::read(file) {
        Ok(source) => source,
        Err(finding) => {
            ui::complain(&format!("{}; {}", finding.message, finding.hint));
            return Exit::No;
        }
    };
    let faults = config::check(&source.text).err().unwrap_or_default();
    let is_valid = faults.is_empty();
    let warnings = if is_valid { drivers::contained().missing(&source.text) } else { Vec::new() };
    let text = match output {
        Output::Json => {
            let answer = json!({"file": name, "valid": is_valid, "faults": faults, "warnings": warnings});
            format!("{answer:#}\n")
        }
        Output::Human => {
            let told = faults.iter().map(|fault| told(&name, "", fault));
            let warned = warnings.iter().map(|warning| self::told(&name, "warning: ", warning));
            let count = match warnings.len() {
                0 => String::new(),
                1 => ", 1 warning".to_owned(),
                more => format!(", {more} warnings"),
            };
            let verdict = is_valid.then(|| format!("{name}: valid{count}\n"));
            let all: String = told.chain(warned).chain(verdict).collect();
            ui::printable_lines(&all)
        }
    };
    let exit = if is_valid { Exit::Yes } else { Exit::No };
    after_writing(io::stdout().lock().write_all(text.as_bytes()), exit)
}

/// A fault or a warning on three lines.
fn told(file: &str, kind: &str, fault: &Fault) -> String {
    let Fault { pointer, line, message, hint } = fault;
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let at = if pointer.is_empty() { "the document".to_owned() } else { readable(pointer) };
    format!("{file}{line}: {kind}{message}\n    at {at}\n    {hint}\n")
}
