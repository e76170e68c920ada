//! Hidden command `orchestra __exec FOLDER SHIM`: the process between shim and program.
//!
//! Between fork and exec only unsafe code can act; a process of its own can do it safely. It ties itself to the life of the shim,
//! sets up the mount namespace, gives up the privileges of setuid programs (`no_new_privs`), and executes the program. It reads the launch specification from standard input and writes its
//! error to the same socket, which closes when the program is executed.

use std::{
    env,
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode},
};

use rustix::{
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Signal, getppid, set_parent_process_death_signal},
    thread::set_no_new_privs,
};

use crate::process::{LaunchSpec, MARKER, NotStarted, mounts};

/// Body of the command. Returns only if the program could not be executed.
pub fn main(folder: &Path, shim: Option<&OsStr>) -> ExitCode {
    let shim = shim.and_then(OsStr::to_str).and_then(|number| number.parse().ok());
    let failed = ExitCode::from(super::FAILED);
    let Ok(report) = fcntl_dupfd_cloexec(io::stdin(), 3) else { return failed };
    let why = match start(folder, shim) {
        Ok(never) => match never {},
        Err(why) => why,
    };
    let text = serde_json::to_vec(&why).unwrap_or_default();
    // The shim may have exited.
    File::from(report).write_all(&text).ok();
    failed
}

/// Type without values.
enum Never {}

fn start(folder: &Path, shim: Option<i32>) -> Result<Never, NotStarted> {
    die_with(shim).map_err(refused)?;
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text).map_err(refused)?;
    let spec: LaunchSpec = serde_json::from_slice(&text).map_err(refused)?;
    drop(text);
    let null = File::open("/dev/null").map_err(refused)?;
    rustix::stdio::dup2_stdin(&null).map_err(refused)?;
    for group in &spec.groups {
        // Writing 0 moves this process into the group.
        fs::write(group, "0")
            .map_err(|error| NotStarted::Refused { why: format!("its limits could not be set: {error}") })?;
    }
    mounts::place(&spec.files, &spec.mounts, folder)?;
    env::set_current_dir(&spec.directory).map_err(|error| no_directory(&spec.directory, &error))?;
    // Entering a namespace clears the signal.
    die_with(shim).map_err(refused)?;
    // After the mounts, which may need privileges: from here on, nothing gains any by executing a file.
    set_no_new_privs(true).map_err(refused)?;
    let error = Command::new(&spec.program)
        .args(&spec.args)
        .env_clear()
        .envs(&spec.environment)
        .env(MARKER, &spec.run)
        .exec();
    Err(reason(spec.program, error))
}

/// Kills this process when the shim exits. The shim may have exited before.
fn die_with(shim: Option<i32>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().map(|parent| parent.as_raw_nonzero().get()) == shim {
        Ok(())
    } else {
        Err(io::Error::other("its shim has exited"))
    }
}

fn no_directory(directory: &Path, error: &io::Error) -> NotStarted {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            NotStarted::NoDirectory { directory: directory.to_owned() }
        }
        _ => {
            let why = format!("the working directory `{}` cannot be entered: {error}", directory.display());
            NotStarted::Refused { why }
        }
    }
}

fn reason(program: String, error: io::Error) -> NotStarted {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // The file exists: its interpreter is missing.
        Some(Errno::NOENT) if program.contains('/') && Path::new(&program).exists() => {
            NotStarted::NotAProgram { program }
        }
        Some(Errno::NOENT | Errno::NOTDIR) => NotStarted::NotFound { program },
        Some(Errno::ACCESS | Errno::PERM) => NotStarted::NotExecutable { program },
        Some(Errno::NOEXEC) => NotStarted::NotAProgram { program },
        Some(Errno::TOOBIG) => {
            NotStarted::Refused { why: "argument list too long: put long values into `files`".to_owned() }
        }
        _ => refused(error),
    }
}

fn refused(error: impl Into<io::Error>) -> NotStarted {
    NotStarted::Refused { why: error.into().to_string() }
}
