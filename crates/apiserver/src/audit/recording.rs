//! Recording of one request, from its arrival to its answer.

use std::{
    borrow::Cow,
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Method, Uri, header, request::Parts},
    response::Response,
};
use futures_util::StreamExt;
use uuid::Uuid;

use super::{
    AuditLog, Scope,
    event::{Event, ObjectRef, ResponseStatus, Stage, User, micro_time},
    scope::Facts,
    text::{self, MAX_NAME, MAX_USER_AGENT, clean},
};
use crate::{
    access::{AccessRequest, Caller, attributes::Attributes, policy::Decision},
    clock::Clock,
    http::limits::InProcess,
    kinds::Kind,
};

/// Header of an answer with the id of its event.
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
/// Bytes of a line; longer ones are written without groups and attributes of the user.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Name of a created object, which the path does not have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Created(Arc<OnceLock<String>>);

impl Created {
    /// Notes the name, if the request is recorded.
    pub(crate) fn note(parts: &Parts, name: &str) {
        if let Some(created) = parts.extensions.get::<Self>() {
            // The same name may be noted twice.
            let _ = created.0.set(name.to_owned());
        }
    }
}

/// Reason of an error, as an extension of its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reason(pub(crate) &'static str);

/// Recording of a request. It is written when the request is answered, or when its client leaves before.
#[derive(Debug, Default)]
pub struct Recording(Option<Box<Recorded>>);

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one request")]
struct Recorded {
    log: AuditLog,
    scope: Scope,
    clock: Clock,
    id: Option<String>,
    received: i64,
    method: Method,
    uri: Uri,
    user_agent: Option<HeaderValue>,
    source: Option<IpAddr>,
    is_own: bool,
    is_sensitive: bool,
    is_long: bool,
    caller: Option<Arc<Caller>>,
    acting: Option<Arc<Caller>>,
    wanted: Option<Arc<Attributes>>,
    kind: Option<Arc<Kind>>,
    created: Option<Created>,
    decision: Option<(bool, String)>,
    reason: Cow<'static, str>,
    code: Option<u16>,
    is_done: bool,
}

impl Recording {
    /// Recording of a request, if the log records such requests at all.
    pub(crate) fn begin(log: &AuditLog, clock: &Clock, parts: &Parts) -> Self {
        let Some(scope) = log.scope() else { return Self(None) };
        let is_own = parts.extensions.get::<InProcess>().is_some();
        if is_own && scope != Scope::All {
            return Self(None);
        }
        Self(Some(Box::new(Recorded {
            log: log.clone(),
            scope,
            clock: clock.clone(),
            id: None,
            received: clock.micros(),
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            user_agent: parts.headers.get(header::USER_AGENT).cloned(),
            source: parts.extensions.get::<SocketAddr>().map(|address| address.ip().to_canonical()),
            is_own,
            is_sensitive: false,
            is_long: false,
            caller: None,
            acting: None,
            wanted: None,
            kind: None,
            created: None,
            decision: None,
            reason: Cow::Borrowed(""),
            code: None,
            is_done: false,
        })))
    }

    /// The caller is authenticated.
    pub fn caller(&mut self, caller: impl Into<Arc<Caller>>) {
        if let Some(recorded) = &mut self.0 {
            recorded.caller = Some(caller.into());
        }
    }

    /// What the request wants. If it is sensitive, it is recorded though it only reads.
    pub fn wants(&mut self, wanted: AccessRequest<'_>, is_sensitive: bool) {
        if let Some(recorded) = &mut self.0 {
            recorded.wanted = Some(Arc::new(wanted.attributes()));
            recorded.is_sensitive = is_sensitive;
        }
    }

    /// The answer takes as long as the client listens: its begin and its end are recorded.
    pub fn set_long(&mut self) {
        if let Some(recorded) = &mut self.0 {
            recorded.is_long = true;
        }
    }

    /// Machine-readable reason of an error.
    pub fn set_reason(&mut self, reason: &str) {
        if let Some(recorded) = &mut self.0 {
            recorded.reason = Cow::Owned(clean(reason, MAX_NAME).into_owned());
        }
    }

    /// What the request wants, and of which kind.
    pub(crate) fn target(&mut self, wanted: &Arc<Attributes>, kind: Option<&Arc<Kind>>, is_long: bool) {
        if let Some(recorded) = &mut self.0 {
            recorded.wanted = Some(Arc::clone(wanted));
            recorded.kind = kind.cloned();
            recorded.is_long = is_long;
        }
    }

    /// User that the caller acts as.
    pub(crate) fn acting(&mut self, user: &Arc<Caller>) {
        if let Some(recorded) = &mut self.0 {
            recorded.acting = Some(Arc::clone(user));
        }
    }

