//! Verbs on collections and objects. One pipeline for all kinds.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod list_writer;
pub(crate) mod patch;
mod review;
mod scale;
pub(crate) mod selection;
mod token;
pub(crate) mod update;
pub(crate) mod watch;
mod watch_lines;

use axum::{
    body::Body,
    http::{Method, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;

use crate::{
    access::Permit,
    api::Api,
    http::{
        answer::{Answer, add_warnings},
        body, memory,
        negotiate::{Format, negotiate, negotiate_builtin},
        page_not_found,
        query::Query,
        route::Resource,
    },
    kinds::{Kind, builtin},
    ledger::{Expected, WriteError},
    managed_fields::Actor,
    status::{Details, Status},
    store::{Key, Revision},
    stored_object::{self, StoredObject},
    table::Include,
};

/// A request for a resource.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The server.
    pub api: &'a Api,
    /// Its sender, and what they may do.
    pub permit: Permit,
    /// Target of the request.
    pub target: Resource,
    /// Its options.
    pub query: Query,
    /// Its method and headers.
    pub parts: &'a Parts,
    /// Time of the request.
    pub now: String,
}

/// Answers a request for a resource.
pub(crate) async fn answer(
    api: &Api,
    permit: Permit,
    target: Resource,
    query: Query,
    parts: &Parts,
    body: Body,
) -> Response {
    let call = Call { api, permit, target, query, parts, now: api.clock().now() };
    let format = call.format();
    let answered = match format {
        Ok(format) => dispatch(&call, body, format).await,
        Err(status) => Err(status),
    };
    let mut response = match (answered, call.format()) {
        (Ok(response), _) => response,
        (Err(status), Ok(format)) => status.respond(format),
        (Err(status), Err(_)) => status.into_response(),
    };
    if let Some(warning) = &call.target.kind.deprecation {
        add_warnings(&mut response, std::slice::from_ref(warning));
    }
    response
}

async fn dispatch(call: &Call<'_>, body: Body, format: Format) -> Result<Response, Status> {
    call.check_timeout()?;
    let kind = &*call.target.kind;
    let (collection, part) = (call.target.name.is_empty(), call.target.subresource.as_str());
    let allowed = kind.subresources().iter().find(|known| known.name == part).map(|known| known.verbs);
    // Across all namespaces, objects can only be read.
    let across = kind.namespaced && call.target.namespace.is_empty();
    let method = &call.parts.method;
    let verb = match *method {
        Method::GET => "get",
        Method::HEAD if kind.custom => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::POST => "create",
        Method::DELETE => "delete",
        _ => return Err(unknown_method(kind, "")),
    };
    if let Some(allowed) = allowed
        && !allowed.contains(&verb)
    {
        return Err(unknown_method(kind, verb));
    }
    if kind.read_only && verb != "get" {
        return Err(Status::method_not_allowed());
    }
    if let Some(review) = kind.review {
        if verb != "create" {
            return Err(Status::method_not_allowed());
        }
        let answer = review::create(call, review, &body::read(call.parts, body, 0).await?)?;
        return call.respond(answer, format);
    }
    if part == builtin::TOKEN {
        let answer = token::create(call, &body::read(call.parts, body, 0).await?)?;
        return answer.respond(&builtin::TOKEN_REQUEST, format, call.include()?, call.api.clock().seconds());
    }
    let object_bytes = call.object_bytes(verb, format);
    if part == builtin::SCALE_PART
        && let Some(paths) = &kind.scale
    {
        let answer = match verb {
            "get" => scale::read(call, paths).await,
            "update" => scale::update(call, paths, body::read(call.parts, body, object_bytes).await?).await,
            _ => scale::patch(call, paths, body::read(call.parts, body, object_bytes).await?).await,
        }?;
        return answer.respond(&builtin::SCALE, format, call.include()?, call.api.clock().seconds());
    }
    let answer = match (verb, collection) {
        ("get", true) if call.query.flag("watch") => return watch::watch(call, format).await,
        ("get", true) => return list::list(call, format).await,
        ("get", false) => {
            memory::reserve(call.parts, object_bytes).await?;
            get::get(call).await
        }
        ("create" | "delete", true) if kind.custom && across => return Ok(page_not_found()),
        ("create", collection) if !across && (collection || kind.custom) => {
            create::create(call, body::read(call.parts, body, object_bytes).await?).await
        }
        ("update", false) => update::update(call, body::read(call.parts, body, object_bytes).await?).await,
        ("patch", false) => patch::patch(call, body::read(call.parts, body, object_bytes).await?).await,
        ("delete", false) => delete::delete(call, body::read(call.parts, body, object_bytes).await?).await,
        ("delete", true) if kind.delete_collection && !across => {
            let body = body::read(call.parts, body, object_bytes).await?;
            return delete::delete_collection(call, body, format).await;
        }
        ("update" | "patch", true) if kind.custom => {
            return Err(Status::bad_request("name must be provided"));
        }
        _ => return Err(Status::method_not_allowed()),
    }?;
    call.respond(answer, format)
}

fn unknown_method(kind: &Kind, verb: &str) -> Status {
    if !kind.custom {
        return Status::method_not_allowed();
    }
    Status::new(
        405,
        "MethodNotAllowed",
        format!("{verb} is not supported on resources of kind {:?}", kind.qualified_plural()),
    )
    .with_details(Details { group: kind.group.clone(), kind: kind.plural.clone(), ..Details::default() })
}

impl Call<'_> {
    /// The same call for a subresource.
    pub(crate) fn part(&self, subresource: &str) -> Call<'_> {
        let target = Resource { subresource: subresource.to_owned(), ..self.target.clone() };
        Call { target, ..self.with(self.query.clone(), self.parts) }
    }

    /// The same call with other options and headers.
    pub(crate) fn with<'b>(&'b self, query: Query, parts: &'b Parts) -> Call<'b> {
        Call {
            api: self.api,
            permit: self.permit.clone(),
            target: self.target.clone(),
            query,
            parts,
            now: self.now.clone(),
        }
    }

    /// The kind.
    pub(crate) fn kind(&self) -> &Kind {
        &self.target.kind
    }

    /// Key of the object.
    pub(crate) fn key(&self) -> Key {
        self.key_of(&self.target.name)
    }

    /// Key of another object of the same collection.
    pub(crate) fn key_of(&self, name: &str) -> Key {
        Key::new(&self.target.kind.resource, &self.target.namespace, name)
    }

    fn format(&self) -> Result<Format, Status> {
        let pretty = self.query.optional_flag("pretty");
        if self.kind().custom {
            return negotiate(&self.parts.headers, pretty);
        }
        negotiate_builtin(&self.parts.headers, pretty, self.target.name.is_empty())
    }

    /// Checks that the option `timeout` is a duration.
    fn check_timeout(&self) -> Result<(), Status> {
        let timeout = self.query.get("timeout");
        self.query.number("timeoutSeconds")?;
        let digits = timeout.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let known = matches!(digits, "ns" | "us" | "ms" | "s" | "m" | "h")
            || digits.contains(|c: char| c.is_ascii_digit());
        if timeout.is_empty() || timeout == "0" || known && digits.len() < timeout.len() {
            return Ok(());
        }
        Err(Status::bad_request(format!(
            "invalid timeout specified in the request URL - time: invalid duration {timeout:?}"
        )))
    }

    /// Object of a table row.
    pub(crate) fn include(&self) -> Result<Include, Status> {
        match self.query.get("includeObject") {
            "" | "Metadata" => Ok(Include::Metadata),
            "None" => Ok(Include::None),
            "Object" => Ok(Include::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                 'Object', 'None', or empty"
            ))),
        }
    }

    /// Response for an answer.
    pub(crate) fn respond(&self, answer: Answer, format: Format) -> Result<Response, Status> {
        answer.respond(self.kind(), format, self.include()?, self.api.clock().seconds())
    }

    /// Field manager of this request.
    pub(crate) fn actor<'a>(&'a self, api_version: &'a str, manager: &'a str) -> Actor<'a> {
        Actor {
            manager,
            api_version,
            kind: &self.target.kind.kind,
            subresource: &self.target.subresource,
            now: &self.now,
            blank: self.target.kind.blank.as_ref(),
        }
    }

    /// Name of the field manager: the option, or else the user agent.
    pub(crate) fn manager(&self) -> String {
        let given = self.query.get("fieldManager");
        if !given.is_empty() {
            return given.to_owned();
        }
        let agent = self
            .parts
            .headers
            .get(header::USER_AGENT)
            .and_then(|agent| agent.to_str().ok())
            .unwrap_or_default();
        let program = agent.split('/').next().unwrap_or_default();
        // Without control characters, and cut at the maximum length of a manager.
        program.chars().filter(|c| !c.is_control()).take(128).collect()
    }

    /// The media type of the body, without parameters.
    pub(crate) fn content_type(&self) -> &str {
        body::media_type(self.parts)
    }

    /// Memory of the object that is read or changed.
    fn object_bytes(&self, verb: &str, format: Format) -> usize {
        let is_copied = verb == "get" && format == Format::PLAIN;
        if self.target.name.is_empty() || is_copied || !memory::permit(self.parts).has_limits() {
            return 0;
        }
        let Some(object) = self.api.ledger().get(&self.key()) else { return 0 };
        let object = StoredObject { revision: object.revision, bytes: &object.value };
        if verb == "get" { memory::of_answer(object, format) } else { memory::of_change(object) }
    }

    /// Writes to the store; a definition also updates the registry.
    pub(crate) async fn write(
        &self,
        key: Key,
        expected: Expected,
        object: Option<&serde_json::Value>,
    ) -> Result<(Revision, Bytes), WriteError> {
        let bytes = object.map(|object| stored_object::pack(self.kind(), object));
        if bytes.as_ref().is_some_and(|bytes| bytes.len() > MAX_OBJECT_BYTES) {
            return Err(WriteError::TooLarge);
        }
        let definition = &*key.resource == builtin::DEFINITIONS;
        let revision = self.api.ledger().write(key, expected, bytes.clone()).await?;
        if definition {
            self.api.refresh();
        }
        Ok((revision, bytes.unwrap_or_default()))
    }
}

/// Maximum size of an object, as on a real cluster.
const MAX_OBJECT_BYTES: usize = 1_572_864;

/// Status for a failed write. Conflicts are for the caller to handle.
pub(crate) fn failed(error: &WriteError) -> Status {
    match error {
        WriteError::Busy => {
            Status::new(429, "TooManyRequests", "too many writes are waiting; try again later").retry_after(1)
        }
        WriteError::TooLarge => Status::internal("etcdserver: request is too large"),
        WriteError::Full => Status::internal(format!("etcdserver: mvcc: database space exceeded: {error}")),
        // As a real server refuses objects beyond the quota of a namespace.
        WriteError::NamespaceFull { .. } => Status::new(403, "Forbidden", format!("exceeded quota: {error}")),
        WriteError::Conflict(_) => Status::new(409, "Conflict", "the object has changed"),
        WriteError::Store(why) => {
            Status::new(500, "InternalError", format!("Internal error occurred: {why}"))
        }
        WriteError::Ended => Status::new(503, "ServiceUnavailable", "the server is shutting down"),
    }
}
