//! Runs the commands of the tutorial as they stand there.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::platform::{Error, project};

/// Ends a command that hangs.
const SECONDS: &str = "60";

/// A shell of one person, in the folder of the project.
#[derive(Debug)]
pub struct Shell {
    kubeconfig: PathBuf,
    home: TempDir,
    path: String,
}

impl Shell {
    /// A shell whose kubectl talks to the server of a kubeconfig.
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
            .args([SECONDS, "sh", "-c", command])
            .current_dir(project())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        process
    }

    /// What a command prints on both channels, if it succeeds.
    pub fn run(&self, command: &str) -> Result<String, Error> {
        match self.try_run(command)? {
            (true, said) => Ok(said),
            (false, said) => Err(format!("$ {command}\n{said}").into()),
        }
    }

    /// What a command that must fail prints.
    pub fn fails(&self, command: &str) -> Result<String, Error> {
        match self.try_run(command)? {
            (true, said) => Err(format!("$ {command}\nshould have failed:\n{said}").into()),
            (false, said) => Ok(said),
        }
    }

    fn try_run(&self, command: &str) -> Result<(bool, String), Error> {
        let output = self.command(command).output()?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
    }

    /// The lines of a command that does not end by itself, until one is as awaited.
    pub fn watch(&self, command: &str, is_last: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
        // `exec`, so that ending the process ends kubectl.
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
        // `timeout` hands the signal on.
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        child.wait()?;
        if found {
            Ok(lines)
        } else {
            Err(format!("$ {command}\nended without what was awaited:\n{}", lines.join("\n")).into())
        }
    }
}
