//! Runs the commands of one script against one server.

use std::{
    env, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::{Error, Recording, Script, normalise::Normaliser, recording::Run};

/// Ends a command that hangs.
const SECONDS_PER_COMMAND: &str = "60";
/// The label of everything cluster-wide that a script makes; its value is the topic.
const LABEL: &str = "kubectl-parity";

/// A home for a script: an empty discovery cache, its manifests, its namespace.
///
/// A script finds its topic in the variable `topic` (`$topic` in manifests), works in the
/// namespace `kubectl-$topic`, uses the API group `$topic.example.org`, and labels what it makes
/// outside of its namespace with `kubectl-parity: $topic`.
pub struct Session<'a> {
    script: &'a Script,
    home: TempDir,
    path: String,
}

impl<'a> Session<'a> {
    /// Prepares the home and the namespace of a script.
    pub fn start(
        script: &'a Script,
        manifests: &Path,
        kubectl: &Path,
        kubeconfig: Option<&Path>,
    ) -> Result<Self, Error> {
        let home = TempDir::new().map_err(Error::file(Path::new("a temporary folder")))?;
        let path = format!("{}:{}", home.path().display(), env::var("PATH").unwrap_or_default());
        let program = find(kubectl)?;
        let link = home.path().join("kubectl");
        std::os::unix::fs::symlink(&program, &link).map_err(Error::file(&link))?;
        let session = Self { script, home, path };
        session.copy_manifests(manifests)?;
        session.write_kubeconfig(&program, kubeconfig)?;
        session.remove()?;
        session.kubectl(&["create", "-f", "namespace.yaml"])?;
        Ok(session)
    }

    /// Runs the script's commands and removes what they made.
    pub fn play(self, normaliser: &Normaliser) -> Result<Recording, Error> {
        let mut recording = Recording::default();
        for command in &self.script.commands {
            let (exit, output) = self.run(command)?;
            let mut output = normaliser.normalise(&output, self.home.path());
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            recording.runs.push(Run { command: command.clone(), exit, output });
        }
        self.remove()?;
        Ok(recording)
    }

    fn copy_manifests(&self, manifests: &Path) -> Result<(), Error> {
        for entry in fs::read_dir(manifests).map_err(Error::file(manifests))? {
            let path = entry.map_err(Error::file(manifests))?.path();
            let (Some(name), Some("yaml" | "sh")) =
                (path.file_name(), path.extension().and_then(|ending| ending.to_str()))
            else {
                continue;
            };
            let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
            let copy = self.home.path().join(name);
            fs::write(&copy, text.replace("$topic", &self.script.topic)).map_err(Error::file(&copy))?;
        }
        Ok(())
    }

    /// Copies the server's address and credentials, with the script's namespace as the default.
    fn write_kubeconfig(&self, program: &Path, kubeconfig: Option<&Path>) -> Result<(), Error> {
        let mut view = Command::new(program);
        view.args(["config", "view", "--raw", "--flatten", "--minify"]);
        if let Some(kubeconfig) = kubeconfig {
            view.env("KUBECONFIG", kubeconfig);
        }
        let view = view.output().map_err(|error| Error::Start(program.display().to_string(), error))?;
        if !view.status.success() {
            let said = String::from_utf8_lossy(&view.stderr).into_owned();
            return Err(Error::Kubectl("config view".to_owned(), said));
        }
        let copy = self.home.path().join("kubeconfig");
        fs::write(&copy, view.stdout).map_err(Error::file(&copy))?;
        let namespace = format!("--namespace=kubectl-{}", self.script.topic);
        self.kubectl(&["config", "set-context", "--current", &namespace])
    }

    fn remove(&self) -> Result<(), Error> {
        let label = format!("{LABEL}={}", self.script.topic);
        self.kubectl(&["delete", "customresourcedefinitions,namespaces", "-l", &label, "--ignore-not-found"])
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<(), Error> {
        let command = arguments.join(" ");
        match self.run(&format!("kubectl {command}"))? {
            (0, _) => Ok(()),
            (_, said) => Err(Error::Kubectl(command, said)),
        }
    }

    /// Runs a shell command; both of its outputs arrive in the order in which they were written.
    fn run(&self, command: &str) -> Result<(i32, String), Error> {
        let start = |error| Error::Start("timeout".to_owned(), error);
        let (mut reader, writer) = io::pipe().map_err(start)?;
        let mut process = Command::new("timeout");
        process
            .args([SECONDS_PER_COMMAND, "sh", "-c", command])
            .current_dir(self.home.path())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .env("topic", &self.script.topic)
            .env("TZ", "UTC")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(start)?)
            .stderr(writer);
        let mut child = process.spawn().map_err(start)?;
        // The writing end closes with the process only if this one does not hold it too.
        drop(process);
        let mut output = Vec::new();
        reader.read_to_end(&mut output).map_err(start)?;
        let status = child.wait().map_err(start)?;
        Ok((status.code().unwrap_or(-1), String::from_utf8_lossy(&output).into_owned()))
    }
}

/// The program's own place, since a script's commands find it by a link.
fn find(program: &Path) -> Result<PathBuf, Error> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = if program.components().count() > 1 {
        Some(program.to_owned())
    } else {
        env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    found
        .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        .and_then(|path| path.canonicalize())
        .map_err(|error| Error::Start(program.display().to_string(), error))
}
