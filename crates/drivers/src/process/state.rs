//! Files of a Workload: the state of its rollout, written by its supervisor; the ports that it holds, written by the runtime.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use orchestra_core::observe::process::rollout::WorkloadState;

const STATE: &str = "memory.json";
const PORTS: &str = "ports.json";

/// State in the folder of a Workload; empty if it cannot be read, or is of an earlier Workload of the same name.
pub(super) fn read(folder: &Path, workload: &str) -> WorkloadState {
    let bytes = fs::read(folder.join(STATE)).unwrap_or_default();
    let state: WorkloadState = serde_json::from_slice(&bytes).unwrap_or_default();
    if state.workload == workload {
        state
    } else {
        WorkloadState { workload: workload.to_owned(), ..WorkloadState::default() }
    }
}

/// Replaces the state in the folder of a Workload atomically.
pub(super) fn save(folder: &Path, state: &WorkloadState) -> io::Result<()> {
    write(folder, STATE, &serde_json::to_vec(state)?)
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
