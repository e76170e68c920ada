//! Watch: a cursor in the order of all changes, with a filter. A slow client needs no buffer: events are written when
//! it reads, and if those it missed are dropped, it gets `410 Gone` and lists again.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use orchestra_cel::FieldError;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{
    Call,
    list::{not_older, parse_version},
    selection::Selection,
    watch_lines::Lines,
};
use crate::{
    access::Permit,
    api::Api,
    http::{
        answer::reshape,
        negotiate::{Format, Shape},
        query,
    },
    json as codec,
    kinds::{Kind, builtin},
    ledger::{Event, TooOld},
    status::Status,
    store::{Key, Object, Revision},
    stored_object::StoredObject,
    table::Include,
};

/// Events that are read at a time.
const EVENT_BATCH: usize = 256;
/// Interval of bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_mins(1);
/// Time between the last bookmark and the end.
const LAST_BOOKMARK_LEAD: Duration = Duration::from_secs(2);
/// Maximum timeout: a year can be added to any instant, and no connection lives that long.
const MAX_TIMEOUT_SECONDS: u64 = 365 * 86_400;
/// Bytes of events in a chunk.
const MAX_CHUNK_BYTES: usize = 256 * 1024;
/// Watches without a timeout end after this and at most twice this.
const MIN_DEFAULT_TIMEOUT_SECONDS: u64 = 1800;

