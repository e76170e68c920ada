//! Into what only a run sees: the hidden command `orchestra __enter FOLDER PROGRAM ARGUMENTS…` runs a program beside that
//! of a run, with the same view of the files. For checks that are commands.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode},
};

use rustix::fd::AsFd as _;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{Launcher, Run, identity};

/// What comes before a command, so that it is run there.
pub(super) fn words(launcher: &Launcher, folder: &Path) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    vec![path(&launcher.program), "__enter".to_owned(), path(folder)]
}

/// The body of the command. Returns only if the program could not be started.
pub(super) fn main(folder: &Path, mut command: impl Iterator<Item = OsString>) -> ExitCode {
    let start = || -> io::Result<()> {
        let run = Run::read(folder)?.ok_or(io::ErrorKind::NotFound)?;
        let directory = std::env::current_dir()?;
        // The shim is held: while it lives, the number of its program is its own.
        let _held = identity::hold_shim(&run)?.ok_or(io::ErrorKind::NotFound)?;
        let program = run.program.ok_or(io::ErrorKind::NotFound)?;
        let namespace = |name: &str| File::open(format!("/proc/{program}/ns/{name}"));
        let (user, mount) = (namespace("user")?, namespace("mnt")?);
        // Whose own it is already cannot be entered, and need not be.
        let _ = move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User));
        move_into_link_name_space(mount.as_fd(), Some(LinkNameSpaceType::Mount))?;
        std::env::set_current_dir(directory)?;
        let name = command.next().ok_or(io::ErrorKind::InvalidInput)?;
        Err(Command::new(name).args(command).exec())
    };
    // Only that it failed counts.
    let _ = start();
    ExitCode::FAILURE
}
