//! `orchestra config check`

use std::{
    io::{self, Write},
    path::Path,
};

use orchestra_core::config;
use serde_json::json;

use super::input;
use crate::{
    args::{Config, Output},
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
    let exit = if faults.is_empty() { Exit::Yes } else { Exit::No };
    let text = match output {
        Output::Json => {
            format!("{:#}\n", json!({"file": name, "valid": faults.is_empty(), "faults": faults}))
        }
        Output::Human if faults.is_empty() => format!("{name}: valid\n"),
        Output::Human => {
            let lines = faults.iter().map(|fault| {
                let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{name}{line}: {}\n    at {}\n    {}\n", fault.message, fault.pointer, fault.hint)
            });
            let all: String = lines.collect();
            ui::printable_lines(&all)
        }
    };
    after_writing(io::stdout().lock().write_all(text.as_bytes()), exit)
}
