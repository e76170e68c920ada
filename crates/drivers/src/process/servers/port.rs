//! Port of a server: chosen once and saved, since it is published. It changes only if another program has taken it while the
//! server was down.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use tokio::net::TcpListener;

use crate::process::record;

/// Range of ports: below the ephemeral range of the kernel.
const FIRST_PORT: u16 = 20_000;
const PORT_COUNT: u16 = 10_000;
/// Ports that are tried; more in use would be no accident.
const MAX_TRIES: u16 = 500;

/// Saved port of a folder.
pub(super) fn kept(folder: &Path) -> Option<u16> {
    record::read(&file(folder)).ok().flatten()
}

/// Free port for a server that is about to start: the saved one, if possible.
pub(super) async fn choose(folder: &Path) -> io::Result<u16> {
    if let Some(port) = kept(folder)
        && is_free(port).await
    {
        return Ok(port);
    }
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    // The remainder fits.
    let start = u16::try_from(hasher.finish() % u64::from(PORT_COUNT)).unwrap_or_default();
    for step in 0..MAX_TRIES {
        let port = FIRST_PORT + (start + step) % PORT_COUNT;
        if is_free(port).await {
            record::write(&file(folder), &port)?;
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no port of this machine is free"))
}

async fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.is_ok()
}

fn file(folder: &Path) -> PathBuf {
    folder.join("port.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_is_stable_unless_another_program_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kept(folder.path()), None);
        let port = choose(folder.path()).await.unwrap();
        assert_eq!(kept(folder.path()), Some(port));
        assert_eq!(choose(folder.path()).await.unwrap(), port);
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        let other = choose(folder.path()).await.unwrap();
        assert_ne!(other, port);
        assert_eq!(kept(folder.path()), Some(other));
    }
}
