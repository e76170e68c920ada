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
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{Launcher, Run, identity};

/// What comes before a command, so that it is run there, and ends with the platform. Where a run sees what everyone sees,
/// there is no folder.
pub(super) fn words(launcher: &Launcher, folder: Option<&Path>) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    vec![path(&launcher.program), "__enter".to_owned(), folder.map_or_else(|| "-".to_owned(), path)]
}

/// The body of the command. Returns only if the program could not be started.
pub(super) fn main(folder: &Path, mut command: impl Iterator<Item = OsString>) -> ExitCode {
    let mut start = || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if folder.as_os_str() == "-" {
            return Err(turn_into(&mut command)?);
        }
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
        // Once more: entering a namespace takes it back.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Err(turn_into(&mut command)?)
    };
    // Only that it failed counts.
    let _ = start();
    ExitCode::FAILURE
}

/// Becomes a program, or says why not.
fn turn_into(command: &mut dyn Iterator<Item = OsString>) -> io::Result<io::Error> {
    let name = command.next().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(Command::new(name).args(command).exec())
}
