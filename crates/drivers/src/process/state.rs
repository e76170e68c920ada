//! Saved state of a Workload: its uid and last good version, written by its supervisor; the ports that it holds, written by
//! the runtime. No secrets: a plan holds references to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use orchestra_api::plan::WorkloadPlanSpec;
use serde::{Deserialize, Serialize};

const STATE: &str = "memory.json";
const PORTS: &str = "ports.json";

/// Saved state of a Workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WorkloadState {
    /// Uid of the Workload.
    pub(super) workload: String,
    /// Last version that was ready.
    #[serde(default)]
    pub(super) good: Option<WorkloadPlanSpec>,
    /// Version that did not become ready and gave way to the last good one.
    #[serde(default)]
    pub(super) failed: Option<FailedVersion>,
    /// Consecutive failures of the containers of a job.
    #[serde(default)]
    pub(super) tries: BTreeMap<String, u32>,
    /// Revision of that job.
    #[serde(default)]
    pub(super) tried: String,
}

/// Version that did not become ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FailedVersion {
    /// Its revision.
    pub(super) revision: String,
    /// Sentence about the failure.
    pub(super) why: String,
}

impl WorkloadState {
    /// State in the folder of a Workload; empty if it cannot be read, or is of an earlier Workload of the same name.
    pub(super) fn read(folder: &Path, workload: &str) -> Self {
        let bytes = fs::read(folder.join(STATE)).unwrap_or_default();
        let state: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        if state.workload == workload {
            state
        } else {
            Self { workload: workload.to_owned(), ..Self::default() }
        }
    }

    /// Replaces the file atomically.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        write(folder, STATE, &serde_json::to_vec(self)?)
    }
}

/// Ports that the Workload of a folder holds.
pub(super) fn ports(folder: &Path) -> BTreeSet<u16> {
    serde_json::from_slice(&fs::read(folder.join(PORTS)).unwrap_or_default()).unwrap_or_default()
}

/// Saves the ports that the Workload of a folder holds.
pub(super) fn save_ports(folder: &Path, reserved: &BTreeSet<u16>) -> io::Result<()> {
    if ports(folder) == *reserved && folder.exists() {
        return Ok(());
    }
    write(folder, PORTS, &serde_json::to_vec(reserved)?)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let new = folder.join(format!("{name}.new"));
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(new, folder.join(name))
}
