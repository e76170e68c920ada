//! Questions that only the platform's server answers: what would be done, and why things are as they are.

use http::{Method, Request, Response, StatusCode, header};
use kube::client::Body;

use super::{
    platform::{Platform, Trouble, root_cause},
    questions::{self, Server},
};
use crate::args::Format;

/// What the server answers.
pub(super) struct Answer {
    /// The text to print, or JSON.
    pub(super) text: String,
    /// Whether what was proposed would be refused.
    pub(super) is_refused: bool,
}

impl Platform {
    /// Asks the server about a workload.
    pub(super) async fn ask(
        &self,
        method: Method,
        workload: &str,
        question: &str,
        body: Vec<u8>,
        format: Format,
    ) -> Result<Answer, Trouble> {
        let accept = if format == Format::Human { "text/plain" } else { "application/json" };
        let answer = self.send(method, workload, question, accept, body).await?;
        let is_refused = answer.headers().contains_key(orchestra_server::REFUSED);
        let status = answer.status();
        let text = self.text(workload, answer).await?;
        if status.is_success() {
            Ok(Answer { text, is_refused })
        } else {
            Err(self.no(workload, status, &text).await)
        }
    }

    /// Sends a question about a workload to the server. The answer may be a refusal.
    pub(super) async fn send(
        &self,
        method: Method,
        workload: &str,
        question: &str,
        accept: &str,
        body: Vec<u8>,
    ) -> Result<Response<Body>, Trouble> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/orchestra/v1/namespaces/{}/workloads/{workload}/{question}", self.namespace))
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .map_err(|error| Trouble::No(format!("{workload}: {error}")))?;
        let Server { client, url } = self.questions.server(&self.client).await?;
        client.send(request).await.map_err(|error| match url {
            Some(url) => Trouble::Unreachable(questions::unreachable(&url, &root_cause(&error))),
            None => self.trouble(workload, error),
        })
    }

    /// The whole text of an answer.
    pub(super) async fn text(&self, workload: &str, answer: Response<Body>) -> Result<String, Trouble> {
        let bytes = answer.into_body().collect_bytes().await;
        let bytes = bytes.map_err(|error| self.trouble(workload, error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What a refusal means to the user.
    pub(super) async fn no(&self, workload: &str, status: StatusCode, text: &str) -> Trouble {
        match status {
            _ if questions::is_of_other_api(status, text) => Trouble::No(format!(
                "{workload}: there is no orchestrator on this cluster that answers such questions; `orchestra install` installs one, and `orchestra doctor` says what is missing"
            )),
            StatusCode::NOT_FOUND => self.absent(workload).await,
            _ => Trouble::No(format!("{workload}: {}", said(text))),
        }
    }
}

/// What the server said, in whichever form.
fn said(message: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(message).ok();
    let inner = json.as_ref().and_then(|json| json["error"]["message"].as_str().or(json["message"].as_str()));
    inner.unwrap_or(message).trim().to_owned()
}
