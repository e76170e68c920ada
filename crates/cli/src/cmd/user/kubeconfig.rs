//! Kubeconfig of a user: one file with the connection, a token, and the command that renews the token in that file.
//!
//! The user entry `NAME` runs `orchestra user token`, which prints the token of the entry `NAME-token` and replaces it before it
//! expires. The rest of the file stays as it is, such as a namespace that `kubectl config` has set.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use kube::config::{ExecConfig, Kubeconfig};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::account_user;

/// Name of the cluster in the file.
const CLUSTER: &str = "orchestra";
/// Part of its validity after which a token is renewed: soon, so that its end is far away when the user takes a break.
const RENEW_AFTER: i64 = 24;

/// Content of a kubeconfig.
pub(super) struct UserKubeconfig<'a> {
    /// Name of the user.
    pub(super) name: &'a str,
    /// Connection, as a kubeconfig has it.
    pub(super) cluster: Json,
    pub(super) namespace: &'a str,
    pub(super) token: &'a str,
    /// This program, by its name if it is on the PATH.
    pub(super) program: &'a Path,
}

/// Arguments of the credential plugin, before the name of the user.
const PLUGIN: [&str; 2] = ["user", "token"];

/// Remedy if the credential plugin is not on a machine.
fn install_hint(user: &str) -> String {
    format!(
        "Install `orchestra` on the PATH of this machine, or use `kubectl --user={}` until the token expires.",
        token_entry(user)
    )
}

/// User of an entry with the arguments of the credential plugin.
fn plugin_user(exec: &ExecConfig) -> Option<&str> {
    match exec.args.as_deref()? {
        [first, second, user, ..] if [first, second] == PLUGIN => Some(user),
        _ => None,
    }
}

/// User of an entry whose credential plugin is this program.
pub(in crate::cmd) fn own_user(exec: &ExecConfig) -> Option<&str> {
    let is_own = exec.command.is_some() && exec.command == this_program();
    plugin_user(exec).filter(|_| is_own)
}

fn this_program() -> Option<String> {
    std::env::current_exe().ok()?.to_str().map(ToOwned::to_owned)
}

/// Lets this program be the credential plugin of its own entries, for the kubeconfig that it was called with: so it needs to be
/// found neither on the PATH nor where the administrator has it. Entries of other programs have no token beside them.
pub(in crate::cmd) fn use_this_program(kubeconfig: &mut Kubeconfig, file: Option<&Path>) {
    let owners = own_tokens(kubeconfig);
    let infos = kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut());
    for exec in infos.filter_map(|info| info.exec.as_mut()) {
        if !plugin_user(exec).is_some_and(|user| owners.iter().any(|(owner, _)| owner == user)) {
            continue;
        }
        exec.command = this_program().or(exec.command.take());
        if let (Some(args), Some(file)) = (&mut exec.args, file.and_then(Path::to_str)) {
            args.push(format!("--kubeconfig={file}"));
        }
    }
}

/// Command that runs this program on other machines, too: its name, if that is what the PATH has.
pub(super) fn program() -> io::Result<PathBuf> {
    let current = std::env::current_exe()?;
    let typed = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    Ok(command_for(&current, &typed, &folders))
}

fn command_for(current: &Path, typed: &Path, folders: &[PathBuf]) -> PathBuf {
    let is_this = |path: &Path| fs::canonicalize(path).is_ok_and(|path| path == current);
    let name = typed.file_name().unwrap_or(typed.as_os_str());
    let on_path = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    if on_path.is_some_and(|path| is_this(&path)) {
        return name.into();
    }
    match std::path::absolute(typed) {
        Ok(typed) if is_this(&typed) => typed,
        _ => current.to_owned(),
    }
}

/// Files in which the credential plugin looks for the token of its user, in that order. Clients do not pass the name of the file:
/// it is that of their flag, one of `$KUBECONFIG`, or the default.
pub(super) fn candidates() -> Vec<PathBuf> {
    let parent = std::os::unix::process::parent_id();
    // Only Linux has it.
    let command_line = fs::read(format!("/proc/{parent}/cmdline")).unwrap_or_default();
    let from_flag = kubeconfig_flag(&command_line);
    let variable = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let listed = std::env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty());
    let default = std::env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config"));
    from_flag.into_iter().chain(listed).chain(default).collect()
}

