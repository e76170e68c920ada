//! Destination of the kubeconfig of a user.

use std::{
    io,
    path::{Path, PathBuf},
};

use kube::config::Kubeconfig;

use super::{UserError, kubeconfig};
use crate::{args::AddUser, error::CliError, ui};

/// Value of `--output` for standard output.
const STDOUT: &str = "-";

/// File, or standard output.
pub(super) enum Output {
    Stdout,
    /// Absolute path.
    File(PathBuf),
}

fn shown(file: &Path) -> String {
    ui::printable(&file.display().to_string()).into_owned()
}

fn failed(file: &Path, source: io::Error) -> CliError {
    CliError::Write { file: shown(file), source }
}

impl Output {
    pub(super) fn of(args: &AddUser) -> Result<Self, CliError> {
        let file = args.output.clone().unwrap_or_else(|| format!("{}.kubeconfig", args.name).into());
        if file == Path::new(STDOUT) {
            return Ok(Self::Stdout);
        }
        std::path::absolute(&file).map(Self::File).map_err(|source| failed(&file, source))
    }

    /// Refuses a file that cannot be written, and to overwrite one that is not a kubeconfig of the user.
    pub(super) fn check(&self, user: &str, force: bool) -> Result<(), CliError> {
        let Self::File(file) = self else { return Ok(()) };
        let folder = file.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            return Err(UserError::NoFolder { file: shown(file), folder: shown(folder) }.into());
        }
        kubeconfig::check_writable(file).map_err(|source| failed(file, source))?;
        if force || file.symlink_metadata().is_err() {
            return Ok(());
        }
        match self.existing() {
            Some(found) if kubeconfig::own_token(&found).is_some_and(|(owner, _)| owner == user) => Ok(()),
            _ => Err(CliError::FileExists(shown(file))),
        }
    }

    fn existing(&self) -> Option<Kubeconfig> {
        match self {
            Self::Stdout => None,
            Self::File(file) => Kubeconfig::read_from(file).ok(),
        }
    }

    /// Namespace of the user in an existing file. It is theirs to choose, and stays.
    pub(super) fn namespace(&self, user: &str) -> Option<String> {
        let existing = self.existing()?;
        kubeconfig::own_token(&existing).filter(|(owner, _)| owner == user)?;
        let mut contexts = existing.contexts.into_iter().filter_map(|named| named.context);
        contexts.find(|context| context.user.as_deref() == Some(user))?.namespace
    }

    pub(super) fn write(&self, content: &str) -> Result<(), CliError> {
        match self {
            Self::Stdout => ui::print(content),
            Self::File(file) => kubeconfig::write(file, content).map_err(|source| failed(file, source)),
        }
    }

    pub(super) fn report(&self, user: &str, expires: &str) {
        let validity =
            format!("whoever has it is {user}. The token is valid until {expires}, and renewed on use.");
        match self {
            Self::Stdout => ui::print_status(&format!("Keep the file safe: {validity}")),
            Self::File(file) => {
                let file = shown(file);
                ui::print_status(&format!("Wrote {file}: {validity}"));
                ui::print_status(&format!("\n    export KUBECONFIG={file}\n    orchestra get"));
            }
        }
    }
}
