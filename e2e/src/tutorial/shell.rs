//! Shell for the commands of the tutorial.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::platform::{Error, project};

/// Timeout of a command, in seconds.
const COMMAND_TIMEOUT_SECONDS: &str = "60";

/// Shell of one user, in the project folder.
#[derive(Debug)]
pub struct Shell {
    kubeconfig: PathBuf,
    home: TempDir,
    path: String,
}

impl Shell {
    /// Shell whose kubectl uses a kubeconfig.
    pub fn new(kubectl: &Path, kubeconfig: &Path) -> Result<Self, Error> {
        let home = TempDir::new()?;
        let mut path = env::var("PATH").unwrap_or_default();
        if kubectl.components().count() > 1 {
            std::os::unix::fs::symlink(fs::canonicalize(kubectl)?, home.path().join("kubectl"))?;
            path = format!("{}:{path}", home.path().display());
        }
        Ok(Self { kubeconfig: fs::canonicalize(kubeconfig)?, home, path })
    }

    fn command(&self, command: &str) -> Command {
        let mut process = Command::new("timeout");
        process
            .args([COMMAND_TIMEOUT_SECONDS, "sh", "-c", command])
            .current_dir(project())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        process
    }

    /// Stdout and stderr of a command that must succeed.
    pub fn run(&self, command: &str) -> Result<String, Error> {
        match self.try_run(command)? {
            (true, output) => Ok(output),
            (false, output) => Err(format!("$ {command}\n{output}").into()),
        }
    }

    /// Stdout and stderr of a command that must fail.
    pub fn fails(&self, command: &str) -> Result<String, Error> {
        match self.try_run(command)? {
            (true, output) => Err(format!("$ {command}\nshould have failed:\n{output}").into()),
            (false, output) => Ok(output),
        }
    }

    fn try_run(&self, command: &str) -> Result<(bool, String), Error> {
        let output = self.command(command).output()?;
        let text = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
    }

    /// Output lines of a long-running command up to the awaited one.
    pub fn watch(&self, command: &str, is_last: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
        // `exec`, so that killing the process kills kubectl.
        let mut child = self.command(&format!("exec {command}")).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().ok_or("no output")?;
        let mut lines = Vec::new();
        let mut found = false;
        for line in BufReader::new(output).lines() {
            let line = line?;
            found = is_last(&line);
            lines.push(line);
            if found {
                break;
            }
        }
        // `timeout` forwards the signal.
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        child.wait()?;
        if found {
            Ok(lines)
        } else {
            Err(format!("$ {command}\nended without the awaited line:\n{}", lines.join("\n")).into())
        }
    }
}
