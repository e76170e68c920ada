//! Origin of a Workload on the machine of its author: the folder of its Score file and the variables of the shell.
//!
//! The command line reads it, the server receives it, the process drivers record it and look it up. It never becomes part
//! of the object.

use std::{collections::BTreeMap, fmt, io, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Origin of a Workload. Values of variables may be secret, so `Debug` shows the folder only.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadOrigin {
    /// Folder of the Score file: the image `.`.
    pub folder: PathBuf,
    /// `PATH` of the shell in which the file was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Variables that the Workload asks for, from the shell or from the file `.env`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Generation of the first plan that may run with it; absent for all. The server sets it: what others wrote before does not
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_plan: Option<i64>,
}

impl fmt::Debug for WorkloadOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkloadOrigin").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Recorder of workload origins.
pub trait WorkloadOrigins: Send + Sync {
    /// True if the origin of a Workload is recorded, for all its plans.
    fn is_recorded(&self, namespace: &str, name: &str) -> io::Result<bool>;

    /// Records the origin of a Workload, which need not exist yet.
    fn record(&self, namespace: &str, name: &str, origin: WorkloadOrigin) -> io::Result<()>;
}
