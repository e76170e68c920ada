//! Client of the orchestrator's server, which answers `plan`, `explain`, `events` and `logs`.
//!
//! On a laptop the server is part of the API's address. On a cluster it has its own, published in a config map, and takes the
//! user's token.

use http::{Method, Request, Response, StatusCode, header};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, client::Body, config::AuthInfo};
use orchestra_api::SYSTEM_NAMESPACE;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use tokio::sync::OnceCell;

use super::{
    cluster::{CA_KEY, SERVER_CONFIG_MAP, URL_KEY},
    connect,
    platform::Platform,
};
use crate::{
    args::Format,
    error::{CliError, ConnectError},
};

/// Client of the server, found on first use.
pub(super) struct ServerClient {
    /// Connection to the API, with the user's credentials.
    config: Config,
    /// Address from `--server`.
    url: Option<String>,
    found: OnceCell<Endpoint>,
}

/// Endpoint of the server.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub(super) client: Client,
    /// Address, if it differs from the API's.
    pub(super) url: Option<String>,
}

impl ServerClient {
    pub(super) fn new(config: Config, url: Option<String>) -> Self {
        Self { config, url, found: OnceCell::new() }
    }

    /// Endpoint of the server, looked up once.
    pub(super) async fn endpoint(&self, api: &Client) -> Result<Endpoint, CliError> {
        self.found.get_or_try_init(|| self.find(api)).await.cloned()
    }

    async fn find(&self, api: &Client) -> Result<Endpoint, CliError> {
        let maps: Api<ConfigMap> = Api::namespaced(api.clone(), SYSTEM_NAMESPACE);
        let published = match (maps.get_opt(SERVER_CONFIG_MAP).await, &self.url) {
            (Ok(map), _) => map.and_then(|map| map.data),
            (Err(kube::Error::Api(status)), _) if status.code == 401 => {
                return Err(CliError::Unauthorized(status));
            }
            (Err(_), Some(_)) => None,
            (Err(kube::Error::Api(status)), None) => return Err(CliError::ServerLookup(status)),
            // The next request reports that the API is unreachable.
            (Err(_), None) => return Ok(Endpoint { client: api.clone(), url: None }),
        };
        let value = |key: &str| published.as_ref().and_then(|data| data.get(key)).cloned();
        let Some(url) = self.url.clone().or_else(|| value(URL_KEY)) else {
            return Ok(Endpoint { client: api.clone(), url: None });
        };
        let auth_info = bearer(&self.config.auth_info).ok_or(CliError::NoToken)?;
        match self.connect(&url, value(CA_KEY).as_deref(), auth_info) {
            Ok(client) => Ok(Endpoint { client, url: Some(url) }),
            Err(source) => Err(CliError::ServerUnreachable { url, source }),
        }
    }

    fn connect(&self, url: &str, ca: Option<&str>, auth_info: AuthInfo) -> Result<Client, ConnectError> {
        let mut config = Config::new(url.parse()?);
        config.default_namespace.clone_from(&self.config.default_namespace);
        config.auth_info = auth_info;
        config.root_cert = ca.map(trusted).transpose()?;
        connect::client(config).map_err(ConnectError::Client)
    }
}

/// Successful response of the server.
pub(super) struct ServerResponse {
    /// Text to print, or JSON.
    pub(super) text: String,
    /// True if the proposed workload would be refused.
    pub(super) is_refused: bool,
}

impl Platform {
    /// Queries the server about a workload.
    pub(super) async fn query(
        &self,
        method: Method,
        workload: &str,
        path: &str,
        body: Vec<u8>,
        format: Format,
    ) -> Result<ServerResponse, CliError> {
        let accept = if format == Format::Human { "text/plain" } else { "application/json" };
        let response = self.send(method, workload, path, accept, body).await?;
        let is_refused = response.headers().contains_key(orchestra_server::REFUSED);
        let status = response.status();
        let text = self.read_body(workload, response).await?;
        if status.is_success() {
            Ok(ServerResponse { text, is_refused })
        } else {
            Err(self.response_error(workload, status, &text).await)
        }
    }