/// Value of `--kubeconfig` in the command line of a client.
fn kubeconfig_flag(command_line: &[u8]) -> Option<PathBuf> {
    let mut args = command_line.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned());
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--kubeconfig") {
            Some("") => return args.next().map(PathBuf::from),
            Some(value) => return value.strip_prefix('=').map(PathBuf::from),
            None => {}
        }
    }
    None
}

/// Name of the user entry with the token.
fn token_entry(name: &str) -> String {
    format!("{name}-token")
}

impl UserKubeconfig<'_> {
    /// Content of the file.
    pub(super) fn content(&self) -> Json {
        let Self { name, cluster, namespace, token, program } = self;
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": program,
            "args": [PLUGIN[0], PLUGIN[1], name],
            "interactiveMode": "Never",
            "installHint": install_hint(name),
        });
        let context = format!("{name}@{CLUSTER}");
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": CLUSTER, "cluster": cluster}],
            "users": [
                {"name": name, "user": {"exec": exec}},
                {"name": token_entry(name), "user": {"token": token}},
            ],
            "contexts": [{"name": context, "context": {"cluster": CLUSTER, "user": name, "namespace": namespace}}],
            "current-context": context,
        })
    }
}

/// Claims of a token that matter to its holder. They are not verified: the API does that.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct TokenClaims {
    sub: String,
    iat: i64,
    /// End of validity, in seconds of Unix time.
    pub(super) exp: i64,
}

/// What to do with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// It is used until this time, in seconds of Unix time.
    Later(i64),
    Now,
    /// It can no longer be renewed.
    Expired,
}

impl TokenClaims {
    /// Claims of a token; `None` if it is none.
    pub(super) fn of(token: &str) -> Option<Self> {
        let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    /// Validity in seconds.
    pub(super) fn lifetime(&self) -> i64 {
        self.exp.saturating_sub(self.iat)
    }

    pub(super) fn renewal(&self, now: i64) -> Renewal {
        let renew_at = self.iat.saturating_add(self.lifetime() / RENEW_AFTER);
        match now {
            now if now >= self.exp => Renewal::Expired,
            now if now >= renew_at => Renewal::Now,
            _ => Renewal::Later(renew_at),
        }
    }
}

/// User and token of a kubeconfig that `orchestra user add` wrote.
pub(super) fn own_token(kubeconfig: &Kubeconfig) -> Option<(String, String)> {
    own_tokens(kubeconfig).into_iter().next()
}

/// Users and tokens of a kubeconfig, which may be one of several platforms.
pub(super) fn own_tokens(kubeconfig: &Kubeconfig) -> Vec<(String, String)> {
    use kube::config::NamedAuthInfo;
    let entry = |entry: &NamedAuthInfo| {
        let name = entry.name.strip_suffix("-token")?;
        let auth = serde_json::to_value(entry.auth_info.as_ref()?).ok()?;
        let token = auth["token"].as_str()?.to_owned();
        (TokenClaims::of(&token)?.sub == account_user(name)).then(|| (name.to_owned(), token))
    };
    kubeconfig.auth_infos.iter().filter_map(entry).collect()
}

/// File that replaces another one.
fn draft_of(file: &Path) -> PathBuf {
    file.with_added_extension(format!("{}.new", std::process::id()))
}

fn create_draft(draft: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)
}

/// Checks that a file can be replaced.
pub(super) fn check_writable(file: &Path) -> io::Result<()> {
    let draft = draft_of(file);
    create_draft(&draft)?;
    fs::remove_file(&draft)
}

