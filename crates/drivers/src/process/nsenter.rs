//! Hidden command `orchestra __nsenter FOLDER PROGRAM ARGUMENTS…`: runs a program in the user and mount namespaces of a run.
//! For probes and stop commands.

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
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space, set_no_new_privs};

use super::{Launcher, Run, identity};

/// Words before a command that run it in the namespaces of a run, and end it with the platform. A run without namespaces of
/// its own has no folder.
pub(super) fn words(launcher: &Launcher, folder: Option<&Path>) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    vec![path(&launcher.program), "__nsenter".to_owned(), folder.map_or_else(|| "-".to_owned(), path)]
}

/// The body of the command. Returns only if the program could not be started.
pub(super) fn main(folder: &Path, mut command: impl Iterator<Item = OsString>) -> ExitCode {
    let mut start = || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if folder.as_os_str() == "-" {
            return Err(exec(&mut command)?);
        }
        let run = Run::read(folder)?.ok_or(io::ErrorKind::NotFound)?;
        let directory = std::env::current_dir()?;
        // While the shim is held, the process id of its program is not reused.
        let _held = identity::open_shim(&run)?.ok_or(io::ErrorKind::NotFound)?;
        let program = run.program.ok_or(io::ErrorKind::NotFound)?;
        let namespace = |name: &str| File::open(format!("/proc/{program}/ns/{name}"));
        let (user, mount) = (namespace("user")?, namespace("mnt")?);
        // A process cannot enter its own user namespace, and need not.
        let _ = move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User));
        move_into_link_name_space(mount.as_fd(), Some(LinkNameSpaceType::Mount))?;
        std::env::set_current_dir(directory)?;
        // Entering a namespace clears the signal.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Err(exec(&mut command)?)
    };
    // The caller sees the exit code only.
    let _ = start();
    ExitCode::FAILURE
}

/// Executes a program; returns only with the error.
fn exec(command: &mut dyn Iterator<Item = OsString>) -> io::Result<io::Error> {
    let name = command.next().ok_or(io::ErrorKind::InvalidInput)?;
    // As for the program of the run.
    set_no_new_privs(true)?;
    Ok(Command::new(name).args(command).exec())
}
