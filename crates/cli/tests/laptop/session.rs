//! Test fixture: a temporary folder with Score files and the data of a platform.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Timeout of expected events: generous, for loaded machines.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Output of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A machine with its own data folder. Dropping it stops everything.
pub(crate) struct Laptop {
    folder: tempfile::TempDir,
}

impl Drop for Laptop {
    fn drop(&mut self) {
        let down = self.command(&["down", "--rm"]).output().unwrap();
        if !thread::panicking() {
            assert!(down.status.success(), "{down:?}");
            let is_empty = eventually(|| self.processes().is_empty().then_some(())).is_some();
            assert!(is_empty, "left behind: {:#?}", self.processes());
        }
        for process in self.processes() {
            let id = process.split(' ').next().unwrap();
            let _ = Command::new("kill").args(["-9", id]).status();
        }
    }
}

impl Laptop {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_orchestra"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("ORCHESTRA_DATA_DIR", self.data())
            .env("HOME", self.folder.path())
            .env_remove("KUBECONFIG");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        let output = self.command(args).output().unwrap();
        CommandOutput {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that must succeed.
    pub(crate) fn must(&self, args: &[&str]) -> CommandOutput {
        let output = self.run(args);
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        output
    }

    /// Starts `orchestra up`.
    pub(crate) fn up(&self, args: &[&str]) -> Up {
        Up::follow(&mut self.command(args))
    }

    /// Waits until the description of a workload contains a text, and returns it.
    pub(crate) fn until(&self, workload: &str, text: &str) -> String {
        let mut last = String::new();
        eventually(|| {
            last = self.run(&["describe", workload]).out;
            last.contains(text).then(|| last.clone())
        })
        .unwrap_or_else(|| panic!("timed out waiting for {text:?}:\n{last}\n{}", self.serve_log()))
    }

    /// Log of the background platform.
    pub(crate) fn serve_log(&self) -> String {
        fs::read_to_string(self.data().join("serve.log")).unwrap_or_default()
    }

    /// Processes with the folder in their command line or as their working directory.
    pub(crate) fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            if !name.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ").trim().to_owned();
            let is_here = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
            if !command.is_empty() && (command.contains(folder) || is_here) {
                found.push(format!("{name} {command}"));
            }
        }
        found
    }

    /// Process id of the platform.
    pub(crate) fn platform(&self) -> Option<String> {
        let all = self.processes();
        let platform = all.iter().find(|process| process.contains(" serve --background"))?;
        platform.split(' ').next().map(ToOwned::to_owned)
    }

    /// Kills the platform with SIGKILL.
    pub(crate) fn kill_platform(&self) {
        let id = self.platform().expect("a platform");
        assert!(Command::new("kill").args(["-9", &id]).status().unwrap().success());
        eventually(|| (self.platform() != Some(id.clone())).then_some(())).expect("the platform to be gone");
    }
}

/// Running `orchestra up`.
pub(crate) struct Up {
    child: Child,
    lines: mpsc::Receiver<String>,
    seen: Vec<String>,
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Up {
    /// Starts a command and collects its output.
    pub(crate) fn follow(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        for stream in [Box::new(out) as Box<dyn Read + Send>, Box::new(err)] {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, lines, seen: Vec::new() }
    }

    /// Waits for a line that contains a text. Each line is returned once.
    pub(crate) fn until(&mut self, text: &str) -> String {
        if let Some(at) = self.seen.iter().position(|line| line.contains(text)) {
            return self.seen.remove(at);
        }
        let end = Instant::now() + TIMEOUT;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(rest) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("timed out waiting for {text:?} ({error}): {:#?}", self.seen),
            }
        }
    }

    /// Sends SIGINT, and waits for the end.
    pub(crate) fn interrupt(self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.ends();
    }

    /// Waits for the end, which must be a success.
    pub(crate) fn ends(mut self) {
        let status = self.child.wait().unwrap();
        assert!(
            status.success(),
            "{status:?}: {:#?} {:#?}",
            self.seen,
            self.lines.try_iter().collect::<Vec<_>>()
        );
    }
}

/// Polls until there is a value, or the timeout passes.
pub(crate) fn eventually<T>(mut poll: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end {
        if let Some(found) = poll() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Free port.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Response of a server on this machine, if any.
pub(crate) fn get(port: u16) -> Option<String> {
    get_as("localhost", port)
}

/// Response of a server on this machine to a request for a host, if any.
pub(crate) fn get_as(host: &str, port: u16) -> Option<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).ok()?;
    let mut response = String::new();
    connection.read_to_string(&mut response).ok()?;
    (!response.is_empty()).then_some(response)
}
