//! `orchestra user token`: the credential plugin of the kubeconfig of a user.

use std::path::Path;

use k8s_openapi::{api::core::v1::ServiceAccount, jiff::Timestamp};
use kube::{
    Api, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use orchestra_api::USERS_NAMESPACE;
use serde_json::{Value as Json, json};

use super::{
    UserError,
    add::{at, request_token},
    kubeconfig::{self, Renewal, TokenClaims, own_token},
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
        let credential = credential(&args.kubeconfig, Timestamp::now().as_second()).await?;
        print(&format!("{}\n", credential.to_json()))
    })
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
pub(super) async fn credential(file: &Path, now: i64) -> Result<Credential, CliError> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|source| CliError::Read { path: file.to_owned(), source })?;
    let name = ui::printable(&file.display().to_string()).into_owned();
    let not_ours = || UserError::NotOurs(name.clone());
    let read = Kubeconfig::from_yaml(&text).map_err(|_| not_ours())?;
    let (user, token) = own_token(&read).ok_or_else(not_ours)?;
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
    let options = KubeConfigOptions { user: Some(format!("{user}-token")), ..KubeConfigOptions::default() };
    let config =
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| failed(&error))?;
    let client = connect::client(config).map_err(|error| failed(&ConnectError::Client(error)))?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client, USERS_NAMESPACE);
    request_token(&accounts, user, seconds).await.map_err(|error| match &error {
        kube::Error::Api(status) if status.code == 401 => NotRenewed::Removed,
        error => failed(error),
    })
}
