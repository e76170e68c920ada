//! The rest of servers whose platform has ended because nothing runs on it any more: nobody needs them, and what they hold
//! stays. The next platform starts those that are still wanted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{postgres::cluster::interrupt, runs::Runs};
use crate::process::{self, Launcher};

/// Stops all servers of a platform that has ended, whose data is in a folder.
pub async fn halt(data: &Path, launcher: &Launcher) -> io::Result<()> {
    let mut all = Vec::new();
    for version in folders(&data.join("postgres"))? {
        all.push(version.join("runs"));
    }
    for namespace in folders(&data.join("instances"))? {
        for instance in folders(&namespace)? {
            all.push(instance.join("redis/runs"));
        }
    }
    let mut stopping = Vec::new();
    for folder in all {
        let runs = Runs { folder, launcher: launcher.clone() };
        if let Some(run) = runs.running().await? {
            process::stop(&run)?;
            interrupt(&run)?;
            stopping.push(run);
        }
    }
    for run in stopping {
        process::ended(&run).await?;
    }
    Ok(())
}

/// The folders in a folder; none if it is not there.
fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
