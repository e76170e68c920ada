//! `orchestra init`

use std::{
    fs::OpenOptions,
    io::{self, Write},
};

use crate::{args::Init, exit::Exit, ui};

/// The sample. A test validates it.
const SAMPLE: &str = include_str!("sample.score.yaml");

pub(crate) fn run(args: &Init) -> Exit {
    let file = args.file.display().to_string();
    let file = ui::printable(&file);
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
            ui::say(&format!("wrote {file}; check it with `orchestra validate --explain {file}`"));
            Exit::Yes
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            ui::complain(&format!("{file} exists; name another file, or overwrite it with --force"));
            Exit::No
        }
        Err(error) => {
            ui::complain(&format!("failed to write {file}: {error}"));
            Exit::No
        }
    }
}
