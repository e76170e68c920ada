//! Certificates of one data directory: made at the first start, completed and reused by later ones.
//!
//! Files are written in the order of their dependencies, the kubeconfig last: a start that is killed halfway leaves a
//! set that the next start completes. Once a kubeconfig exists, copies of it may exist: from then on the authority is
//! never replaced without the user.

use crate::ServeError;
use crate::authority::Authority;
use crate::credential::Credential;
use crate::kubeconfig::{self, Kubeconfig};
use crate::private_file;
use rustls::pki_types::ServerName;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Host name on Linux; the serving certificate omits it elsewhere.
const HOST_NAME_FILE: &str = "/proc/sys/kernel/hostname";

/// Trust anchor and certificate of the server.
pub(crate) struct Identity {
    pub(crate) authority: Authority,
    pub(crate) serving: Credential,
    pub(crate) kubeconfig: PathBuf,
}

impl Identity {
    /// Reads the set in the data directory, and makes what is missing, outdated or about to expire.
    pub(crate) fn prepare(data_dir: &Path, address: SocketAddr, now: SystemTime) -> Result<Self, ServeError> {
        let paths = Paths::new(data_dir);
        private_file::make_folder(&paths.folder)?;
        let written = private_file::read(&paths.kubeconfig)?;
        let authority = prepare_authority(&paths, written.as_deref(), now)?;

        let names = server_names(address);
        let serving = prepare_credential(
            &paths.serving,
            |serving| authority.vouches_for_server(&serving.certificate, &names, now),
            || authority.issue_serving(&names, now),
        )?;
        let admin = prepare_credential(
            &paths.admin,
            |admin| authority.vouches_for_client(&admin.certificate, now),
            || authority.issue_client("admin", "system:masters", now),
        )?;

        let kubeconfig = Kubeconfig::new(address, authority.credential(), &admin);
        if !written.is_some_and(|text| kubeconfig.is_current(&text)) {
            private_file::replace(&paths.kubeconfig, &kubeconfig.to_yaml())?;
        }
        Ok(Self { authority, serving, kubeconfig: paths.kubeconfig })
    }
}

struct Paths {
    folder: PathBuf,
    authority: PathBuf,
    serving: PathBuf,
    admin: PathBuf,
    kubeconfig: PathBuf,
}

impl Paths {
    fn new(data_dir: &Path) -> Self {
        let folder = data_dir.join("pki");
        Self {
            authority: folder.join("ca.pem"),
            serving: folder.join("serving.pem"),
            admin: folder.join("admin.pem"),
            kubeconfig: data_dir.join("kubeconfig"),
            folder,
        }
    }

    /// Remedy for a lost authority.
    fn start_over(&self) -> String {
        format!(
            "restore it from a backup, or remove {} and {} to start over with new certificates (copies of \
             the kubeconfig stop working)",
            self.folder.display(),
            self.kubeconfig.display()
        )
    }
}

fn prepare_authority(
    paths: &Paths,
    kubeconfig: Option<&str>,
    now: SystemTime,
) -> Result<Authority, ServeError> {
    let Some(text) = private_file::read(&paths.authority)? else {
        if kubeconfig.is_some() {
            return Err(ServeError::AuthorityMissing {
                path: paths.authority.clone(),
                kubeconfig: paths.kubeconfig.clone(),
                remedy: paths.start_over(),
            });
        }
        let authority = Authority::create(now)?;
        private_file::replace(&paths.authority, &authority.credential().to_pem())?;
        return Ok(authority);
    };

    let damaged = |reason: &str| ServeError::Damaged {
        path: paths.authority.clone(),
        reason: reason.to_owned(),
        remedy: paths.start_over(),
    };
    let credential = Credential::from_pem(&text).map_err(damaged)?;
    let authority = Authority::restore(credential)?
        .ok_or_else(|| damaged("it is not an authority that this program made"))?;
    if authority.has_expired(now) {
        return Err(ServeError::AuthorityExpired {
            path: paths.authority.clone(),
            remedy: paths.start_over(),
        });
    }
    if kubeconfig.is_some_and(|text| !kubeconfig::trusts(text, authority.credential())) {
        return Err(ServeError::Damaged {
            path: paths.kubeconfig.clone(),
            reason: format!("it does not trust the authority in {}", paths.authority.display()),
            remedy: "delete it, and it is recreated at the next start".to_owned(),
        });
    }
    Ok(authority)
}

/// Credential of the file if it is usable, else a new one, which replaces the file.
fn prepare_credential(
    path: &Path,
    is_good: impl Fn(&Credential) -> bool,
    issue: impl FnOnce() -> Result<Credential, ServeError>,
) -> Result<Credential, ServeError> {
    if let Some(text) = private_file::read(path)? {
        let credential = Credential::from_pem(&text).map_err(|reason| ServeError::Damaged {
            path: path.to_owned(),
            reason: reason.to_owned(),
            remedy: "remove it; the next start makes a new one".to_owned(),
        })?;
        if is_good(&credential) {
            return Ok(credential);
        }
    }
    let credential = issue()?;
    private_file::replace(path, &credential.to_pem())?;
    Ok(credential)
}

/// Names in the serving certificate: those of this machine, and the listen address.
fn server_names(address: SocketAddr) -> Vec<ServerName<'static>> {
    let mut names: Vec<ServerName<'static>> = ServerName::try_from("localhost").into_iter().collect();
    for ip in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), address.ip()] {
        names.push(<ServerName<'static> as From<IpAddr>>::from(ip));
    }
    let host_name = std::fs::read_to_string(HOST_NAME_FILE).unwrap_or_default();
    names.extend(ServerName::try_from(host_name.trim().to_owned()));
    let mut distinct = Vec::with_capacity(names.len());
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

#[cfg(test)]
mod tests;
