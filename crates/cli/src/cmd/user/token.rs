//! `orchestra user token`: the credential plugin of the kubeconfig of a user.

use std::{
    fs,
    path::{Path, PathBuf},
};

use k8s_openapi::{api::core::v1::ServiceAccount, jiff::Timestamp};
use kube::{
    Api, Config,
    config::{KubeConfigOptions, Kubeconfig, NamedContext},
};
use orchestra_api::USERS_NAMESPACE;
use serde_json::{Value as Json, json};

use super::{
    UserError,
    add::{at, request_token},
    kubeconfig::{self, Renewal, TokenClaims, own_tokens},
};
use crate::{
    args::UserToken,
    cmd::{connect, platform::block_on, print},
    error::{CliError, ConnectError, root_cause},
    exit::Exit,
    ui,
};

/// Time after which a token that could not be renewed is asked for again.
const RETRY_SECONDS: i64 = 120;

pub(super) fn run(args: &UserToken) -> Result<Exit, CliError> {
    block_on(async {
        let now = Timestamp::now().as_second();
        let credential = match &args.kubeconfig {
            Some(file) => credential(file, args.name.as_deref(), now).await?,
            None => credential(&find(args.name.as_deref())?, args.name.as_deref(), now).await?,
        };
        print(&format!("{}\n", credential.to_json()))
    })
}

/// Kubeconfig of the client that runs this command.
fn find(user: Option<&str>) -> Result<PathBuf, CliError> {
    let files = kubeconfig::candidates();
    let found = files.iter().find(|file| {
        let read = fs::read_to_string(file).ok().and_then(|text| Kubeconfig::from_yaml(&text).ok());
        read.is_some_and(|read| token_of(&read, user).is_some())
    });
    let shown = || {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        ui::printable(&names.join(", ")).into_owned()
    };
    let user = || user.unwrap_or("USER").to_owned();
    found.cloned().ok_or_else(|| UserError::NoFile { user: user(), files: shown() }.into())
}

/// User and token of a kubeconfig; of a certain user if it has several.
fn token_of(kubeconfig: &Kubeconfig, user: Option<&str>) -> Option<(String, String)> {
    own_tokens(kubeconfig).into_iter().find(|(name, _)| user.is_none_or(|user| user == name))
}

/// Token that clients use until a time, in seconds of Unix time, and then ask again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Credential {
    pub(super) token: String,
    pub(super) until: i64,
}

impl Credential {
    /// Output of a credential plugin.
    fn to_json(&self) -> Json {
        let until = Timestamp::from_second(self.until).unwrap_or_default();
        json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": self.token, "expirationTimestamp": until.to_string()},
        })
    }
}

/// Credential of a kubeconfig, renewed if it is time.
pub(super) async fn credential(file: &Path, user: Option<&str>, now: i64) -> Result<Credential, CliError> {
    let text = fs::read_to_string(file);
    let text = text.map_err(|source| CliError::Read { path: file.to_owned(), source })?;
    let name = ui::printable(&file.display().to_string()).into_owned();
    let not_ours = || UserError::NotOurs(name.clone());
    let read = Kubeconfig::from_yaml(&text).map_err(|_| not_ours())?;
    let (user, token) = token_of(&read, user).ok_or_else(not_ours)?;
    let claims = TokenClaims::of(&token).ok_or_else(not_ours)?;
    match claims.renewal(now) {
        Renewal::Expired => Err(UserError::Expired { user, expired: at(claims.exp) }.into()),
        Renewal::Later(until) => Ok(Credential { token, until }),
        Renewal::Now => match renew(read, &user, claims.lifetime()).await {
            Ok(new) => {
                // Only the token changes: the rest of the file belongs to the user.
                let written = kubeconfig::write(file, &text.replace(&token, &new));
                written.map_err(|source| CliError::Write { file: name, source })?;
                let until = match TokenClaims::of(&new).map(|claims| claims.renewal(now)) {
                    Some(Renewal::Later(until)) => until,
                    _ => now + RETRY_SECONDS,
                };
                Ok(Credential { token: new, until })
            }
            Err(NotRenewed::Removed) => Err(UserError::Removed { user }.into()),
            // It is still valid.
            Err(NotRenewed::Failed(cause)) => {
                ui::print_status(&format!("warning: {}", UserError::NotRenewed { user, cause }));
                Ok(Credential { token, until: claims.exp.min(now + RETRY_SECONDS) })
            }
        },
    }
}

/// Reason why a token could not be renewed.
enum NotRenewed {
    /// The API does not know the token any more.
    Removed,
    Failed(String),
}

/// Requests a new token, with the old one.
async fn renew(kubeconfig: Kubeconfig, user: &str, seconds: i64) -> Result<String, NotRenewed> {
    let failed = |error: &(dyn std::error::Error + 'static)| NotRenewed::Failed(root_cause(error));
    // The file may have contexts of other platforms, too.
    let is_own = |context: &&NamedContext| {
        context.context.as_ref().is_some_and(|context| context.user.as_deref() == Some(user))
    };
    let context = kubeconfig.contexts.iter().find(is_own).map(|context| context.name.clone());
    let options = KubeConfigOptions { context, user: Some(format!("{user}-token")), cluster: None };
    let config =
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| failed(&error))?;
    let client = connect::client(config).map_err(|error| failed(&ConnectError::Client(error)))?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client, USERS_NAMESPACE);
    request_token(&accounts, user, seconds).await.map_err(|error| match &error {
        kube::Error::Api(status) if status.code == 401 => NotRenewed::Removed,
        error => failed(error),
    })
}
