//! `orchestra validate`

use std::io::{self, Write};

use super::{documents::Verdict, summary};
use crate::{
    args::{Output, Validate},
    exit::{Exit, after_writing},
    ui,
};

pub(crate) fn run(args: &Validate) -> Exit {
    let verdicts = match args.documents.verdicts() {
        Ok(verdicts) => verdicts,
        Err(exit) => return exit,
    };
    let all_valid = verdicts.iter().all(|verdict| verdict.report.is_valid());
    let written = match args.output {
        Output::Json => ui::json::write(&mut io::stdout().lock(), &verdicts),
        Output::Human => write_human(&verdicts, args.explain),
    };
    after_writing(written, if all_valid { Exit::Yes } else { Exit::No })
}

fn write_human(verdicts: &[Verdict], explain: bool) -> io::Result<()> {
    let screen = ui::Screen::stdout();
    let mut out = io::stdout().lock();
    for verdict in verdicts {
        screen.findings(&mut out, verdict)?;
        if explain && let Some(workload) = &verdict.report.workload {
            writeln!(out, "{}", summary::summarise(workload))?;
        }
    }
    ui::Screen::summary(&mut out, verdicts)
}
