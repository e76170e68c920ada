//! Player of scripts.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::time;

use super::{
    protobuf,
    recording::{Answer, Content},
    script::{Script, Step, Until},
    target::{StreamingBody, Target, TargetError},
    variables::Variables,
    watching::Watching,
};

/// Timeout of a step that waits for a controller.
const STEP_TIMEOUT: Duration = Duration::from_mins(2);
/// Polling interval of such a step.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Responses to a script.
#[derive(Debug, Default)]
pub struct Transcript {
    /// Response to every recorded step.
    pub answers: Vec<Answer>,
    /// Failures that invalidate the recording: failed setup steps, timeouts.
    pub failures: Vec<String>,
}

/// Plays all steps. A failing step does not stop the others, so that all differences are found.
pub async fn play(script: &Script, target: &Target) -> Transcript {
    let mut variables = Variables::default();
    let (namespace, group) = (script.namespace(), script.group());
    for (name, value) in [
        ("core", format!("/api/v1/namespaces/{namespace}")),
        ("crds", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned()),
        ("gv", format!("{group}/v1")),
        ("widgets", format!("/apis/{group}/v1/namespaces/{namespace}/widgets")),
        ("ns", namespace),
        ("group", group),
    ] {
        variables.set(name, Value::String(value));
    }
    let mut player = Player { target, variables, watches: HashMap::new(), transcript: Transcript::default() };
    for step in &script.steps {
        player.play(step).await;
    }
    player.transcript
}

struct Player<'a> {
    target: &'a Target,
    variables: Variables,
    watches: HashMap<String, Watching>,
    transcript: Transcript,
}

