//! Kubeconfig of a user: one file with the connection, a token, and the command that renews the token in that file.
//!
//! The user entry `NAME` runs `orchestra user token`, which prints the token of the entry `NAME-token` and replaces it before it
//! expires. The rest of the file stays as it is, such as a namespace that `kubectl config` has set.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use kube::config::Kubeconfig;
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
    /// This program.
    pub(super) program: &'a Path,
    /// The file itself.
    pub(super) file: &'a Path,
}

/// Name of the user entry with the token.
fn token_entry(name: &str) -> String {
    format!("{name}-token")
}

impl UserKubeconfig<'_> {
    /// Content of the file.
    pub(super) fn content(&self) -> Json {
        let Self { name, cluster, namespace, token, program, file } = self;
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": program,
            "args": ["user", "token", "--kubeconfig", file],
            "interactiveMode": "Never",
            "installHint": format!("Without `orchestra` on this machine, use `kubectl --user={name}-token` until the token expires."),
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
    use kube::config::NamedAuthInfo;
    let entry = |entry: &NamedAuthInfo| {
        let name = entry.name.strip_suffix("-token")?;
        let auth = serde_json::to_value(entry.auth_info.as_ref()?).ok()?;
        let token = auth["token"].as_str()?.to_owned();
        (TokenClaims::of(&token)?.sub == account_user(name)).then(|| (name.to_owned(), token))
    };
    kubeconfig.auth_infos.iter().find_map(entry)
}

/// Replaces a file, readable by its owner alone: after a crash it has either the old or the new content. Several processes may
/// do that at once.
pub(super) fn write(file: &Path, content: &str) -> io::Result<()> {
    let draft = file.with_added_extension(format!("{}.new", std::process::id()));
    let write = || {
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
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
            program: Path::new("/usr/bin/orchestra"),
            file: Path::new("/home/jane/jane.kubeconfig"),
        };
        let read: Kubeconfig = serde_json::from_value(content.content()).unwrap();
        assert_eq!(own_token(&read), Some(("jane".to_owned(), token)));
        assert_eq!(read.contexts[0].context.as_ref().unwrap().namespace.as_deref(), Some("shop"));
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
