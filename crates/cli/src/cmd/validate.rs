//! `orchestra validate`

use std::{
    io::{self, Write},
    path::Path,
};

use orchestra_score::{Diagnostic, Document, Report, overrides};

use super::{explain, input};
use crate::{
    args::{Output, Validate},
    exit::{Exit, after_writing},
    ui,
};

pub(crate) fn run(args: &Validate) -> Exit {
    let overridden =
        args.overrides_file.is_some() || !args.override_property.is_empty() || args.image.is_some();
    if overridden && let Err(error) = overrides::applicable_to(args.files.len()) {
        ui::complain(&format!("--overrides-file, --override-property and --image: {error}"));
        return Exit::Usage;
    }
    if args.files.iter().chain(&args.overrides_file).filter(|path| path.as_os_str() == "-").count() > 1 {
        ui::complain("standard input can be read only once");
        return Exit::Usage;
    }
    let verdicts: Vec<_> = args.files.iter().map(|path| verdict(path, args)).collect();
    let all_valid = verdicts.iter().all(|verdict| verdict.report.is_valid());
    let written = match args.output {
        Output::Json => ui::json::write(&mut io::stdout().lock(), &verdicts),
        Output::Human => write_human(&verdicts, args.explain),
    };
    after_writing(written, if all_valid { Exit::Yes } else { Exit::No })
}

/// A file and what is to be said about it.
pub(crate) struct Verdict {
    pub(crate) file: String,
    pub(crate) report: Report,
}

fn verdict(path: &Path, args: &Validate) -> Verdict {
    let file = input::name(path);
    let report = match input::read(path) {
        Ok(source) => {
            let mut document = Document::parse(source);
            if let Some(path) = &args.overrides_file {
                match input::read(path) {
                    Ok(source) => document.merge(source),
                    Err(finding) => document.note(*finding),
                }
            }
            args.override_property.iter().for_each(|property| document.set_property(property));
            args.image.iter().for_each(|image| document.set_image(image));
            document.check()
        }
        Err(finding) => unreadable(*finding),
    };
    Verdict { file, report }
}

fn unreadable(finding: Diagnostic) -> Report {
    Report { sources: Vec::new(), diagnostics: vec![finding], spec_version: None, workload: None }
}

fn write_human(verdicts: &[Verdict], explain: bool) -> io::Result<()> {
    let screen = ui::Screen::stdout();
    let mut out = io::stdout().lock();
    for verdict in verdicts {
        screen.findings(&mut out, verdict)?;
        if explain && let Some(workload) = &verdict.report.workload {
            writeln!(out, "{}", explain::explain(workload))?;
        }
    }
    ui::Screen::summary(&mut out, verdicts)
}
