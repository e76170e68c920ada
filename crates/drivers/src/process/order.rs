//! What a shim is told.
//!
//! An order holds secret values. It is one JSON document on the standard input of the shim: never a file, an argument
//! or a variable of the shim. Its `Debug` shows names, and no value.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// What to run, and how.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// Which run this is; never used twice.
    pub run: String,
    /// The program: a path, relative to the directory, or a name to look for in the `PATH` of the environment.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment: exactly this, and [`super::MARKER`].
    pub environment: BTreeMap<String, String>,
    /// Where it starts.
    pub directory: PathBuf,
    /// Files that only the program sees.
    pub files: Vec<PlacedFile>,
    /// Folders and files of this machine that the program sees elsewhere.
    pub mounts: Vec<Mount>,
    /// The files by which the program joins the groups that limit it.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
    /// How long a stop waits before it ends the program by force.
    pub grace: Duration,
    /// How much of the output is kept.
    pub logs: LogLimits,
}

/// A file that only the program sees.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacedFile {
    /// Where: an absolute path.
    pub target: PathBuf,
    /// What is in it.
    #[serde(with = "base64_bytes")]
    pub content: Vec<u8>,
    /// Who may read, write and execute it, as in `0o640`.
    pub mode: u32,
}

/// A folder or file of this machine that the program sees elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mount {
    /// What: an absolute path.
    pub source: PathBuf,
    /// Where: an absolute path.
    pub target: PathBuf,
    /// Whether the program may only read it.
    pub read_only: bool,
}

/// How much of the output is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogLimits {
    /// After how many bytes a new file is begun.
    pub bytes: u64,
    /// How many files there are at most, the current one counted.
    pub files: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, files: 3 }
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("run", &self.run)
            .field("groups", &self.groups)
            .field("program", &self.program)
            .field("args", &self.args.len())
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("directory", &self.directory)
            .field("files", &self.files)
            .field("mounts", &self.mounts)
            .field("grace", &self.grace)
            .field("logs", &self.logs)
            .finish()
    }
}

impl fmt::Debug for PlacedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlacedFile")
            .field("target", &self.target)
            .field("mode", &format_args!("{:04o}", self.mode))
            .finish_non_exhaustive()
    }
}

/// Bytes as text: JSON has no others.
mod base64_bytes {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        Order {
            run: "r1".to_owned(),
            program: "server".to_owned(),
            args: vec!["--password=hunter2".to_owned()],
            environment: BTreeMap::from([("PASSWORD".to_owned(), "hunter2".to_owned())]),
            directory: "/".into(),
            files: vec![PlacedFile {
                target: "/etc/p".into(),
                content: b"hunter2\xff".to_vec(),
                mode: 0o400,
            }],
            groups: Vec::new(),
            mounts: Vec::new(),
            grace: Duration::from_millis(1500),
            logs: LogLimits::default(),
        }
    }

    #[test]
    fn an_order_shows_names_and_no_value() {
        let shown = format!("{:?}", order());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("PASSWORD") && shown.contains("/etc/p") && shown.contains("0400"), "{shown}");
    }

    #[test]
    fn an_order_arrives_as_it_was_sent_also_with_bytes_that_are_no_text() {
        let text = serde_json::to_vec(&order()).unwrap();
        assert_eq!(serde_json::from_slice::<Order>(&text).unwrap(), order());
    }
}