/// Replaces a file, readable by its owner alone: after a crash it has either the old or the new content. Several processes may
/// do that at once.
pub(super) fn write(file: &Path, content: &str) -> io::Result<()> {
    let draft = draft_of(file);
    let write = || {
        let mut out = create_draft(&draft)?;
        out.write_all(content.as_bytes())?;
        out.sync_all()?;
        fs::rename(&draft, file)
    };
    let written = write();
    if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        // It may be incomplete.
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn token(sub: &str, iat: i64, exp: i64) -> String {
        let claims = json!({"sub": sub, "iat": iat, "exp": exp, "aud": []});
        format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_token_is_renewed_early_and_never_after_its_end() {
        let claims = TokenClaims::of(&token("x", 1000, 1000 + 24 * 3600)).unwrap();
        for (now, expected) in [
            (1000, Renewal::Later(1000 + 3600)),
            (1000 + 3599, Renewal::Later(1000 + 3600)),
            (1000 + 3600, Renewal::Now),
            (1000 + 24 * 3600 - 1, Renewal::Now),
            (1000 + 24 * 3600, Renewal::Expired),
        ] {
            assert_eq!(claims.renewal(now), expected, "{now}");
        }
    }

    #[test]
    fn only_a_file_with_a_token_of_that_user_is_one_of_the_user() {
        let named = |name: &str, token: &str| {
            let content = json!({"users": [{"name": name, "user": {"token": token}}]});
            own_token(&serde_json::from_value(content).unwrap())
        };
        let jane = token("system:serviceaccount:score-users:jane", 1, 2);
        assert_eq!(named("jane-token", &jane), Some(("jane".to_owned(), jane.clone())));
        assert_eq!(named("john-token", &jane), None);
        assert_eq!(named("jane", &jane), None);
        assert_eq!(named("jane-token", "opaque"), None);
        assert_eq!(named("jane-token", &token("system:serviceaccount:shop:jane", 1, 2)), None);
    }

    #[test]
    fn clients_read_the_file_and_it_contains_its_own_token() {
        let token = token("system:serviceaccount:score-users:jane", 1, 2);
        let content = UserKubeconfig {
            name: "jane",
            cluster: json!({"server": "https://127.0.0.1:7443"}),
            namespace: "shop",
            token: &token,
            program: Path::new("orchestra"),
        };
        let mut read: Kubeconfig = serde_json::from_value(content.content()).unwrap();
        assert_eq!(own_token(&read), Some(("jane".to_owned(), token)));
        assert_eq!(read.contexts[0].context.as_ref().unwrap().namespace.as_deref(), Some("shop"));
        let mut other: Kubeconfig = read.clone();
        other.auth_infos.truncate(1);
        use_this_program(&mut other, None);
        let exec = other.auth_infos[0].auth_info.as_ref().unwrap().exec.as_ref().unwrap();
        assert_eq!(exec.command.as_deref(), Some("orchestra"), "it may be another program");
        assert_eq!(own_user(exec), None);

        use_this_program(&mut read, Some(Path::new("/home/jane/config")));
        let exec = read.auth_infos[0].auth_info.as_ref().unwrap().exec.as_ref().unwrap();
        let current = std::env::current_exe().unwrap();
        assert_eq!((exec.command.as_deref(), own_user(exec)), (current.to_str(), Some("jane")));
        let args = exec.args.as_deref().unwrap();
        assert_eq!(args, ["user", "token", "jane", "--kubeconfig=/home/jane/config"]);
    }

    #[test]
    fn a_program_on_the_path_is_named_and_a_link_is_not_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (bin, other) = (root.join("bin"), root.join("other"));
        let (current, link) = (root.join("orchestra-1.0"), bin.join("orchestra"));
        fs::create_dir(&bin).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(&current, "").unwrap();
        fs::write(other.join("orchestra"), "").unwrap();
        std::os::unix::fs::symlink(&current, &link).unwrap();
        let paths = [bin, other.clone()];
        assert_eq!(command_for(&current, Path::new("orchestra"), &paths), Path::new("orchestra"));
        assert_eq!(command_for(&current, &link, &paths), Path::new("orchestra"));
        assert_eq!(command_for(&current, &link, &[]), link);
        assert_eq!(command_for(&current, &link, &[other]), link, "the PATH has another program");
        assert_eq!(command_for(&current, Path::new("orchestra"), &[]), current);
    }

    #[test]
    fn the_flag_of_a_client_names_the_file() {
        for (line, expected) in [
            ("kubectl\0get\0--kubeconfig\0a b\0", Some("a b")),
            ("kubectl\0--kubeconfig=x/y\0get\0", Some("x/y")),
            ("kubectl\0get\0", None),
            ("kubectl\0--kubeconfigs=x\0", None),
            ("", None),
        ] {
            assert_eq!(kubeconfig_flag(line.as_bytes()).as_deref(), expected.map(Path::new), "{line:?}");
        }
    }

    #[test]
    fn a_written_file_is_readable_by_its_owner_alone_and_a_link_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("jane.kubeconfig"), folder.path().join("other"));
        fs::write(&other, "other").unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        write(&file, "secret").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(fs::read_to_string(&file).unwrap(), "secret");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }
}