    /// Sends a request about a workload to the server. The status of the response may be an error.
    pub(super) async fn send(
        &self,
        method: Method,
        workload: &str,
        path: &str,
        accept: &str,
        body: Vec<u8>,
    ) -> Result<Response<Body>, CliError> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/orchestra/v1/namespaces/{}/workloads/{workload}/{path}", self.namespace))
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))?;
        let Endpoint { client, url } = self.server.endpoint(&self.client).await?;
        client.send(request).await.map_err(|error| match url {
            Some(url) => CliError::ServerUnreachable { url, source: ConnectError::Client(error) },
            None => self.api_error(workload, error),
        })
    }

    /// Text of a response.
    pub(super) async fn read_body(
        &self,
        workload: &str,
        response: Response<Body>,
    ) -> Result<String, CliError> {
        let bytes = response.into_body().collect_bytes().await;
        let bytes = bytes.map_err(|error| self.api_error(workload, error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Error of a response.
    pub(super) async fn response_error(&self, workload: &str, status: StatusCode, text: &str) -> CliError {
        match status {
            _ if is_refusal(status) && !self.has_server().await => CliError::NoServer(workload.to_owned()),
            StatusCode::NOT_FOUND => self.workload_not_found(workload).await,
            _ => CliError::Server { workload: workload.to_owned(), message: error_message(text) },
        }
    }

    /// False if the address belongs to an API without our server. The health check of ours requires no permission.
    async fn has_server(&self) -> bool {
        let Ok(request) = Request::get("/orchestra/healthz").body(Body::empty()) else { return true };
        match self.server.endpoint(&self.client).await {
            Ok(Endpoint { client, .. }) => {
                client.send(request).await.map_or(true, |response| !is_refusal(response.status()))
            }
            Err(_) => true,
        }
    }
}

/// Message of an error response: JSON of the server or of the API, or plain text.
fn error_message(text: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let inner = json.as_ref().and_then(|json| json["error"]["message"].as_str().or(json["message"].as_str()));
    inner.unwrap_or(text).trim().to_owned()
}

/// True if a path is unknown or forbidden, as all paths of our server are to another API.
fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN)
}

/// Credentials that may be sent to another server: tokens, but no client certificate, whose key stays with its owner.
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

/// Root certificates: the published ones (PEM), and those of the system for a proxy with its own certificate.
fn trusted(ca: &str) -> Result<Vec<Vec<u8>>, ConnectError> {
    let published: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(ca.as_bytes()).collect();
    let published = published.map_err(ConnectError::Certificate)?;
    let system = rustls_native_certs::load_native_certs().certs;
    Ok(published.into_iter().chain(system).map(|certificate| certificate.to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sent_to_the_server_and_a_key_is_not() {
        let user: AuthInfo = serde_json::from_value(serde_json::json!({
            "token": "t", "client-certificate-data": "c", "client-key-data": "k", "as": "another",
        }))
        .unwrap();
        let sent = bearer(&user).unwrap();
        assert!(sent.token.is_some());
        assert!(sent.client_key_data.is_none() && sent.client_certificate_data.is_none());
        let certificate: AuthInfo =
            serde_json::from_value(serde_json::json!({"client-key-data": "k"})).unwrap();
        assert!(bearer(&certificate).is_none());
    }

    /// Platform whose server responds to a path with a status, and has no address of its own.
    fn platform(respond: fn(&str) -> StatusCode) -> Platform {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let path = request.uri().path();
            let (status, text) = if path.ends_with(SERVER_CONFIG_MAP) {
                (
                    StatusCode::NOT_FOUND,
                    r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404}"#,
                )
            } else {
                (respond(path), "any text")
            };
            Response::builder().status(status).body(Body::from(text.as_bytes().to_vec()))
        });
        let config = Config::new("https://localhost".parse().unwrap());
        let client = Client::new(service, "default");
        Platform::with_client(config, client)
    }

    #[tokio::test]
    async fn an_api_without_the_server_differs_from_a_server_that_refuses() {
        let other_api = platform(|_| StatusCode::NOT_FOUND);
        let error = other_api.response_error("web", StatusCode::NOT_FOUND, "").await;
        assert!(matches!(error, CliError::NoServer(_)), "{error}");
        let hidden = platform(|_| StatusCode::FORBIDDEN);
        let error = hidden.response_error("web", StatusCode::FORBIDDEN, "").await;
        assert!(matches!(error, CliError::NoServer(_)), "{error}");
        let ours = platform(|path| match path {
            "/orchestra/healthz" => StatusCode::OK,
            _ => StatusCode::FORBIDDEN,
        });
        let error = ours.response_error("web", StatusCode::FORBIDDEN, "").await;
        assert!(matches!(error, CliError::Server { .. }), "{error}");
        let error = ours.response_error("web", StatusCode::NOT_FOUND, "").await;
        assert!(matches!(error, CliError::WorkloadNotFound { .. }), "{error}");
    }
}
