//! Shutdown of the servers of a platform that has ended because nothing runs on it any more. Their data stays; the next
//! platform starts those that are still wanted.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{postgres::cluster::interrupt, server_supervisor::program};
use crate::process::{self, Launcher};

/// Stops all servers of a platform that has ended.
pub async fn shutdown(data: &Path, launcher: &Launcher) -> io::Result<()> {
    let mut servers = folders(&data.join("postgres"))?;
    for namespace in folders(&data.join("instances"))? {
        servers.extend(folders(&namespace)?.into_iter().map(|instance| instance.join("redis")));
    }
    let mut stopping = Vec::new();
    for folder in servers {
        let mut program = program(&folder, launcher);
        program.adopt().await?;
        if let Some(run) = program.begin_stop() {
            process::stop(&run)?;
            interrupt(&run)?;
            stopping.push(run);
        }
    }
    for run in stopping {
        process::wait(&run).await?;
    }
    Ok(())
}

/// Folders in a folder; none if it does not exist.
fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
