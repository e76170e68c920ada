//! Session of one script on one server.

use std::{
    env, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::{Error, Recording, Script, normalise::Normaliser, recording::Run};

/// Timeout of a command, in seconds.
const COMMAND_TIMEOUT_SECONDS: &str = "60";
/// Label of cluster-scoped objects of a script; its value is the topic.
const LABEL: &str = "kubectl-parity";

/// Environment of a script: an empty discovery cache, its manifests and its namespace.
///
/// The variable `topic` (`$topic` in manifests) has the topic. The script uses the namespace `kubectl-$topic` and the API
/// group `$topic.example.org`, and labels its cluster-scoped objects with `kubectl-parity: $topic`.
pub struct Session<'a> {
    script: &'a Script,
    home: TempDir,
    path: String,
}

impl<'a> Session<'a> {
    /// Creates the home folder and the namespace of a script.
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

    /// Runs the commands of the script and cleans up.
    pub fn record(self, normaliser: &Normaliser) -> Result<Recording, Error> {
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

    /// Copies the kubeconfig, with the namespace of the script as default.
    fn write_kubeconfig(&self, program: &Path, kubeconfig: Option<&Path>) -> Result<(), Error> {
        let mut view = Command::new(program);
        view.args(["config", "view", "--raw", "--flatten", "--minify"]);
        if let Some(kubeconfig) = kubeconfig {
            view.env("KUBECONFIG", kubeconfig);
        }
        let view = view.output().map_err(|error| Error::Start(program.display().to_string(), error))?;
        if !view.status.success() {
            let stderr = String::from_utf8_lossy(&view.stderr).into_owned();
            return Err(Error::Kubectl("config view".to_owned(), stderr));
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
            (_, output) => Err(Error::Kubectl(command, output)),
        }
    }

    /// Runs a shell command; stdout and stderr are interleaved in order.
    fn run(&self, command: &str) -> Result<(i32, String), Error> {
        let start = |error| Error::Start("timeout".to_owned(), error);
        let (mut reader, writer) = io::pipe().map_err(start)?;
        let mut process = Command::new("timeout");
        process
            .args([COMMAND_TIMEOUT_SECONDS, "sh", "-c", command])
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
        // Close our copy of the write end, so that reading ends with the process.
        drop(process);
        let mut output = Vec::new();
        reader.read_to_end(&mut output).map_err(start)?;
        let status = child.wait().map_err(start)?;
        Ok((status.code().unwrap_or(-1), String::from_utf8_lossy(&output).into_owned()))
    }
}

/// Absolute path of the program, which the session links to.
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
