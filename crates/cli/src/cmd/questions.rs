//! Where questions go that only the platform's server answers. On a laptop the API itself has the server in front; on a
//! cluster it is elsewhere, where the platform publishes it, and is asked with the user's own token.

use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, config::AuthInfo};
use orchestra_api::SYSTEM_NAMESPACE;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tokio::sync::OnceCell;

use super::{
    cluster::{CERTIFICATES, PUBLISHED, URL, WITHIN},
    connect,
    platform::Trouble,
};

/// Where questions go.
pub(super) struct Questions {
    /// How the API is reached, and as whom.
    config: Config,
    /// The server that the user names.
    named: Option<String>,
    found: OnceCell<Server>,
}

/// The server that answers.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) client: Client,
    /// Its address, if it is elsewhere than the API.
    pub(super) url: Option<String>,
}

impl Questions {
    pub(super) fn new(config: Config, named: Option<String>) -> Self {
        Self { config, named, found: OnceCell::new() }
    }

    /// The server, which is looked for once.
    pub(super) async fn server(&self, api: &Client) -> Result<Server, Trouble> {
        self.found.get_or_try_init(|| self.find(api)).await.cloned()
    }

    async fn find(&self, api: &Client) -> Result<Server, Trouble> {
        let maps: Api<ConfigMap> = Api::namespaced(api.clone(), SYSTEM_NAMESPACE);
        let published = match (maps.get_opt(PUBLISHED).await, &self.named) {
            (Ok(map), _) => map.and_then(|map| map.data),
            (Err(kube::Error::Api(status)), _) if status.code == 401 => {
                return Err(Trouble::No(
                    "the cluster does not know who you are; log in anew, or give another token with --token"
                        .to_owned(),
                ));
            }
            (Err(_), Some(_)) => None,
            (Err(kube::Error::Api(status)), None) => {
                return Err(Trouble::No(format!(
                    "it cannot be looked up where the platform's server is: {}; name it with --server",
                    status.message
                )));
            }
            // Whoever asks next says that the platform cannot be reached.
            (Err(_), None) => return Ok(Server { client: api.clone(), url: None }),
        };
        let value = |key: &str| published.as_ref().and_then(|data| data.get(key)).cloned();
        let Some(url) = self.named.clone().or_else(|| value(URL)) else {
            return Ok(Server { client: api.clone(), url: None });
        };
        let auth_info = bearer(&self.config.auth_info).ok_or_else(|| {
            Trouble::No(
                "the platform's server knows users by their tokens, and your kubeconfig has only a client certificate; give a token with --token, such as `kubectl create token ACCOUNT` makes"
                    .to_owned(),
            )
        })?;
        let client = self.connect(&url, value(CERTIFICATES).as_deref(), auth_info);
        let client = client.map_err(|why| Trouble::Unreachable(unreachable(&url, &why)))?;
        Ok(Server { client, url: Some(url) })
    }

    fn connect(&self, url: &str, certificates: Option<&str>, auth_info: AuthInfo) -> Result<Client, String> {
        let mut config = Config::new(url.parse().map_err(|error| format!("{error}"))?);
        config.default_namespace.clone_from(&self.config.default_namespace);
        config.auth_info = auth_info;
        config.root_cert = certificates.map(trusted).transpose()?;
        connect::client(config).map_err(|error| error.to_string())
    }
}

/// Why the server cannot be reached, and what to do.
pub(super) fn unreachable(url: &str, why: &str) -> String {
    let forward = "`kubectl -n score-system port-forward service/orchestra 8443:443` with --server https://localhost:8443";
    let remedy = if url == WITHIN {
        format!(
            "that is its address inside of the cluster; have it published (`orchestra install --server-url URL`), or use {forward}"
        )
    } else {
        format!("name another address with --server, or use {forward}")
    };
    format!("the platform's server at {url} cannot be reached: {why}; {remedy}")
}

/// Whether an answer is that of an API which has no server of ours in front: it knows no such address, or says that
/// nobody may see it.
pub(super) fn is_of_other_api(status: StatusCode, text: &str) -> bool {
    match status {
        StatusCode::NOT_FOUND => text.contains("page not found"),
        StatusCode::FORBIDDEN => text.contains("path \\\"/orchestra/") || text.contains("path \"/orchestra/"),
        _ => false,
    }
}

/// The part of a user's credentials that can be shown to another server: never a certificate, whose key stays with its
/// owner. Nothing if nothing is left.
fn bearer(user: &AuthInfo) -> Option<AuthInfo> {
    let has_token = user.token.is_some()
        || user.token_file.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some();
    has_token.then(|| AuthInfo {
        token: user.token.clone(),
        token_file: user.token_file.clone(),
        exec: user.exec.clone(),
        auth_provider: user.auth_provider.clone(),
        ..AuthInfo::default()
    })
}

/// Certificates as PEM beside those that the system trusts: the server may be behind something with a certificate of
/// its own.
fn trusted(certificates: &str) -> Result<Vec<Vec<u8>>, String> {
    let published: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates.as_bytes()).collect();
    let published = published.map_err(|_| "its published certificate cannot be read".to_owned())?;
    let system = rustls_native_certs::load_native_certs().certs;
    Ok(published.into_iter().chain(system).map(|certificate| certificate.to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_to_the_server_and_a_key_is_not() {
        let user: AuthInfo = serde_json::from_value(serde_json::json!({
            "token": "t", "client-certificate-data": "c", "client-key-data": "k", "as": "somebody",
        }))
        .unwrap();
        let shown = bearer(&user).unwrap();
        assert!(shown.token.is_some());
        assert!(shown.client_key_data.is_none() && shown.client_certificate_data.is_none());
        let certificate: AuthInfo =
            serde_json::from_value(serde_json::json!({"client-key-data": "k"})).unwrap();
        assert!(bearer(&certificate).is_none());
    }

    #[test]
    fn another_api_is_told_from_a_server_that_refuses() {
        let forbidden = r#"{"message":"forbidden: User \"eve\" cannot get path \"/orchestra/v1\""}"#;
        assert!(is_of_other_api(StatusCode::FORBIDDEN, forbidden));
        assert!(is_of_other_api(StatusCode::NOT_FOUND, "404 page not found\n"));
        assert!(!is_of_other_api(StatusCode::FORBIDDEN, "User \"eve\" may not get workloads/plan"));
        assert!(!is_of_other_api(StatusCode::NOT_FOUND, "There is no workload \"web\""));
    }
}
