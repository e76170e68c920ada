//! Error for a server that cannot run on this machine.

use std::path::PathBuf;

/// Error for a server that cannot run on this machine. Its `Display` is a sentence for users, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotInstalled {
    /// No version is installed.
    #[error(
        "{server} is not installed on this machine: install it (Debian, Ubuntu: `apt install {apt}`; macOS: `brew install {brew}`)."
    )]
    Absent {
        /// The server, as users call it.
        server: &'static str,
        /// Its package in Debian.
        apt: &'static str,
        /// Its formula in Homebrew.
        brew: &'static str,
    },
    /// The requested version is not installed.
    #[error(
        "{server} {wanted} is not installed on this machine, which has {installed}: install it, or set the parameter `version` to an installed one."
    )]
    Version {
        /// The server, as users call it.
        server: &'static str,
        /// Requested version.
        wanted: String,
        /// The installed versions.
        installed: String,
    },
    /// All installed versions are too old.
    #[error(
        "{server} must be version {oldest} or newer, and this machine has {installed}: install a newer one."
    )]
    TooOld {
        /// The server, as users call it.
        server: &'static str,
        /// The oldest supported version.
        oldest: u32,
        /// The installed versions.
        installed: String,
    },
    /// The folder in a variable does not contain the programs.
    #[error("`{variable}` is `{}`, which does not contain the programs of {server}: set it to the folder of {programs}.", folder.display())]
    WrongFolder {
        /// The server, as users call it.
        server: &'static str,
        /// The variable.
        variable: &'static str,
        /// Its value.
        folder: PathBuf,
        /// Programs that the folder has to contain.
        programs: &'static str,
    },
    /// The requested version is malformed.
    #[error(
        "The parameter `version` is `{wanted}`, which is not a version of {server}: write one like `16`, or none."
    )]
    NotAVersion {
        /// The server, as users call it.
        server: &'static str,
        /// Requested version.
        wanted: String,
    },
    /// The data on disk belongs to another version.
    #[error(
        "The data was created by {server} {current}, which cannot be upgraded to {wanted} in place: set the parameter `version` to {current}, or delete the data."
    )]
    OtherData {
        /// The server, as users call it.
        server: &'static str,
        /// Version of the data.
        current: u32,
        /// Requested version.
        wanted: u32,
    },
    /// The server refuses to run as root, and this machine does not allow user namespaces.
    #[error(
        "{server} does not run as root, and this machine does not allow a user namespace for it: start the platform as another user."
    )]
    OnlyRoot {
        /// The server, as users call it.
        server: &'static str,
    },
}