/// Watches a collection.
pub(crate) async fn watch(call: &Call<'_>, format: Format) -> Result<Response, Status> {
    if format.yaml {
        return Err(Status::new(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json;stream=watch, \
             application/vnd.kubernetes.protobuf;stream=watch",
        ));
    }
    check(call)?;
    let version = call.query.get("resourceVersion");
    if call.query.flag("sendInitialEvents") && parse_version(version).is_ok() {
        not_older(call, version).await?;
    }
    let watcher = Watcher::start(call, format)?;
    let stream = futures_util::stream::unfold(watcher, |mut watcher| async move {
        let chunk = watcher.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), watcher))
    });
    let mut response = Response::new(Body::from_stream(stream));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn check(call: &Call<'_>) -> Result<(), Status> {
    let matching = call.query.get("resourceVersionMatch");
    let initial = call.query.optional_flag("sendInitialEvents");
    let mut errors = Vec::new();
    if initial.is_some() && matching != "NotOlderThan" {
        errors.push(FieldError::forbidden(
            "resourceVersionMatch",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    // Without a version, a watch starts with the existing objects, and is checked like one with initial events.
    let from_start = matches!(call.query.get("resourceVersion"), "" | "0") && initial.is_none();
    if from_start && matching.is_empty() && !call.query.get("continue").is_empty() {
        errors.push(FieldError::forbidden(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    if !matching.is_empty() {
        if initial.is_none() {
            errors.push(FieldError::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if matching != "NotOlderThan" {
            errors.push(FieldError::not_supported(
                "resourceVersionMatch",
                &json!(matching),
                ["NotOlderThan"],
            ));
        }
        if !call.query.get("continue").is_empty() {
            errors.push(FieldError::forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
    }
    query::refuse("ListOptions", &errors)
}

/// State of one watch.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts about one watch")]
struct Watcher {
    api: Api,
    permit: Permit,
    kind: Arc<Kind>,
    selection: Selection,
    format: Format,
    include: Include,
    /// Last revision that was read.
    cursor: Revision,
    /// Initial objects that are not sent yet.
    initial: VecDeque<(Key, Object)>,
    /// A bookmark marks the end of the initial objects.
    bookmark_initial: bool,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    /// Only the first row of a table has headings.
    headings_sent: bool,
    /// Lines that are not sent yet.
    lines: Lines,
    ended: bool,
}

impl Watcher {
    fn start(call: &Call<'_>, format: Format) -> Result<Self, Status> {
        let selection = Selection::of(call)?;
        let version = call.query.get("resourceVersion");
        let initial_events = call.query.optional_flag("sendInitialEvents");
        let revision = match version {
            "" | "0" => None,
            text => Some(parse_version(text).map_err(Status::internal)?),
        };
        let from_start = initial_events.unwrap_or(revision.is_none());
        let seconds = call.query.number("timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok());
        let seconds = seconds
            .filter(|seconds| *seconds > 0)
            .unwrap_or_else(random_timeout_seconds)
            .min(MAX_TIMEOUT_SECONDS)
            .min(call.permit.expires_in(call.api).unwrap_or(u64::MAX));
        let bookmarks = call.query.flag("allowWatchBookmarks");
        let now = Instant::now();
        let ledger = call.api.ledger();
        let (cursor, initial) = if from_start {
            let listed = ledger
                .list(&call.kind().resource, selection.namespace(), None, usize::MAX, None)
                .map_err(|error| Status::internal(error.to_string()))?;
            (listed.revision, listed.objects.into())
        } else {
            (revision.unwrap_or_else(|| ledger.revision()), VecDeque::new())
        };
        Ok(Self {
            api: call.api.clone(),
            permit: call.permit.clone(),
            kind: Arc::clone(&call.target.kind),
            selection,
            format,
            include: call.include()?,
            cursor,
            initial,
            bookmark_initial: from_start && bookmarks,
            bookmarks,
            next_bookmark: now + first_bookmark(seconds),
            end: now + Duration::from_secs(seconds),
            headings_sent: false,
            lines: Lines::default(),
            ended: false,
        })
    }

    /// Next part of the lines; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.lines.next_frame() {
                return Some(frame);
            }
            // A change of rights is an event like any other, which wakes the watch up.
            if self.ended
                || Instant::now() >= self.end
                || self.api.is_stopped()
                || !self.permit.still_holds(&self.api)
            {
                return None;
            }
            self.write_initial();
            if self.lines.is_empty() {
                self.write_events();
            }
            if self.lines.is_empty() && !self.ended {
                self.wait().await;
            }
        }
    }

    fn write_initial(&mut self) {
        while self.lines.len() < MAX_CHUNK_BYTES
            && let Some((key, object)) = self.initial.pop_front()
        {
            let record = StoredObject { revision: object.revision, bytes: &object.value };
            if self.selection.matches(&self.kind, &key, record) {
                self.write_object("ADDED", object.revision, &object.value);
            }
        }
        if self.initial.is_empty() && self.bookmark_initial {
            self.bookmark_initial = false;
            self.write_bookmark(true);
        }
    }

    fn write_events(&mut self) {
        if !self.initial.is_empty() {
            return;
        }
        let since = self.kind.since;
        let events = if self.cursor < since {
            // The kind was not served before that.
            Err(TooOld { oldest: since })
        } else {
            self.api.ledger().events(self.cursor, EVENT_BATCH)
        };
        match events {
            Ok(events) => {
                for event in events {
                    if self.lines.len() >= MAX_CHUNK_BYTES || self.ended {
                        break;
                    }
                    self.cursor = event.revision;
                    if *event.key.resource == *self.kind.resource {
                        self.write_change(&event);
                    }
                    // A watch ends when the definition of its kind changes or is deleted.
                    self.ended |= self.kind.custom && redefines(&event, &self.kind.resource);
                }
            }
            Err(error) => {
                let message = format!("too old resource version: {} ({})", self.cursor.0, error.oldest.0);
                let status = Status::expired(message).to_value();
                self.lines.write("ERROR", &codec::encode(&status));
                self.ended = true;
            }
        }
    }

    /// Writes the event of a change: an object that starts to match is added, one that stops to match is deleted.
    fn write_change(&mut self, event: &Event) {
        let revision = event.revision;
        let matches = |bytes: &Option<Bytes>| {
            bytes.as_ref().is_some_and(|bytes| {
                self.selection.matches(&self.kind, &event.key, StoredObject { revision, bytes })
            })
        };
        let (kind, bytes) = match (matches(&event.previous), matches(&event.value)) {
            (false, true) => ("ADDED", &event.value),
            (true, true) => ("MODIFIED", &event.value),
            (true, false) => ("DELETED", &event.previous),
            (false, false) => return,
        };
        if let Some(bytes) = bytes {
            self.write_object(kind, revision, bytes);
        }
    }

    fn write_object(&mut self, event: &str, revision: Revision, bytes: &Bytes) {
        let record = StoredObject { revision, bytes };
        if self.format.shape == Shape::Object && record.is_current(&self.kind) {
            self.lines.write_stored(event, &self.kind, revision, bytes);
            return;
        }
        let object = record.object(&self.kind);
        let now = self.api.clock().seconds();
        // Events have no list shape: each has the metadata of one object.
        let shape =
            if self.format.shape == Shape::MetadataList { Shape::Metadata } else { self.format.shape };
        let Ok(mut shaped) = reshape(&self.kind, object, shape, self.include, now) else { return };
        if shape == Shape::Table && std::mem::replace(&mut self.headings_sent, true) {
            shaped["columnDefinitions"] = Value::Null;
        }
        self.lines.write(event, &codec::encode(&shaped));
    }

    fn write_bookmark(&mut self, initial: bool) {
        let mut metadata = json!({"resourceVersion": self.cursor.0.to_string()});
        if initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version) = match self.format.shape {
            Shape::Metadata | Shape::MetadataList => {
                ("PartialObjectMetadata".to_owned(), "meta.k8s.io/v1".to_owned())
            }
            _ => (self.kind.kind.clone(), self.kind.api_version()),
        };
        let mut bookmark = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        if self.format.shape == Shape::Table {
            // A bookmark in a table is a row without content.
            let now = self.api.clock().seconds();
            let row = reshape(&self.kind, bookmark.clone(), Shape::Table, self.include, now);
            bookmark = row.unwrap_or(bookmark);
            if std::mem::replace(&mut self.headings_sent, true) {
                bookmark["columnDefinitions"] = Value::Null;
            }
        } else if self.format.shape == Shape::Object
            && let (Some(Value::Object(blank)), Value::Object(fields)) = (&self.kind.blank, &mut bookmark)
        {
            for (name, value) in blank.iter().filter(|(name, _)| *name != "metadata") {
                fields.insert(name.clone(), value.clone());
            }
        }
        self.lines.write("BOOKMARK", &codec::encode(&bookmark));
    }

    /// Waits for a change, the time of a bookmark, or the end.
    async fn wait(&mut self) {
        let api = self.api.clone();
        tokio::select! {
            more = api.ledger().changed(self.cursor) => self.ended = !more,
            () = sleep_until(self.end) => self.ended = true,
            () = api.stopped() => self.ended = true,
            () = sleep_until(self.next_bookmark), if self.bookmarks => {
                self.write_bookmark(false);
                let last = self.end.checked_sub(LAST_BOOKMARK_LEAD).unwrap_or(self.end);
                let next = Instant::now() + BOOKMARK_INTERVAL;
                self.next_bookmark = if Instant::now() < last { next.min(last) } else { self.end + BOOKMARK_INTERVAL };
            }
        }
    }
}

/// Delay of the first bookmark: before the end, if the watch is long enough.
fn first_bookmark(seconds: u64) -> Duration {
    let before_end =
        Duration::from_secs(seconds).checked_sub(LAST_BOOKMARK_LEAD).filter(|wait| !wait.is_zero());
    before_end.map_or(BOOKMARK_INTERVAL, |wait| wait.min(BOOKMARK_INTERVAL))
}

/// True if an event changes or deletes the definition of a resource.
fn redefines(event: &Event, resource: &str) -> bool {
    if *event.key.resource != *builtin::DEFINITIONS || *event.key.name != *resource {
        return false;
    }
    let spec = |bytes: &Option<Bytes>| {
        bytes.as_ref().map(|bytes| StoredObject { revision: event.revision, bytes }.stored()["spec"].take())
    };
    event.previous.is_some() && spec(&event.previous) != spec(&event.value)
}

/// Random timeout, so that not all clients reconnect at once.
fn random_timeout_seconds() -> u64 {
    let random = uuid::Uuid::new_v4().as_u64_pair().1;
    MIN_DEFAULT_TIMEOUT_SECONDS + random % MIN_DEFAULT_TIMEOUT_SECONDS
}
