//! The port of a server: chosen once and kept, since others are told it. It changes only if somebody else has taken it
//! while the server was down.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use tokio::net::TcpListener;

use crate::process::record;

/// Where ports are looked for: below those that the kernel gives to outgoing connections.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;
/// How many are tried.
const TRIES: u16 = 500;

/// The port that was chosen for a folder.
pub(super) fn kept(folder: &Path) -> Option<u16> {
    record::read(&file(folder)).ok().flatten()
}

/// A free port for a server that is about to start: the one it had, if it can.
pub(super) async fn choose(folder: &Path) -> io::Result<u16> {
    if let Some(port) = kept(folder)
        && is_free(port).await
    {
        return Ok(port);
    }
    let mut hasher = DefaultHasher::new();
    folder.hash(&mut hasher);
    // What is left of the division fits.
    let start = u16::try_from(hasher.finish() % u64::from(COUNT)).unwrap_or_default();
    for step in 0..TRIES {
        let port = FIRST + (start + step) % COUNT;
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
    async fn a_port_is_kept_unless_somebody_has_taken_it() {
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
