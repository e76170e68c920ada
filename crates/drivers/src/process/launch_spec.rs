//! Launch specification of a run, as its shim reads it.
//!
//! It contains secrets, so it is one JSON document on the standard input of the shim: never a file, an argument or a variable.
//! Its `Debug` shows names, and no value.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// Launch specification of a run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LaunchSpec {
    /// Id of the run; never used twice.
    pub run: String,
    /// Program: a path relative to the directory, or a name that is looked up in the `PATH` of the environment.
    pub program: String,
    /// Arguments.
    pub args: Vec<String>,
    /// Environment: exactly this, and [`super::MARKER`].
    pub environment: BTreeMap<String, String>,
    /// Working directory.
    pub directory: PathBuf,
    /// Files in the mount namespace of the program.
    pub files: Vec<PlacedFile>,
    /// Bind mounts in the mount namespace of the program.
    pub mounts: Vec<Mount>,
    /// `cgroup.procs` files of the control groups that the program joins.
    #[serde(default)]
    pub groups: Vec<PathBuf>,
    /// Grace period of a stop.
    pub grace: Duration,
    /// Log rotation.
    pub logs: LogLimits,
}

/// File in the mount namespace of the program.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacedFile {
    /// Absolute path.
    pub target: PathBuf,
    /// Content.
    #[serde(with = "base64_bytes")]
    pub content: Vec<u8>,
    /// File mode, as in `0o640`.
    pub mode: u32,
}

/// Bind mount in the mount namespace of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mount {
    /// Absolute path on the machine.
    pub source: PathBuf,
    /// Absolute path in the mount namespace.
    pub target: PathBuf,
    /// True if it is read-only.
    pub read_only: bool,
}

/// Log rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogLimits {
    /// Size of a file after which the next one begins.
    pub bytes: u64,
    /// Most files that are kept, including the current one.
    pub files: u64,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, files: 3 }
    }
}

impl fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchSpec")
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

/// Bytes as base64, since JSON has only text.
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

    fn launch_spec() -> LaunchSpec {
        LaunchSpec {
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
    fn debug_output_has_names_and_no_values() {
        let shown = format!("{:?}", launch_spec());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("PASSWORD") && shown.contains("/etc/p") && shown.contains("0400"), "{shown}");
    }

    #[test]
    fn a_launch_spec_round_trips_with_bytes_that_are_not_utf8() {
        let text = serde_json::to_vec(&launch_spec()).unwrap();
        assert_eq!(serde_json::from_slice::<LaunchSpec>(&text).unwrap(), launch_spec());
    }
}
