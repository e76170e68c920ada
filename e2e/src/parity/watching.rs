//! Watches that stay open while the script continues.

use std::time::Duration;

use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle, time};

use super::{script::Collect, target::StreamingBody};

/// Timeout of the next event; then the watch is stalled.
const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

/// Annotation of the bookmark that ends the initial events; the server sends others at any time.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// Open watch, which buffers its events.
pub(super) struct Watching {
    events: mpsc::UnboundedReceiver<Value>,
    reader: JoinHandle<()>,
}

/// Collected events.
pub(super) struct Collected {
    pub(super) events: Vec<Value>,
    /// True if the server ended the watch.
    pub(super) ended: bool,
    /// True if awaited events did not arrive.
    pub(super) stalled: bool,
}

impl Watching {
    pub(super) fn start(mut body: StreamingBody) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let reader = tokio::spawn(async move {
            let mut buffer = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(data) = frame.into_data() else { continue };
                buffer.extend_from_slice(&data);
                while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = buffer.drain(..=end).collect();
                    let event = serde_json::from_slice(&line)
                        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&line).into_owned()));
                    if sender.send(event).is_err() {
                        return;
                    }
                }
            }
        });
        Self { events, reader }
    }

    pub(super) async fn collect(&mut self, wanted: &Collect) -> Collected {
        let mut collected = Collected { events: Vec::new(), ended: false, stalled: false };
        while wanted.events != Some(collected.events.len()) {
            match time::timeout(EVENT_TIMEOUT, self.events.recv()).await {
                Ok(Some(event)) => {
                    let bookmark = event["type"] == "BOOKMARK";
                    let initial = &event["object"]["metadata"]["annotations"][INITIAL_END];
                    if bookmark && initial.is_null() && !wanted.bookmark {
                        continue;
                    }
                    collected.events.push(event);
                    if wanted.bookmark && bookmark {
                        break;
                    }
                }
                Ok(None) => {
                    collected.ended = true;
                    break;
                }
                Err(_) => {
                    collected.stalled = true;
                    break;
                }
            }
        }
        collected
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.reader.abort();
    }
}
