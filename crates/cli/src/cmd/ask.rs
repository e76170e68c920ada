//! Questions that only the platform's server answers: what would be done, and why things are as they are.

use http::{Method, Request, header};

use super::platform::{Platform, Trouble};
use crate::args::Format;

impl Platform {
    /// Asks the server about a workload; the answer is the text to print, or JSON.
    pub(super) async fn ask(
        &self,
        method: Method,
        workload: &str,
        question: &str,
        body: Vec<u8>,
        format: Format,
    ) -> Result<String, Trouble> {
        let accept = if format == Format::Human { "text/plain" } else { "application/json" };
        let request = Request::builder()
            .method(method)
            .uri(format!("/orchestra/v1/namespaces/{}/workloads/{workload}/{question}", self.namespace))
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|error| Trouble::No(format!("{workload}: {error}")))?;
        self.client.request_text(request).await.map_err(|error| match error {
            // A real API server has no such path: its platform is asked elsewhere.
            kube::Error::Api(status) if status.code == 404 && status.message.contains("page not found") => {
                Trouble::No(format!("{workload}: this platform does not answer such questions at its API"))
            }
            kube::Error::Api(status) => Trouble::No(format!("{workload}: {}", said(&status.message))),
            error => self.trouble(workload, error),
        })
    }
}

/// What the server said, in whichever form.
fn said(message: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(message).ok();
    let inner = json.as_ref().and_then(|json| json["error"]["message"].as_str());
    inner.unwrap_or(message).trim().to_owned()
}
