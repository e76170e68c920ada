//! Installed versions of postgres. Folders are searched in this order, and the first that fits is used:
//!
//! 1. the folder in `ORCHESTRA_POSTGRES`, and then no other;
//! 2. the folders of `PATH`;
//! 3. `/usr/lib/postgresql/*/bin` (Debian, Ubuntu) and `/usr/pgsql-*/bin` (Red Hat), the newest first;
//! 4. `/usr/local/pgsql/bin` (built from source);
//! 5. the folders of Homebrew.
//!
//! A folder counts if it contains both `postgres` and `initdb`.

use std::{
    cmp::Reverse,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use crate::process::{Launcher, servers::not_installed::NotInstalled, unprivileged};

/// Variable with the folder of the programs.
const VARIABLE: &str = "ORCHESTRA_POSTGRES";
/// Oldest supported version.
const MIN_MAJOR_VERSION: u32 = 12;
/// Folders of Homebrew.
const HOMEBREW: [&str; 3] = ["/home/linuxbrew/.linuxbrew/opt", "/opt/homebrew/opt", "/usr/local/opt"];

/// Programs of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    /// Folder.
    pub(super) folder: PathBuf,
    /// Major version.
    pub(super) major: u32,
}

/// Installed versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InstalledVersions {
    /// All versions, the best first.
    installations: Vec<Installation>,
    /// Folder in the variable, if it is set.
    named: Option<PathBuf>,
    /// True if this machine does not allow programs to run as another user than root.
    only_root: bool,
}

/// Searches this machine.
pub(super) async fn find(launcher: &Launcher) -> InstalledVersions {
    let named = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let mut found = InstalledVersions { named, ..InstalledVersions::default() };
    for folder in folders(found.named.as_deref(), env::var_os("PATH").as_deref(), Path::new("/")) {
        match query_version(launcher, &folder).await {
            Ok(Some(major)) => found.installations.push(Installation { folder, major }),
            Ok(None) => {}
            Err(NotPermitted) => found.only_root = true,
        }
    }
    found
}

impl InstalledVersions {
    /// Programs of a version, or of the best one.
    pub(super) fn choose(&self, wanted: Option<u32>) -> Result<&Installation, NotInstalled> {
        let fits = |found: &&Installation| {
            found.major >= MIN_MAJOR_VERSION && wanted.is_none_or(|wanted| wanted == found.major)
        };
        self.installations.iter().find(fits).ok_or_else(|| self.reason(wanted))
    }

    fn reason(&self, wanted: Option<u32>) -> NotInstalled {
        let server = super::NAME;
        if self.only_root {
            return NotInstalled::OnlyRoot { server };
        }
        let mut majors: Vec<_> = self.installations.iter().map(|found| found.major.to_string()).collect();
        majors.dedup();
        let installed = majors.join(", ");
        match (&self.named, wanted) {
            (Some(folder), _) if majors.is_empty() => NotInstalled::WrongFolder {
                server,
                variable: VARIABLE,
                folder: folder.clone(),
                programs: "`postgres` and `initdb`",
            },
            _ if majors.is_empty() => NotInstalled::Absent { server, apt: "postgresql", brew: "postgresql" },
            (_, Some(wanted)) if wanted >= MIN_MAJOR_VERSION => {
                NotInstalled::Version { server, wanted: wanted.to_string(), installed }
            }
            _ => NotInstalled::TooOld { server, oldest: MIN_MAJOR_VERSION, installed },
        }
    }
}

/// Major version in a parameter like `16` or `16.2`.
pub(super) fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.trim().parse().ok()
}

/// Folders with the programs, in order.
fn folders(named: Option<&Path>, path: Option<&OsStr>, root: &Path) -> Vec<PathBuf> {
    let holds = |folder: &PathBuf| ["postgres", "initdb"].iter().all(|name| folder.join(name).is_file());
    if let Some(named) = named {
        return [named.to_owned(), named.join("bin")].into_iter().filter(holds).collect();
    }
    let below = |folder: &str| root.join(folder.trim_start_matches('/'));
    let mut all: Vec<_> = path.into_iter().flat_map(env::split_paths).collect();
    all.extend(newest_first(&below("usr/lib/postgresql"), ""));
    all.extend(newest_first(&below("usr"), "pgsql-"));
    all.push(below("usr/local/pgsql/bin"));
    all.extend(HOMEBREW.iter().flat_map(|folder| newest_first(&below(folder), "postgresql")));
    all.retain(holds);
    let mut seen = Vec::new();
    all.retain(|folder| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let is_new = !seen.contains(&real);
        seen.push(real);
        is_new
    });
    all
}

