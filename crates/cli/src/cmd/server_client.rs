//! Client of the orchestrator's server, which answers `plan`, `explain`, `events` and `logs`.
//!
//! On a laptop the server is part of the API's address. On a cluster it has its own, published in a config map, and takes the
//! user's token.

use http::{Method, Request, Response, StatusCode, header};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, Config, client::Body, config::AuthInfo};
use orchestra_api::SYSTEM_NAMESPACE;
use orchestra_server::{Code, ERROR_CODE, REFUSED};
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
        let is_refused = response.headers().contains_key(REFUSED);
        let bytes = response.into_body().collect_bytes().await;
        let bytes = bytes.map_err(|error| self.api_error(workload, error))?;
        Ok(ServerResponse { text: String::from_utf8_lossy(&bytes).into_owned(), is_refused })
    }

    /// Sends a request about a workload to the server. The response is successful.
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
        let endpoint = self.server.endpoint(&self.client).await;
        let Endpoint { client, url } = endpoint.map_err(|error| match error {
            CliError::Unauthorized(_) => self.unauthorized(error),
            error => error,
        })?;
        let response = client.send(request).await.map_err(|error| match url {
            Some(url) => CliError::ServerUnreachable { url, source: ConnectError::Client(error) },
            None => self.api_error(workload, error),
        })?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.response_error(workload, response).await)
        }
    }

    /// Error of a response.
    async fn response_error(&self, workload: &str, response: Response<Body>) -> CliError {
        let status = response.status();
        let is_ours = response.headers().contains_key(ERROR_CODE);
        let code = response.headers().get(ERROR_CODE).and_then(|code| Code::of_name(code.to_str().ok()?));
        let bytes = match response.into_body().collect_bytes().await {
            Ok(bytes) => bytes,
            Err(error) => return self.api_error(workload, error),
        };
        let workload = workload.to_owned();
        if code == Some(Code::NotFound) {
            self.workload_not_found(&workload).await
        } else if !is_ours && matches!(status, StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) {
            // To another API, all paths of our server are unknown or forbidden.
            CliError::NoServer(workload)
        } else {
            let message = error_message(&String::from_utf8_lossy(&bytes));
            let error = CliError::Server { workload, source: ServerError { code, message } };
            if status == StatusCode::UNAUTHORIZED { self.unauthorized(error) } else { error }
        }
    }
}

/// Error response of the server.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ServerError {
    /// Code, if this binary knows it.
    pub(crate) code: Option<Code>,
    /// Message for users.
    message: String,
}

impl CliError {
    /// True for an error response of the server with this code.
    pub(super) fn has_code(&self, expected: Code) -> bool {
        matches!(self, Self::Server { source, .. } if source.code == Some(expected))
    }
}

/// Message of an error response: JSON of the server or of the API, or plain text.
fn error_message(text: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    let inner = json.as_ref().and_then(|json| json["error"]["message"].as_str().or(json["message"].as_str()));
    inner.unwrap_or(text).trim().to_owned()
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

    /// Error of a request to a server without an address of its own, which responds with this status and code.
    async fn error(status: StatusCode, code: Option<Code>) -> CliError {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let path = request.uri().path();
            let response = Response::builder();
            if path.ends_with(SERVER_CONFIG_MAP) {
                let missing = r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404}"#;
                return response.status(404).body(Body::from(missing.as_bytes().to_vec()));
            }
            let response = code
                .into_iter()
                .fold(response.status(status), |response, code| response.header(ERROR_CODE, code.name()));
            response.body(Body::from(b"any text".to_vec()))
        });
        let config = Config::new("https://localhost".parse().unwrap());
        let platform = Platform::with_client(config, Client::new(service, "default"));
        let sent = platform.query(Method::GET, "web", "explain", Vec::new(), Format::Human).await;
        sent.err().unwrap()
    }

    #[tokio::test]
    async fn the_code_of_the_server_decides_what_is_missing() {
        for status in [StatusCode::NOT_FOUND, StatusCode::FORBIDDEN] {
            let error = error(status, None).await;
            assert!(matches!(error, CliError::NoServer(_)), "{error}");
        }
        let forbidden = error(StatusCode::FORBIDDEN, Some(Code::Forbidden)).await;
        assert_eq!(forbidden.to_string(), "web: any text");
        let missing = error(StatusCode::NOT_FOUND, Some(Code::NotFound)).await;
        assert!(matches!(missing, CliError::WorkloadNotFound { .. }), "{missing}");
        let unknown_route = error(StatusCode::NOT_FOUND, Some(Code::NoSuchPath)).await;
        assert_eq!(unknown_route.to_string(), "web: any text");
    }
}
