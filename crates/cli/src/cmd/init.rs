//! `orchestra init`

use std::{
    fs::OpenOptions,
    io::{self, Write},
};

use crate::{args::Init, error::CliError, exit::Exit, ui};

/// Sample Score file. A test validates it.
const SAMPLE: &str = include_str!("sample.score.yaml");

pub(crate) fn run(args: &Init) -> Result<Exit, CliError> {
    let file = args.file.display().to_string();
    let file = ui::printable(&file).into_owned();
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(&args.file).and_then(|mut out| out.write_all(SAMPLE.as_bytes()));
    match written {
        Ok(()) => {
            ui::print_status(&format!("Wrote {file}; check it with `orchestra validate --explain {file}`."));
            Ok(Exit::Success)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(CliError::FileExists(file)),
        Err(source) => Err(CliError::Write { file, source }),
    }
}
