//! A folder with a platform in it, which is all that a laptop is.

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

/// How long something may take that must happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A laptop; what runs on it ends with it.
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

    pub(crate) fn run(&self, args: &[&str]) -> Answer {
        let output = self.command(args).output().unwrap();
        Answer {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that must succeed.
    pub(crate) fn must(&self, args: &[&str]) -> Answer {
        let answer = self.run(args);
        assert_eq!(answer.code, 0, "{args:?}: {answer:?}");
        answer
    }

    /// `orchestra up`, which goes on until it is told to end.
    pub(crate) fn up(&self, args: &[&str]) -> Up {
        Up::follow(&mut self.command(args))
    }

    /// Waits until the message or reason of a workload's condition contains a text. Gives the description.
    pub(crate) fn until(&self, workload: &str, text: &str) -> String {
        let mut last = String::new();
        eventually(|| {
            last = self.run(&["describe", workload]).out;
            last.contains(text).then(|| last.clone())
        })
        .unwrap_or_else(|| panic!("waited in vain for {text:?}:\n{last}\n{}", self.serve_log()))
    }

    /// What the platform in the background said.
    pub(crate) fn serve_log(&self) -> String {
        fs::read_to_string(self.data().join("serve.log")).unwrap_or_default()
    }

    /// The processes that belong to this laptop, with their commands: those that name its folder, and those that run in
    /// it.
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

    /// The number of the process of the platform.
    pub(crate) fn platform(&self) -> Option<String> {
        let all = self.processes();
        let platform = all.iter().find(|process| process.contains(" serve --background"))?;
        platform.split(' ').next().map(ToOwned::to_owned)
    }

    /// Kills the platform as a power cut would.
    pub(crate) fn kill_platform(&self) {
        let id = self.platform().expect("a platform");
        assert!(Command::new("kill").args(["-9", &id]).status().unwrap().success());
        eventually(|| (self.platform() != Some(id.clone())).then_some(())).expect("it is gone");
    }
}

/// An `orchestra up` that runs.
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
    /// Runs a command, and hears what it says.
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

    /// Waits for a line that contains a text, and was not waited for before.
    pub(crate) fn until(&mut self, text: &str) -> String {
        if let Some(at) = self.seen.iter().position(|line| line.contains(text)) {
            return self.seen.remove(at);
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(rest) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("waited in vain for {text:?} ({error}): {:#?}", self.seen),
            }
        }
    }

    /// Presses Ctrl-C, and waits for the end.
    pub(crate) fn interrupt(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let status = self.child.wait().unwrap();
        assert!(
            status.success(),
            "{status:?}: {:#?} {:#?}",
            self.seen,
            self.lines.try_iter().collect::<Vec<_>>()
        );
    }
}

/// Asks until there is an answer, for a while.
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(found) = look() {
            return Some(found);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

/// A port that nobody uses.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// What a server on this machine answers, if it does.
pub(crate) fn get(port: u16) -> Option<String> {
    get_as("localhost", port)
}

/// What a server on this machine answers to whoever asks for a host, if it does.
pub(crate) fn get_as(host: &str, port: u16) -> Option<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}
