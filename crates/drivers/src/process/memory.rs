//! What is remembered of a Workload on disk: whose it is, which ports it holds, and which version was good. No secrets:
//! a plan holds references to them.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use orchestra_api::plan::WorkloadPlanSpec;
use serde::{Deserialize, Serialize};

const FILE: &str = "memory.json";
const NEW: &str = "memory.new";

/// What is remembered of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Memory {
    /// The uid of the Workload.
    pub(super) workload: String,
    /// The ports it holds.
    #[serde(default)]
    pub(super) ports: BTreeSet<u16>,
    /// The last version that was ready.
    #[serde(default)]
    pub(super) good: Option<WorkloadPlanSpec>,
    /// A version that did not become ready, so that the last good one runs again.
    #[serde(default)]
    pub(super) failed: Option<Failed>,
}

/// A version that did not become ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failed {
    /// Its revision.
    pub(super) revision: String,
    /// What was wrong with it.
    pub(super) why: String,
}

impl Memory {
    /// What is remembered in a folder; nothing if nothing can be read.
    pub(super) fn read(folder: &Path) -> Self {
        let bytes = fs::read(folder.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Remembers it, as a whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file =
            File::options().write(true).create(true).truncate(true).mode(0o600).open(folder.join(NEW))?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(folder.join(NEW), folder.join(FILE))
    }
}
