//! What is remembered of a Workload on disk: whose it is, and which version was good, by its keeper; which ports it holds, by
//! the runtime. Each has one writer. No secrets: a plan holds references to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use orchestra_api::plan::WorkloadPlanSpec;
use serde::{Deserialize, Serialize};

const MEMORY: &str = "memory.json";
const PORTS: &str = "ports.json";

/// What is remembered of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Memory {
    /// The uid of the Workload.
    pub(super) workload: String,
    /// The last version that was ready.
    #[serde(default)]
    pub(super) good: Option<WorkloadPlanSpec>,
    /// A version that did not become ready, so that the last good one runs again.
    #[serde(default)]
    pub(super) failed: Option<Failed>,
    /// How often containers of the last version have ended in a row, for what is not tried for ever.
    #[serde(default)]
    pub(super) tries: BTreeMap<String, u32>,
    /// The revision that was tried.
    #[serde(default)]
    pub(super) tried: String,
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
    /// What is remembered in a folder of a Workload; nothing if nothing can be read, or it is of an earlier one.
    pub(super) fn read(folder: &Path, workload: &str) -> Self {
        let bytes = fs::read(folder.join(MEMORY)).unwrap_or_default();
        let memory: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        if memory.workload == workload {
            memory
        } else {
            Self { workload: workload.to_owned(), ..Self::default() }
        }
    }

    /// Remembers it, as a whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(folder, MEMORY, &serde_json::to_vec(self)?)
    }
}

/// The ports that the Workload of a folder holds.
pub(super) fn ports(folder: &Path) -> BTreeSet<u16> {
    serde_json::from_slice(&fs::read(folder.join(PORTS)).unwrap_or_default()).unwrap_or_default()
}

/// Remembers the ports that the Workload of a folder holds.
pub(super) fn hold_ports(folder: &Path, held: &BTreeSet<u16>) -> io::Result<()> {
    if ports(folder) == *held && folder.exists() {
        return Ok(());
    }
    write(folder, PORTS, &serde_json::to_vec(held)?)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let new = folder.join(format!("{name}.new"));
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(new, folder.join(name))
}
