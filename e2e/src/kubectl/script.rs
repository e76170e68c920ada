//! Script format: shell commands as in a terminal.
//!
//! ```text
//! # Comments and empty lines are ignored.
//! $ kubectl get teapots
//! $ kubectl create -f - <<END
//! > kind: Teapot
//! > END
//! ```
//!
//! Commands may use the manifests and helpers (`*.yaml`, `*.sh`) beside the scripts; the
//! [session](super::session) describes their environment.

use std::{fs, path::Path};

use super::Error;

/// Independent script of one topic.
#[derive(Debug, Clone)]
pub struct Script {
    /// File name without extension; also the name of the recording, namespace and API group.
    pub topic: String,
    /// Commands in order; continuation lines are joined by line breaks.
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