    /// Decision of the authoriser.
    pub(crate) fn decided(&mut self, decision: &Decision<'_>) {
        // Most reads are allowed and not recorded: their reason is not needed.
        if let Some(recorded) = &mut self.0
            && (!decision.is_allowed() || recorded.is_covered())
        {
            recorded.decision = Some((decision.is_allowed(), decision.reason()));
        }
    }

    /// Place for the name of the object that a request creates.
    pub(crate) fn created(&mut self) -> Option<Created> {
        let recorded = self.0.as_mut().filter(|recorded| recorded.method == Method::POST)?;
        Some(recorded.created.insert(Created::default()).clone())
    }

    /// Records the answer, before the client gets it.
    pub async fn finish(mut self, mut response: Response) -> Response {
        let Some(recorded) = &mut self.0 else { return response };
        let code = response.status().as_u16();
        recorded.code = Some(code);
        if !recorded.is_covered() {
            recorded.is_done = true;
            return response;
        }
        if let Some(Reason(reason)) = response.extensions().get() {
            recorded.reason = Cow::Borrowed(reason);
        }
        let id = recorded.id.insert(Uuid::new_v4().to_string());
        if let Ok(id) = HeaderValue::from_str(id) {
            response.headers_mut().insert(AUDIT_ID, id);
        }
        let is_long = recorded.is_long && response.status().is_success();
        let stage = if is_long { Stage::ResponseStarted } else { Stage::ResponseComplete };
        recorded.log.send(recorded.line(stage)).await;
        if is_long {
            // Dropped with the answer, which records its end.
            let ended = self.0.take();
            return response.map(|body| {
                Body::from_stream(body.into_data_stream().inspect(move |_| {
                    let _until_the_end = &ended;
                }))
            });
        }
        recorded.is_done = true;
        response
    }
}

impl Recorded {
    fn is_covered(&self) -> bool {
        self.scope.covers(Facts {
            is_own: self.is_own,
            is_sensitive: self.is_sensitive,
            wanted: self.wanted.as_deref(),
            code: self.code,
        })
    }

    fn line(&self, stage: Stage) -> Vec<u8> {
        let id = self.id.as_deref().unwrap_or_default();
        let user = self.caller.as_deref().map(User::of).unwrap_or_default();
        let uri = text::uri(&self.uri);
        let mut event = Event::new(id, stage, user);
        event.request_uri = &uri;
        event.verb = match &self.wanted {
            Some(wanted) => Cow::Borrowed(&*wanted.verb),
            None => Cow::Owned(clean(&self.method.as_str().to_ascii_lowercase(), MAX_NAME).into_owned()),
        };
        event.impersonated_user = self.acting.as_deref().map(User::of);
        event.source_ips = self.source.map(|source| [source]);
        let user_agent = self.user_agent.as_ref().map(|agent| String::from_utf8_lossy(agent.as_bytes()));
        if let Some(agent) = &user_agent {
            event.user_agent = clean(agent, MAX_USER_AGENT);
        }
        let version = self.kind.as_ref().map_or("", |kind| &kind.version);
        let created = self.created.as_ref().and_then(|created| created.0.get()).map(String::as_str);
        event.object_ref = self.wanted.as_deref().and_then(|wanted| ObjectRef::of(wanted, version, created));
        event.response_status = self.code.map(|code| ResponseStatus::new(code, &self.reason));
        event.request_received_timestamp = micro_time(self.received);
        event.stage_timestamp = micro_time(self.clock.micros());
        if let Some((is_allowed, reason)) = self.decision() {
            let decision = if is_allowed { "allow" } else { "forbid" };
            event.annotations.insert("authorization.k8s.io/decision", decision.into());
            event.annotations.insert("authorization.k8s.io/reason", clean(reason, MAX_USER_AGENT));
        }
        if self.code.is_none() {
            event.annotations.insert("orchestra/aborted", "the client left before the answer".into());
        }
        let line = event.line();
        if line.len() <= MAX_LINE_BYTES {
            return line;
        }
        event.shorten();
        event.line()
    }

    /// Decision and its reason, by the code if another server has decided.
    fn decision(&self) -> Option<(bool, &str)> {
        match (&self.decision, self.code) {
            (Some((is_allowed, reason)), _) => Some((*is_allowed, reason)),
            (None, Some(403)) => Some((false, "")),
            (None, Some(code)) if code < 400 => Some((true, "")),
            (None, _) => None,
        }
    }
}

impl Drop for Recorded {
    /// Records the end of a long answer, and a request whose client has left: it may have changed something.
    fn drop(&mut self) {
        if self.is_done || !self.is_covered() {
            return;
        }
        if self.id.is_none() {
            self.id = Some(Uuid::new_v4().to_string());
        }
        self.log.try_send(self.line(Stage::ResponseComplete));
    }
}
