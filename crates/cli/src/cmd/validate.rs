//! `orchestra validate`

use std::io::{self, Write};

use super::{documents::CheckedFile, summary};
use crate::{
    args::{Output, Validate},
    error::CliError,
    exit::{Exit, written},
    ui,
};

pub(crate) fn run(args: &Validate) -> Result<Exit, CliError> {
    if args.explain && args.output == Output::Json {
        return Err(CliError::ExplainJson);
    }
    let mut documents = args.documents.clone();
    if !args.file.is_empty() {
        documents.files.clone_from(&args.file);
    }
    let files = documents.check()?;
    let all_valid = files.iter().all(|file| file.report.is_valid());
    written(match args.output {
        Output::Json => ui::json::write(&mut io::stdout().lock(), &files),
        Output::Human => write_human(&files, args.explain),
    })?;
    Ok(if all_valid { Exit::Success } else { Exit::Failure })
}

fn write_human(files: &[CheckedFile], explain: bool) -> io::Result<()> {
    let screen = ui::Screen::stdout();
    let mut out = io::stdout().lock();
    for file in files {
        screen.findings(&mut out, file)?;
        if explain && let Some(workload) = &file.report.workload {
            writeln!(out, "{}", summary::summarise(workload))?;
        }
    }
    ui::Screen::summary(&mut out, files)
}
