//! Questions that only the platform's server answers: what would be done, and why things are as they are.

use http::{Method, Request, StatusCode, header};
use kube::client::Body;

use super::platform::{Platform, Trouble};
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
        let request = Request::builder()
            .method(method)
            .uri(format!("/orchestra/v1/namespaces/{}/workloads/{workload}/{question}", self.namespace))
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .map_err(|error| Trouble::No(format!("{workload}: {error}")))?;
        let broken = |error| self.trouble(workload, error);
        let (head, body) = self.client.send(request).await.map_err(broken)?.into_parts();
        let text = String::from_utf8_lossy(&body.collect_bytes().await.map_err(broken)?).into_owned();
        if head.status.is_success() {
            return Ok(Answer { text, is_refused: head.headers.contains_key(orchestra_server::REFUSED) });
        }
        Err(match head.status {
            // A real API server has no such path: its platform is asked elsewhere.
            StatusCode::NOT_FOUND if text.contains("page not found") => {
                Trouble::No(format!("{workload}: this platform does not answer such questions at its API"))
            }
            StatusCode::NOT_FOUND => self.absent(workload).await,
            _ => Trouble::No(format!("{workload}: {}", said(&text))),
        })
    }
}

/// What the server said, in whichever form.
fn said(message: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(message).ok();
    let inner = json.as_ref().and_then(|json| json["error"]["message"].as_str().or(json["message"].as_str()));
    inner.unwrap_or(message).trim().to_owned()
}
