//! `orchestra serve` as a process.

use crate::serve::client::Client;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running server; dropping it kills it.
pub(crate) struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
    /// First line of output.
    pub(crate) greeting: String,
    pub(crate) address: SocketAddr,
    data: PathBuf,
}

/// Command that serves a data folder.
pub(crate) fn serve(data: &Path, listen: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_orchestra"));
    command.args(["serve", "--listen", listen, "--data-dir"]).arg(data);
    command
}

impl Server {
    /// Starts a server on a free port, and waits for its greeting.
    pub(crate) fn start(data: &Path) -> Self {
        Self::run(serve(data, "127.0.0.1:0"), data)
    }

    /// Runs a command that serves.
    pub(crate) fn run(mut command: Command, data: &Path) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        output.read_line(&mut greeting).unwrap();
        let address = greeting.split("https://").nth(1).and_then(|rest| rest.split(';').next()?.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the server did not start: {greeting:?}"));
        Self { child, output, greeting, address, data: data.to_owned() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address, &self.data)
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM. Returns exit status, further output and duration.
    pub(crate) fn terminate(mut self) -> (ExitStatus, String, Duration) {
        let asked = Instant::now();
        Command::new("kill").arg(self.id().to_string()).status().unwrap();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest, asked.elapsed())
    }

    /// Resident memory, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
