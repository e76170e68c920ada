//! Commands and servers as processes.

use std::{
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

/// Command with a kubeconfig, without variables that lead to another platform.
fn command(kubeconfig: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orchestra"));
    command.args(arguments).env("KUBECONFIG", kubeconfig);
    for name in ["ORCHESTRA_SERVER", "ORCHESTRA_TOKEN", "ORCHESTRA_DATA_DIR"] {
        command.env_remove(name);
    }
    command
}

/// Exit code and standard error of a command.
pub(crate) fn stderr(kubeconfig: &Path, arguments: &[&str]) -> (i32, String) {
    let output = command(kubeconfig, arguments).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Standard output of a command, or standard error if it fails.
pub(crate) fn orchestra(kubeconfig: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = command(kubeconfig, arguments).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Running `orchestra serve --cluster`.
pub(crate) struct Process {
    child: Child,
    pub(crate) url: String,
}

impl Process {
    pub(crate) fn serve(kubeconfig: &Path, identity: &str) -> Self {
        let arguments = ["serve", "--cluster", "--listen", "127.0.0.1:0", "--log", "info"];
        let mut command = command(kubeconfig, &arguments);
        let mut child = command.env("POD_NAME", identity).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        stdout.read_line(&mut greeting).unwrap();
        let Some((_, url)) = greeting.trim().rsplit_once(' ') else {
            let _ = child.kill();
            panic!(
                "the server ended before its greeting: {}; it printed {greeting:?}",
                child.wait().unwrap()
            );
        };
        let url = url.trim_end_matches('.').to_owned();
        // A full pipe would block the server.
        thread::spawn(move || io::copy(&mut stdout, &mut io::sink()));
        Self { child, url }
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM, and waits for the end.
    pub(crate) fn terminate(&mut self) {
        let id = i32::try_from(self.child.id()).unwrap();
        let process = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
