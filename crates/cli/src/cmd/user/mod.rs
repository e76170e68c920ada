//! `orchestra user`: users of the embedded platform, as service accounts of the namespace `score-users`.

mod add;
pub(super) mod kubeconfig;
mod list;
mod objects;
mod output;
mod remove;
mod rights;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod token;

use kube::{Api, api::ListParams};
use orchestra_api::{USERS_NAMESPACE, label};
use serde::de::DeserializeOwned;

use super::platform::Platform;
use crate::{args::User, error::CliError, exit::Exit};

/// Field manager of the objects of users.
const FIELD_MANAGER: &str = "orchestra-user";

/// Error of `orchestra user`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserError {
    #[error("cluster role {role:?} not found; choose one of {known} with --role")]
    NoRole { role: String, known: String },
    #[error(
        "namespace {namespace:?} exists already, with what others or an earlier user of that name have left in it; pass `-n {namespace}` to give {user} access to it, or choose another with -n"
    )]
    NamespaceExists { namespace: String, user: String },
    #[error(
        "the {kind} {name} exists already and does not belong to the user {user}; choose another name, or delete it with kubectl"
    )]
    Foreign { kind: &'static str, name: String, user: String },
    #[error("{user} has access to the namespaces {known}; choose one with -n")]
    SeveralNamespaces { user: String, known: String },
    #[error(
        "cannot write {file}: the folder {folder} does not exist; create it, or pass another file with --output"
    )]
    NoFolder { file: String, folder: String },
    #[error(
        "{user} has no such role in the namespace {namespace} by `orchestra user add`; list the roles with `orchestra user list`"
    )]
    NoGrant { user: String, namespace: String },
    #[error("user {0:?} not found; list the users with `orchestra user list`")]
    NotFound(String),
    #[error(
        "permission denied: {0}; managing users needs the administrator's kubeconfig: check $KUBECONFIG, or pass --kubeconfig"
    )]
    Forbidden(String),
    #[error("the kubeconfig has no cluster entry for its context")]
    NoCluster,
    #[error("cannot find the path of this program: {0}")]
    NoProgram(#[source] std::io::Error),
    #[error(
        "no kubeconfig with the token of {user} found in: {files}; set $KUBECONFIG to the file of {user}, or use `kubectl --user={user}-token` until the token expires"
    )]
    NoFile { user: String, files: String },
    #[error("{0} is no kubeconfig of `orchestra user add`")]
    NotOurs(String),
    #[error(
        "the access of {user} expired at {expired}; ask the administrator of the platform to run `orchestra user add {user}` again"
    )]
    Expired { user: String, expired: String },
    #[error(
        "the access of {user} was removed; ask the administrator of the platform to run `orchestra user add {user}` again"
    )]
    Removed { user: String },
    #[error("cannot renew the token of {user}: {cause}")]
    NotRenewed { user: String, cause: String },
}

pub(crate) fn run(args: &User) -> Result<Exit, CliError> {
    match args {
        User::Add(add) => add::run(add),
        User::List(list) => list::run(list),
        User::Remove(remove) => remove::run(remove),
        User::Token(token) => token::run(token),
    }
}

/// User name of a user in the API.
fn account_user(user: &str) -> String {
    format!("system:serviceaccount:{USERS_NAMESPACE}:{user}")
}

/// Error of a request of an administrator.
fn api_error(platform: &Platform, what: &str, error: kube::Error) -> CliError {
    match error {
        kube::Error::Api(status) if status.code == 403 => UserError::Forbidden(status.message).into(),
        error => platform.api_error(what, error),
    }
}

/// Objects with the label of a user, or of any.
async fn labelled<K>(platform: &Platform, api: Api<K>, user: Option<&str>) -> Result<Vec<K>, CliError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    let selector = user.map_or_else(|| label::USER.to_owned(), |user| format!("{}={user}", label::USER));
    let listed = api.list(&ListParams::default().labels(&selector)).await;
    Ok(listed.map_err(|error| api_error(platform, "users", error))?.items)
}
