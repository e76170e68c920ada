//! Hidden command `orchestra __unprivileged PROGRAM ARGUMENTS…`, for programs that refuse to run as root: executes the program in
//! a user namespace that maps root to another user. Files keep their owner. Other users than root need no namespace.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Command, ExitCode},
};

use rustix::{
    process::{getegid, geteuid, getppid, parent_process_death_signal, set_parent_process_death_signal},
    thread::UnshareFlags,
};

use super::{Launcher, mounts};

/// Exit code: this machine does not allow user namespaces.
pub(super) const NOT_PERMITTED: u8 = 78;

/// Users that most machines have, the best first, and the id of nobody.
const OTHERS: [&str; 2] = ["postgres", "nobody"];
const NOBODY: (u32, u32) = (65534, 65534);

/// Words that run a program as another user than root.
pub(super) fn words(launcher: &Launcher, program: &Path) -> Vec<String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    if geteuid().is_root() {
        vec![path(&launcher.program), "__unprivileged".to_owned(), path(program)]
    } else {
        vec![path(program)]
    }
}

/// Body of the command. Returns only if the program could not be executed.
pub(super) fn main(mut command: impl Iterator<Item = OsString>) -> ExitCode {
    if leave_root().is_err() {
        return ExitCode::from(NOT_PERMITTED);
    }
    if let Some(program) = command.next() {
        // The caller sees the exit code only.
        let _ = Command::new(program).args(command).exec();
    }
    ExitCode::FAILURE
}

fn leave_root() -> io::Result<()> {
    let (user, group) = another(&fs::read_to_string("/etc/passwd").unwrap_or_default());
    let (our_user, our_group) = (geteuid().as_raw(), getegid().as_raw());
    let (death, parent) = (parent_process_death_signal()?, getppid());
    mounts::unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {our_user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {our_group} 1"))?;
    // Entering a namespace clears the signal, and the parent may have exited meanwhile.
    set_parent_process_death_signal(death)?;
    if death.is_some() && getppid() != parent {
        return Err(io::Error::other("its shim has exited"));
    }
    Ok(())
}

/// Ids of a user and its group that exist on this machine and are not root: programs look up their user.
fn another(passwd: &str) -> (u32, u32) {
    let number = |field: Option<&str>| field?.parse().ok().filter(|number| *number != 0);
    let id_of = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((number(fields.next())?, number(fields.next())?))
    };
    OTHERS.into_iter().find_map(id_of).unwrap_or(NOBODY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_user_other_than_root_is_chosen() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:99:98::/:/sbin/nologin\n";
        assert_eq!(another(passwd), (99, 98));
        assert_eq!(another(&format!("{passwd}postgres:x:104:107::/:/bin/sh\n")), (104, 107));
        assert_eq!(another("postgres:x:0:0::/:/bin/sh\n"), NOBODY);
    }
}
