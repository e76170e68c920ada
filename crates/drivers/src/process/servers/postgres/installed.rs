//! Which versions of postgres this machine has. They are looked for in this order, and the first that fits is taken:
//!
//! 1. the folder that `ORCHESTRA_POSTGRES` names, and then nowhere else;
//! 2. the folders of `PATH`;
//! 3. `/usr/lib/postgresql/*/bin` (Debian, Ubuntu) and `/usr/pgsql-*/bin` (Red Hat), the newest first;
//! 4. `/usr/local/pgsql/bin` (built from source);
//! 5. the folders of Homebrew.
//!
//! A folder counts if it holds both `postgres` and `initdb`.

use std::{
    cmp::Reverse,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::Command;

use crate::process::{Launcher, unprivileged};

/// The variable that names the folder of the programs.
const VARIABLE: &str = "ORCHESTRA_POSTGRES";
/// The oldest version that is taken.
const OLDEST: u32 = 12;
/// Where Homebrew has its programs.
const HOMEBREW: [&str; 3] = ["/home/linuxbrew/.linuxbrew/opt", "/opt/homebrew/opt", "/usr/local/opt"];

/// The programs of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Installation {
    /// Where they are.
    pub(super) folder: PathBuf,
    /// Which version.
    pub(super) major: u32,
}

/// What a look around this machine found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// All versions, the best first.
    installations: Vec<Installation>,
    /// The folder that was named, if one was.
    named: Option<PathBuf>,
    /// Whether programs cannot be run here as somebody who is not root.
    only_root: bool,
}

/// Looks around this machine.
pub(super) async fn look(launcher: &Launcher) -> Found {
    let named = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let mut found = Found { named, ..Found::default() };
    for folder in folders(found.named.as_deref(), env::var_os("PATH").as_deref(), Path::new("/")) {
        match ask(launcher, &folder).await {
            Ok(Some(major)) => found.installations.push(Installation { folder, major }),
            Ok(None) => {}
            Err(NotPermitted) => found.only_root = true,
        }
    }
    found
}

impl Found {
    /// The programs of a version, or of the best one; otherwise what to do, in a sentence.
    pub(super) fn choose(&self, wanted: Option<u32>) -> Result<&Installation, String> {
        let fits = |found: &&Installation| {
            found.major >= OLDEST && wanted.is_none_or(|wanted| wanted == found.major)
        };
        self.installations.iter().find(fits).ok_or_else(|| self.remedy(wanted))
    }

    fn remedy(&self, wanted: Option<u32>) -> String {
        if self.only_root {
            return "postgres does not run as root, and this machine does not let the platform run it as somebody else: start the platform as another user.".to_owned();
        }
        let mut there: Vec<_> = self.installations.iter().map(|found| found.major.to_string()).collect();
        there.dedup();
        let there = there.join(", ");
        match (&self.named, wanted) {
            (Some(named), _) if there.is_empty() => format!(
                "`{VARIABLE}` names `{}`, which does not hold the programs of postgres: let it name the folder of `postgres` and `initdb`.",
                named.display()
            ),
            _ if there.is_empty() => "postgres is not installed on this machine: install it (Debian, Ubuntu: `apt install postgresql`; macOS: `brew install postgresql`), or let the platform team choose another engine for it.".to_owned(),
            (_, Some(wanted)) if wanted >= OLDEST => format!(
                "postgres {wanted} is not installed on this machine, which has {there}: install it, or ask for a version that is there."
            ),
            _ => format!(
                "postgres is needed in version {OLDEST} or newer, and this machine has {there}: install a newer one, or ask for one that is there."
            ),
        }
    }
}

/// The major version in a wish like `16` or `16.2`.
pub(super) fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.trim().parse().ok()
}

/// The folders that hold the programs, in the order in which they are taken.
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

/// The folders `PREFIX*/bin` of a folder, by the number in their name.
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

/// This machine does not let programs be run as somebody else.
struct NotPermitted;

/// Which version the programs in a folder are of, by their own word.
async fn ask(launcher: &Launcher, folder: &Path) -> Result<Option<u32>, NotPermitted> {
    let words = unprivileged::words(launcher, &folder.join("postgres"));
    let Some((program, args)) = words.split_first() else { return Ok(None) };
    let asked = Command::new(program)
        .args(args)
        .arg("--version")
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    match asked {
        Ok(said) if said.status.code() == Some(unprivileged::NOT_PERMITTED.into()) => Err(NotPermitted),
        Ok(said) => Ok(version(&String::from_utf8_lossy(&said.stdout))),
        Err(_) => Ok(None),
    }
}

/// The major version in what `postgres --version` says, like `postgres (PostgreSQL) 15.4 (Debian)`, or `17beta1`.
fn version(said: &str) -> Option<u32> {
    let number = said.split_once("(PostgreSQL)")?.1.trim_start();
    number.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(majors: &[u32]) -> Found {
        let installation = |major: &u32| Installation { folder: format!("/{major}").into(), major: *major };
        Found { installations: majors.iter().map(installation).collect(), ..Found::default() }
    }

    fn install(folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("postgres"), "").unwrap();
        fs::write(folder.join("initdb"), "").unwrap();
    }

    #[test]
    fn the_first_that_fits_is_chosen() {
        assert_eq!(found(&[15, 16]).choose(None).unwrap().major, 15);
        assert_eq!(found(&[15, 16]).choose(Some(16)).unwrap().major, 16);
        assert_eq!(found(&[11, 14]).choose(None).unwrap().major, 14);
    }

    #[test]
    fn what_is_missing_is_told_with_the_remedy() {
        let refusal = |found: &Found, wanted| found.choose(wanted).unwrap_err();
        assert_eq!(
            refusal(&found(&[]), None),
            "postgres is not installed on this machine: install it (Debian, Ubuntu: `apt install postgresql`; macOS: `brew install postgresql`), or let the platform team choose another engine for it."
        );
        assert_eq!(
            refusal(&found(&[15, 14]), Some(16)),
            "postgres 16 is not installed on this machine, which has 15, 14: install it, or ask for a version that is there."
        );
        assert!(refusal(&found(&[11]), None).contains("version 12 or newer, and this machine has 11"));
        assert!(refusal(&found(&[15]), Some(9)).contains("version 12 or newer"));
        let named = Found { named: Some("/pg".into()), ..Found::default() };
        assert!(refusal(&named, None).starts_with("`ORCHESTRA_POSTGRES` names `/pg`"));
        let only_root = Found { only_root: true, ..Found::default() };
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
    fn versions_are_read_from_what_programs_and_users_say() {
        assert_eq!(version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(version("postgres (PostgreSQL) 17beta1\n"), Some(17));
        assert_eq!(version("something else 3"), None);
        assert_eq!(major("16"), Some(16));
        assert_eq!(major("16.2"), Some(16));
        assert_eq!(major("newest"), None);
    }
}