/// Folders `PREFIX*/bin` of a folder, by the number in their name.
fn newest_first(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix(prefix)?.trim_start_matches('@');
        let number = version.split('.').next().and_then(|number| number.parse::<u32>().ok());
        Some((Reverse(number), entry.path().join("bin")))
    });
    let mut all: Vec<_> = named.collect();
    all.sort();
    all.into_iter().map(|(_, folder)| folder).collect()
}

/// This machine does not allow programs to run as another user.
struct NotPermitted;

/// Major version of the programs in a folder, from their `--version`.
async fn query_version(launcher: &Launcher, folder: &Path) -> Result<Option<u32>, NotPermitted> {
    let words = unprivileged::words(launcher, &folder.join("postgres"));
    let Some((program, args)) = words.split_first() else { return Ok(None) };
    let output = Command::new(program)
        .args(args)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    match output {
        Ok(output) if output.status.code() == Some(unprivileged::NOT_PERMITTED.into()) => Err(NotPermitted),
        Ok(output) => Ok(version(&String::from_utf8_lossy(&output.stdout))),
        Err(_) => Ok(None),
    }
}

/// Major version in `postgres (PostgreSQL) 15.4 (Debian)`, or `17beta1`.
fn version(output: &str) -> Option<u32> {
    let number = output.split_once("(PostgreSQL)")?.1.trim_start();
    number.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(majors: &[u32]) -> InstalledVersions {
        let installation = |major: &u32| Installation { folder: format!("/{major}").into(), major: *major };
        InstalledVersions {
            installations: majors.iter().map(installation).collect(),
            ..InstalledVersions::default()
        }
    }

    fn install(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("postgres"), "").unwrap();
        fs::write(folder.join("initdb"), "").unwrap();
    }

    #[test]
    fn the_first_matching_installation_is_chosen() {
        assert_eq!(found(&[15, 16]).choose(None).unwrap().major, 15);
        assert_eq!(found(&[15, 16]).choose(Some(16)).unwrap().major, 16);
        assert_eq!(found(&[11, 14]).choose(None).unwrap().major, 14);
    }

    #[test]
    fn a_missing_version_is_named_with_the_remedy() {
        let refusal = |found: &InstalledVersions, wanted| found.choose(wanted).unwrap_err().to_string();
        assert_eq!(
            refusal(&found(&[]), None),
            "postgres is not installed on this machine: install it (Debian, Ubuntu: `apt install postgresql`; macOS: `brew install postgresql`)."
        );
        assert_eq!(
            refusal(&found(&[15, 14]), Some(16)),
            "postgres 16 is not installed on this machine, which has 15, 14: install it, or set the parameter `version` to an installed one."
        );
        assert!(refusal(&found(&[11]), None).contains("version 12 or newer, and this machine has 11"));
        assert!(refusal(&found(&[15]), Some(9)).contains("version 12 or newer"));
        let named = InstalledVersions { named: Some("/pg".into()), ..InstalledVersions::default() };
        assert!(refusal(&named, None).starts_with("`ORCHESTRA_POSTGRES` is `/pg`"));
        let only_root = InstalledVersions { only_root: true, ..InstalledVersions::default() };
        assert!(refusal(&only_root, None).contains("start the platform as another user"));
    }

    #[test]
    fn folders_are_searched_in_order_and_each_counts_once() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in [
            "usr/lib/postgresql/9.6/bin",
            "usr/lib/postgresql/16/bin",
            "usr/lib/postgresql/15/bin",
            "usr/local/pgsql/bin",
            "opt/homebrew/opt/postgresql@17/bin",
            "own/bin",
        ] {
            install(&at(folder));
        }
        fs::create_dir_all(at("usr/lib/postgresql/18/bin")).unwrap();
        std::os::unix::fs::symlink(at("own/bin"), at("again")).unwrap();
        let path = env::join_paths([at("nothing"), at("own/bin"), at("again")]).unwrap();
        let expected = [
            "own/bin",
            "usr/lib/postgresql/16/bin",
            "usr/lib/postgresql/15/bin",
            "usr/lib/postgresql/9.6/bin",
            "usr/local/pgsql/bin",
            "opt/homebrew/opt/postgresql@17/bin",
        ];
        assert_eq!(folders(None, Some(&path), root.path()), expected.map(at));
        assert_eq!(folders(Some(&at("own")), Some(&path), root.path()), [at("own/bin")]);
    }

    #[test]
    fn versions_of_programs_and_users_are_parsed() {
        assert_eq!(version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(version("postgres (PostgreSQL) 17beta1\n"), Some(17));
        assert_eq!(version("something else 3"), None);
        assert_eq!(major("16"), Some(16));
        assert_eq!(major("16.2"), Some(16));
        assert_eq!(major("newest"), None);
    }
}
