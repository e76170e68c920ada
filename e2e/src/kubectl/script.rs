//! The script format: shell commands, as a terminal shows them.
//!
//! ```text
//! # Comments and empty lines mean nothing.
//! $ kubectl get teapots
//! $ kubectl create -f - <<END
//! > kind: Teapot
//! > END
//! ```
//!
//! Commands may use the manifests and helpers (`*.yaml`, `*.sh`) beside the scripts; the
//! [session](super::session) says what else they find.

use std::{fs, path::Path};

use super::Error;

/// One topic: commands that depend on no other script.
#[derive(Debug, Clone)]
pub struct Script {
    /// The file's name without its ending; names the recording, the namespace and the API group.
    pub topic: String,
    /// The commands, in order; one with continuation lines holds line breaks.
    pub commands: Vec<String>,
}

impl Script {
    /// All scripts below a folder, by topic.
    pub fn all(folder: &Path) -> Result<Vec<Self>, Error> {
        let scripts = folder.join("scripts");
        let mut paths = Vec::new();
        for entry in fs::read_dir(&scripts).map_err(Error::file(&scripts))? {
            let path = entry.map_err(Error::file(&scripts))?.path();
            if path.extension().is_some_and(|ending| ending == "script") {
                paths.push(path);
            }
        }
        paths.sort();
        paths.iter().map(|path| Self::read(path)).collect()
    }

    fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(Error::file(path))?;
        let mut commands: Vec<String> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push(command.to_owned());
            } else if let (Some(more), Some(command)) = (line.strip_prefix('>'), commands.last_mut()) {
                command.push('\n');
                command.push_str(more.strip_prefix(' ').unwrap_or(more));
            } else if !line.is_empty() && !line.starts_with('#') {
                return Err(Error::NoCommand(path.to_owned(), number + 1));
            }
        }
        let topic = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { topic: topic.unwrap_or_default(), commands })
    }
}