impl Player<'_> {
    async fn play(&mut self, step: &Step) {
        let mut answer = match &step.collect {
            Some(wanted) => {
                let mut answer = empty(step);
                answer.request = format!("collect {}", wanted.watch);
                answer.content = Content::Events(self.collect(step).await);
                answer
            }
            None => self.request(step).await.unwrap_or_else(|error| {
                self.failure(step, &error.to_string());
                Answer { content: Content::Text(format!("no answer: {error}")), ..empty(step) }
            }),
        };
        self.save(step, &answer);
        if !step.setup {
            if let (Content::Body(body), false) = (&mut answer.content, step.only.is_empty()) {
                let select = |place: &String| {
                    let place = self.variables.fill_text(place);
                    let value = body.pointer(&place).cloned().unwrap_or_default();
                    (place, value)
                };
                *body = Value::Object(step.only.iter().map(select).collect());
            }
            self.transcript.answers.push(answer);
        } else if answer.status.is_some_and(|status| status >= 300) {
            self.failure(step, &format!("{answer:?}"));
        }
    }

    async fn request(&mut self, step: &Step) -> Result<Answer, TargetError> {
        let deadline = Instant::now() + STEP_TIMEOUT;
        loop {
            let response = self.target.send(self.build(step)?).await?;
            let (parts, body) = response.into_parts();
            let mut answer = empty(step);
            answer.status = Some(parts.status.as_u16());
            answer.headers = compared_headers(&parts.headers);
            if let (Some(name), true) = (&step.watch, parts.status.is_success()) {
                self.watches.insert(name.clone(), Watching::start(body));
                answer.content = Content::Watch(name.clone());
                return Ok(answer);
            }
            answer.content = content(&parts.headers, body, step.text).await?;
            match &step.until {
                Some(until) if !reached(&self.variables, until, &answer) => {
                    if Instant::now() > deadline {
                        self.failure(step, "timed out");
                        return Ok(answer);
                    }
                    time::sleep(POLL_INTERVAL).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    fn build(&self, step: &Step) -> Result<Request<Bytes>, TargetError> {
        let line = self.variables.fill_text(&step.send);
        let (method, path) = line.split_once(' ').ok_or("a request needs a method and a path")?;
        let mut request = Request::builder().method(method).uri(path).body(Bytes::new())?;
        let headers = request.headers_mut();
        headers.insert(header::USER_AGENT, HeaderValue::from_static("parity/1"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        if step.body.is_some() || step.raw.is_some() {
            let kind = step.patch.map_or("application/json", |patch| patch.content_type());
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        if step.protobuf.is_some() || step.base64.is_some() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(protobuf::MEDIA_TYPE));
        }
        for (name, value) in &step.headers {
            let name: HeaderName = name.parse()?;
            match value {
                Some(value) => {
                    headers.insert(name, self.variables.fill_text(value).parse()?);
                }
                None => {
                    headers.remove(name);
                }
            }
        }
        if let Some(body) = &step.body {
            *request.body_mut() = serde_json::to_vec(&self.variables.fill(body))?.into();
        } else if let Some(raw) = &step.raw {
            *request.body_mut() = self.variables.fill_text(raw).into();
        } else if let Some(protobuf) = &step.protobuf {
            *request.body_mut() = protobuf.body(|value| self.variables.fill(value))?;
        } else if let Some(base64) = &step.base64 {
            *request.body_mut() = STANDARD.decode(base64)?.into();
        }
        Ok(request)
    }

    async fn collect(&mut self, step: &Step) -> Vec<Value> {
        let Some(wanted) = &step.collect else { return Vec::new() };
        let Some(watching) = self.watches.get_mut(&wanted.watch) else {
            self.failure(step, "the watch is not open");
            return Vec::new();
        };
        let collected = watching.collect(wanted).await;
        let mut events = collected.events;
        if collected.ended {
            events.push(json!("the server ended the watch"));
        }
        if collected.stalled {
            events.push(json!("nothing more came"));
            self.failure(step, "the watch stalled");
        }
        events
    }

    fn save(&mut self, step: &Step, answer: &Answer) {
        for (name, place) in &step.save {
            let value = match (place.strip_prefix("header:"), &answer.content) {
                (Some(header), _) => {
                    answer.headers.get(header).and_then(|values| values.first()).map(|value| json!(value))
                }
                (None, Content::Body(body)) => body.pointer(place).cloned(),
                (None, Content::Events(events)) => json!(events).pointer(place).cloned(),
                _ => None,
            };
            if value.is_none() {
                self.failure(step, &format!("nothing to save at {place}"));
            }
            self.variables.set(name, value.unwrap_or_else(|| json!(format!("no-{name}"))));
        }
    }

    fn failure(&mut self, step: &Step, what: &str) {
        self.transcript.failures.push(format!("{}: {what}", step.name));
    }
}

fn empty(step: &Step) -> Answer {
    Answer {
        step: step.name.clone(),
        request: step.send.clone(),
        status: None,
        headers: BTreeMap::new(),
        content: Content::Text(String::new()),
    }
}

fn reached(variables: &Variables, until: &Until, answer: &Answer) -> bool {
    let status = until.status.is_none_or(|status| answer.status == Some(status));
    status
        && until.at.iter().all(|(place, wanted)| {
            let Content::Body(body) = &answer.content else { return false };
            let found = body.pointer(&variables.fill_text(place));
            if wanted.is_null() { found.is_none() } else { found == Some(&variables.fill(wanted)) }
        })
}

async fn content(headers: &HeaderMap, body: StreamingBody, text: bool) -> Result<Content, TargetError> {
    let bytes = body.collect().await?.to_bytes();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let parsed = match kind {
        _ if text => None,
        Some(kind) if kind.starts_with("application/yaml") => serde_saphyr::from_slice(&bytes).ok(),
        _ => serde_json::from_slice(&bytes).ok(),
    };
    Ok(match parsed {
        Some(value) => Content::Body(value),
        None => Content::Text(String::from_utf8_lossy(&bytes).into_owned()),
    })
}

/// Headers to compare; the others concern the connection or differ with every request.
fn compared_headers(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    const IGNORED: [&str; 6] =
        ["audit-id", "connection", "content-length", "date", "transfer-encoding", "last-modified"];
    let mut compared = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in headers {
        let name = name.as_str();
        if !IGNORED.contains(&name) && !name.starts_with("x-kubernetes-pf-") {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            compared.entry(name.to_owned()).or_default().push(value);
        }
    }
    compared
}
