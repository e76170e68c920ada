//! Arguments of `orchestra user`.

use std::{path::PathBuf, time::Duration};

use clap::{Subcommand, ValueHint};

use super::{Format, Target, duration};

/// Shortest validity of a token that the API issues.
const MIN_TOKEN_SECONDS: u64 = 600;
/// Longest.
const MAX_TOKEN_SECONDS: u64 = 365 * 24 * 3600;
/// Longest name: it is a label and a namespace, too.
const MAX_NAME_LENGTH: usize = 63;

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    Add(AddUser),
    List(ListUsers),
    #[command(visible_aliases = ["rm", "delete"])]
    Remove(RemoveUser),
    Token(UserToken),
}

/// Administrator's connection to the platform.
#[derive(Debug, clap::Args)]
pub(crate) struct Administrator {
    /// Kubeconfig of the administrator [default: $KUBECONFIG, the platform on this machine, or ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Administrator {
    /// Target of the command.
    pub(crate) fn target(&self) -> Target {
        let (kubeconfig, context) = (self.kubeconfig.clone(), self.context.clone());
        Target { kubeconfig, context, namespace: None, server: None, token: None }
    }
}

/// Add a user, or give one access to another namespace
///
/// Writes a kubeconfig for the user, readable only by you, with a token that the user's
/// commands renew while it is valid. Without further options, an existing user gets a new token,
/// and nothing else; with them, more access. What exists stays.
///
///   orchestra user add jane                              in the namespace jane
///   orchestra user add jane -n shop                      in the namespace shop
///   orchestra user add jane --role score-viewer -n lab   only reads there
///   orchestra user add jane --run-programs               may run programs on this machine, as you
///
/// Nothing runs in a namespace that others can change, unless the platform was started with
/// --trust-users and all of them may run programs.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AddUser {
    /// Name of the user
    #[arg(value_name = "NAME", value_parser = new_user_name)]
    pub(crate) name: String,

    /// Namespace that the user works in, created if it does not exist [default: that of the user, or a new one with the user's name]
    #[arg(short, long, value_name = "NAME", value_parser = namespace)]
    pub(crate) namespace: Option<String>,

    /// Cluster role of the user in the namespace [default: that of the user, or score-user]
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,

    /// Give the right to run programs on this machine, as the user of the platform
    #[arg(long)]
    pub(crate) run_programs: bool,

    /// Validity of the token, from 10m to 8760h; each renewal starts it again [default: the earlier one, or 72h]
    #[arg(long, value_name = "TIME", value_parser = token_duration)]
    pub(crate) duration: Option<Duration>,

    /// Kubeconfig to write; `-` for standard output [default: NAME.kubeconfig]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite the kubeconfig even if it is not one of this user
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) administrator: Administrator,
}

/// List the users and their roles
///
///   orchestra user list
///   orchestra user list -o json | jq '.users[].name'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ListUsers {
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) output: Format,

    #[command(flatten)]
    pub(crate) administrator: Administrator,
}

/// Remove a user: all access ends at once
///
/// The tokens of the user become invalid, and open watches and connections are closed.
/// Namespaces are kept with their workloads. With a namespace, only the roles of the user in it
/// are taken back.
///
///   orchestra user remove jane
///   orchestra user remove jane -n shop                  keeps the user
///   orchestra user remove jane -n shop --role score-program-runner
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RemoveUser {
    /// Name of the user
    #[arg(value_name = "NAME", value_parser = user_name)]
    pub(crate) name: String,

    /// Take back the roles in this namespace only
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,

    /// Take back this role only
    #[arg(long, value_name = "ROLE", requires = "namespace")]
    pub(crate) role: Option<String>,

    #[command(flatten)]
    pub(crate) administrator: Administrator,
}

/// Print the token of a user's kubeconfig, and renew it before it expires
///
/// kubectl and orchestra run this command (`exec` in the kubeconfig), so that users need not.
///
///   orchestra user token --kubeconfig jane.kubeconfig | jq -r .status.token
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct UserToken {
    /// Name of the user, if the kubeconfig has several
    #[arg(value_name = "NAME", value_parser = user_name)]
    pub(crate) name: Option<String>,

    /// Kubeconfig of `orchestra user add` [default: the one that the calling client was given, $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Parses the name of a user, which also names a namespace and a file.
fn user_name(text: &str) -> Result<String, String> {
    label(text)
}

/// Parses the name of a new user, for whom a namespace of that name may be created.
fn new_user_name(text: &str) -> Result<String, String> {
    namespace(text).map_err(|error| error.replace("this namespace", "a namespace of this name"))
}

/// Parses the name of a namespace for users. Those of the platform are not for users: who can write there can do everything.
fn namespace(text: &str) -> Result<String, String> {
    let name = label(text)?;
    let is_system = name.starts_with("kube-")
        || [orchestra_api::SYSTEM_NAMESPACE, orchestra_api::USERS_NAMESPACE].contains(&name.as_str());
    if is_system {
        Err("this namespace belongs to the platform; choose another".to_owned())
    } else {
        Ok(name)
    }
}

fn label(text: &str) -> Result<String, String> {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-')
        && text.len() <= MAX_NAME_LENGTH;
    if is_label {
        return Ok(text.to_owned());
    }
    Err(format!(
        "expected at most {MAX_NAME_LENGTH} lowercase letters, digits and dashes, with a letter or digit at both ends"
    ))
}

fn token_duration(text: &str) -> Result<Duration, String> {
    let parsed = duration(text)?;
    if (MIN_TOKEN_SECONDS..=MAX_TOKEN_SECONDS).contains(&parsed.as_secs()) {
        Ok(parsed)
    } else {
        Err("expected a time from 10m to 8760h".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_user_is_a_label_and_never_a_path_or_a_name_of_the_system() {
        let long = "a".repeat(64);
        for bad in [
            "",
            ".",
            "..",
            "../jane",
            "a/b",
            "/etc/passwd",
            "a\\b",
            "jane.kubeconfig",
            "Jane",
            "jane doe",
            "-jane",
            "--force",
            "jane-",
            "system:admin",
            "system:serviceaccount:score-users:jane",
            "jané",
            "jane\n",
            "ja\0ne",
            "%2e%2e",
            &long,
        ] {
            assert!(user_name(bad).is_err(), "{bad:?}");
        }
        for good in ["jane", "j", "7", "jane-2", &long[..63]] {
            assert_eq!(user_name(good).as_deref(), Ok(good));
        }
    }

    #[test]
    fn namespaces_of_the_platform_are_not_for_users() {
        for bad in ["score-system", "score-users", "kube-system", "kube-x"] {
            assert!(namespace(bad).is_err() && new_user_name(bad).is_err(), "{bad:?}");
        }
        assert!(namespace("default").is_ok() && namespace("shop").is_ok());
    }

    #[test]
    fn a_token_is_valid_for_ten_minutes_to_a_year() {
        for (text, is_valid) in
            [("9m", false), ("10m", true), ("72h", true), ("8760h", true), ("8761h", false)]
        {
            assert_eq!(token_duration(text).is_ok(), is_valid, "{text}");
        }
    }
}
