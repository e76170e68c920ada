//! The process between shim and program: the hidden command `orchestra __exec FOLDER SHIM`.
//!
//! Between a fork and an exec only unsafe code can act; a process of its own can do it safely. It makes itself die
//! with the shim, makes the program's view of the files, and becomes the program. It reads the order from standard
//! input and, if it cannot become the program, says why on the same socket, which closes when it does.

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
};

use crate::process::{MARKER, NotStarted, Order, mounts};

/// The body of the command. Returns only if the program could not be started.
pub fn main(folder: &Path, shim: Option<&OsStr>) -> ExitCode {
    let shim = shim.and_then(OsStr::to_str).and_then(|number| number.parse().ok());
    let failed = ExitCode::from(super::FAILED);
    let Ok(report) = fcntl_dupfd_cloexec(io::stdin(), 3) else { return failed };
    let why = match start(folder, shim) {
        Ok(never) => match never {},
        Err(why) => why,
    };
    let text = serde_json::to_vec(&why).unwrap_or_default();
    // Whoever asked may be gone.
    File::from(report).write_all(&text).ok();
    failed
}

/// What cannot be.
enum Never {}

fn start(folder: &Path, shim: Option<i32>) -> Result<Never, NotStarted> {
    die_with(shim).map_err(refused)?;
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text).map_err(refused)?;
    let order: Order = serde_json::from_slice(&text).map_err(refused)?;
    drop(text);
    let null = File::open("/dev/null").map_err(refused)?;
    rustix::stdio::dup2_stdin(&null).map_err(refused)?;
    for group in &order.groups {
        // Whoever writes this joins.
        fs::write(group, "0")
            .map_err(|error| NotStarted::Refused { why: format!("its limits could not be set: {error}") })?;
    }
    mounts::place(&order.files, &order.mounts, folder)?;
    env::set_current_dir(&order.directory)
        .map_err(|_| NotStarted::NoDirectory { directory: order.directory.clone() })?;
    // Once more: entering a namespace takes it back.
    die_with(shim).map_err(refused)?;
    let error = Command::new(&order.program)
        .args(&order.args)
        .env_clear()
        .envs(&order.environment)
        .env(MARKER, &order.run)
        .exec();
    Err(reason(order.program, error))
}

/// Ends this process, and what it becomes, when the shim ends. The shim may have ended before that was asked for.
fn die_with(shim: Option<i32>) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().map(|parent| parent.as_raw_nonzero().get()) == shim {
        Ok(())
    } else {
        Err(io::Error::other("its supervisor has ended"))
    }
}

fn reason(program: String, error: io::Error) -> NotStarted {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // The file is there: what is missing is the interpreter that it names.
        Some(Errno::NOENT) if program.contains('/') && Path::new(&program).exists() => {
            NotStarted::NotAProgram { program }
        }
        Some(Errno::NOENT | Errno::NOTDIR) => NotStarted::NotFound { program },
        Some(Errno::ACCESS | Errno::PERM) => NotStarted::NotExecutable { program },
        Some(Errno::NOEXEC) => NotStarted::NotAProgram { program },
        Some(Errno::TOOBIG) => NotStarted::Refused {
            why: "its variables and arguments are too long for this machine, so put long values into `files`"
                .to_owned(),
        },
        _ => refused(error),
    }
}

fn refused(error: impl Into<io::Error>) -> NotStarted {
    NotStarted::Refused { why: error.into().to_string() }
}
