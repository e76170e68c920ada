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
        self.client.request_text(request).await.map_err(|error| self.trouble(workload, error))
    }
}
