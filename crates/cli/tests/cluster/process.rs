//! The program, as a process.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A command with a kubeconfig, and nothing of the user's own environment that could lead elsewhere.
fn command(kubeconfig: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orchestra"));
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    for name in ["ORCHESTRA_SERVER", "ORCHESTRA_TOKEN", "ORCHESTRA_DATA_DIR"] {
        command.env_remove(name);
    }
    command
}

/// The exit code of a command, and what it says on standard error.
pub(crate) fn said(kubeconfig: &Path, arguments: &[&str]) -> (i32, String) {
    let output = command(kubeconfig, arguments).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What a command answers; what it says if the answer is no.
pub(crate) fn orchestra(kubeconfig: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = command(kubeconfig, arguments).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A process that serves for a cluster.
pub(crate) struct Process {
    child: Child,
    pub(crate) url: String,
}

impl Process {
    pub(crate) fn serve(kubeconfig: &Path, identity: &str) -> Self {
        let arguments = ["serve", "--cluster", "--listen", "127.0.0.1:0", "--log", "info"];
        let mut command = command(kubeconfig, &arguments);
        let mut child = command.env("POD_NAME", identity).stdout(Stdio::piped()).spawn().unwrap();
        let mut greeting = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut greeting).unwrap();
        let (_, url) = greeting.trim().rsplit_once(' ').expect("it says where it serves");
        Self { child, url: url.trim_end_matches('.').to_owned() }
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn terminate(&mut self) {
        let id = i32::try_from(self.child.id()).unwrap();
        let process = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended is no trouble.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
