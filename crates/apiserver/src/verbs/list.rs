//! List: consistent, in pages, not older than the requested version.

use std::time::Duration;

use axum::{http::StatusCode, response::Response};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use orchestra_cel::FieldError;
use serde_json::{Value, json};

use super::{Call, list_writer, selection::Selection};
use crate::{
    http::{
        answer::{self, metadata_only},
        memory,
        negotiate::{Format, Shape},
        query,
    },
    json as codec,
    kinds::Kind,
    status::{Cause, Status},
    store::{Key, Object, Revision},
    stored_object::StoredObject,
    table::Rows,
};

/// Time that a request waits for a future resource version.
const FUTURE_VERSION_TIMEOUT: Duration = Duration::from_secs(3);
/// Objects per read when a selector may drop many of them.
const CHUNK_OBJECTS: usize = 500;

/// Size of the fields of a list beside its objects; of a table, with its columns.
const LIST_HEAD_BYTES: usize = 2048;
/// Size of apiVersion and kind of an item, which are not stored.
const ITEM_TYPE_BYTES: usize = 64;
/// Size of the cells of a row.
const TABLE_ROW_BYTES: usize = 512;
/// Growth of an indented object.
const INDENTATION_FACTOR: usize = 3;

/// Objects of a collection.
#[derive(Debug)]
pub(crate) struct Page {
    /// Revision of the list.
    pub revision: Revision,
    /// The objects.
    pub objects: Vec<(Key, Object)>,
    /// Key of the first object of the next page.
    pub continue_token: Option<String>,
    /// Number of remaining objects.
    pub remaining: Option<usize>,
}

/// Lists a collection.
pub(crate) async fn list(call: &Call<'_>, format: Format) -> Result<Response, Status> {
    check(call)?;
    let page = select(call).await?;
    reserve(call, format, &page).await?;
    respond(call, format, &page)
}

/// Reserves the memory of the answer before it is encoded. The objects themselves are shared with the ledger, and encoded
/// one at a time.
pub(crate) async fn reserve(call: &Call<'_>, format: Format, page: &Page) -> Result<(), Status> {
    let largest = page.objects.iter().map(|(_, object)| object).max_by_key(|object| object.value.len());
    let largest = largest.map_or(0, |object| {
        memory::of_answer(StoredObject { revision: object.revision, bytes: &object.value }, format)
    });
    memory::reserve(call.parts, page.size(format) + largest).await
}

fn check(call: &Call<'_>) -> Result<(), Status> {
    let query = &call.query;
    let (version, matching) = (query.get("resourceVersion"), query.get("resourceVersionMatch"));
    let mut errors = Vec::new();
    let mut forbid = |field: &str, why: &str| errors.push(FieldError::forbidden(field, why));
    if !matching.is_empty() {
        if version.is_empty() {
            forbid(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            );
        }
        if !query.get("continue").is_empty() {
            forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
        }
        if matching == "Exact" && version == "0" {
            forbid(
                "resourceVersionMatch",
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            );
        }
    }
    if query.optional_flag("sendInitialEvents").is_some() {
        forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if !matches!(matching, "" | "Exact" | "NotOlderThan") {
        errors.push(FieldError::not_supported(
            "resourceVersionMatch",
            &json!(matching),
            ["Exact", "NotOlderThan", ""],
        ));
    }
    query::refuse("ListOptions", &errors)
}

/// Objects of a list, or of the deletion of a collection.
pub(crate) async fn select(call: &Call<'_>) -> Result<Page, Status> {
    let selection = Selection::of(call)?;
    let limit = call.query.number("limit")?.filter(|limit| *limit > 0);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    // A list of any version is a list of the current one.
    let limit = if call.query.get("resourceVersion") == "0" { usize::MAX } else { limit };
    let token = call.query.get("continue");
    let (at, after) = if token.is_empty() {
        (version(call, limit != usize::MAX).await?, None)
    } else {
        let version = call.query.get("resourceVersion");
        if !matches!(version, "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let token = Token::read(token)?;
        (token.revision, Some(Key::new(&call.kind().resource, &token.namespace, &token.name)))
    };
    collect(call, &selection, at, after, limit)
}

/// Requested version of a list; `None` for the latest.
async fn version(call: &Call<'_>, paged: bool) -> Result<Option<Revision>, Status> {
    let text = call.query.get("resourceVersion");
    let exact = match call.query.get("resourceVersionMatch") {
        "" => paged && !matches!(text, "" | "0"),
        matching => matching == "Exact",
    };
    let revision = not_older(call, text).await?;
    Ok(revision.filter(|_| exact))
}

/// Waits until the state is not older than a version; refuses versions that are not reached in time.
pub(crate) async fn not_older(call: &Call<'_>, version: &str) -> Result<Option<Revision>, Status> {
    if version.is_empty() {
        return Ok(None);
    }
    let wanted = parse_version(version)
        .map_err(|error| Status::bad_request(format!("invalid resource version: {error}")))?;
    let ledger = call.api.ledger();
    if wanted > ledger.revision() {
        let before = Revision(wanted.0 - 1);
        if tokio::time::timeout(FUTURE_VERSION_TIMEOUT, ledger.changed(before)).await.is_err() {
            let message =
                format!("Timeout: Too large resource version: {version}, current: {}", ledger.revision().0);
            let cause = Cause {
                field: None,
                message: "Too large resource version".to_owned(),
                reason: "ResourceVersionTooLarge",
            };
            return Err(Status::new(504, "Timeout", message).with_causes([cause]).retry_after(1));
        }
    }
    Ok(Some(wanted).filter(|wanted| wanted.0 > 0))
}

/// Parses a resource version.
pub(crate) fn parse_version(text: &str) -> Result<Revision, String> {
    text.parse().map(Revision).map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        )
    })
}

fn collect(
    call: &Call<'_>,
    selection: &Selection,
    mut at: Option<Revision>,
    mut after: Option<Key>,
    limit: usize,
) -> Result<Page, Status> {
    let kind = call.kind();
    let mut objects: Vec<(Key, Object)> = Vec::new();
    loop {
        let wanted = if selection.is_all() { limit } else { CHUNK_OBJECTS.max(limit - objects.len()) };
        let listed = call
            .api
            .ledger()
            .list(&kind.resource, selection.namespace(), after.as_ref(), wanted, at)
            .map_err(|_| expired(after.as_ref()))?;
        at = Some(listed.revision);
        after = listed.objects.last().map(|(key, _)| key.clone()).or(after);
        let mut rest = listed.objects.into_iter();
        for (key, object) in rest.by_ref() {
            let record = StoredObject { revision: object.revision, bytes: &object.value };
            if selection.matches(kind, &key, record) {
                objects.push((key, object));
                if objects.len() == limit {
                    break;
                }
            }
        }
        let full = objects.len() == limit;
        // The next page decides whether any of them matches.
        let more = (listed.more || rest.next().is_some()) && !selection.is_single(kind);
        if full && more || !listed.more {
            let next = objects.last().filter(|_| full && more);
            let continue_token = next.map(|(key, _)| Token::write(listed.revision, key));
            let remaining = (continue_token.is_some() && selection.is_all()).then_some(listed.remaining);
            return Ok(Page { revision: listed.revision, objects, continue_token, remaining });
        }
    }
}

/// Error for a page whose version is too old. Its token continues with the latest version.
fn expired(after: Option<&Key>) -> Status {
    let Some(key) = after else {
        return Status::expired("The resourceVersion for the provided list is too old.");
    };
    let mut status = Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(Token::encode(-1, key));
    status
}

/// Continue token: version and last key of the previous page.
struct Token {
    revision: Option<Revision>,
    namespace: String,
    name: String,
}

impl Token {
    fn write(revision: Revision, last: &Key) -> String {
        Self::encode(i64::try_from(revision.0).unwrap_or(i64::MAX), last)
    }

    fn encode(revision: i64, last: &Key) -> String {
        let start = format!("{}/{}\0", last.namespace, last.name);
        URL_SAFE_NO_PAD.encode(codec::encode(&json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start})))
    }

    fn read(text: &str) -> Result<Self, Status> {
        let invalid = |why: &str| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|error| invalid(&error.to_string()))?;
        let token = codec::decode(&bytes).map_err(|error| invalid(&error.to_string()))?.value;
        if token["v"] != "meta.k8s.io/v1" {
            let version = token["v"].as_str().unwrap_or_default();
            return Err(invalid(&format!("server does not recognize this encoded version {version}")));
        }
        let start = token["start"].as_str().unwrap_or_default().trim_end_matches('\0');
        let (namespace, name) =
            start.split_once('/').ok_or_else(|| invalid("encoded start key does not match the list"))?;
        let revision = match token["rv"].as_i64() {
            None | Some(0) => {
                return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
            }
            Some(number) => u64::try_from(number).ok().map(Revision),
        };
        Ok(Self { revision, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

/// A page as a response.
pub(crate) fn respond(call: &Call<'_>, format: Format, page: &Page) -> Result<Response, Status> {
    let kind = call.kind();
    let metadata = page.metadata(kind.custom && format.shape == Shape::Object);
    let objects = page
        .objects
        .iter()
        .map(|(_, object)| StoredObject { revision: object.revision, bytes: &object.value }.object(kind));
    let size = page.size(format);
    let bytes = match format.shape {
        Shape::Object if format == Format::PLAIN => page.write(kind, &metadata),
        Shape::Object => {
            let head =
                json!({"kind": kind.list_kind, "apiVersion": kind.api_version(), "metadata": metadata});
            let items = objects.map(|object| as_item(kind, object));
            list_writer::write(head, ("items", json!([])), items, format, size)
        }
        Shape::Table => {
            let rows = Rows::of(kind, call.include()?, call.api.clock().seconds());
            let items = objects.map(|object| rows.row(&object));
            list_writer::write(rows.head(&metadata), ("rows", rows.none()), items, format, size)
        }
        Shape::Metadata => {
            let list = if kind.custom {
                "unstructured.UnstructuredList".to_owned()
            } else {
                format!("core.{}", kind.list_kind)
            };
            return Err(Status::new(
                406,
                "NotAcceptable",
                format!("you requested PartialObjectMetadata, but the requested object is a list (*{list})"),
            ));
        }
        Shape::MetadataList => {
            let head = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            });
            let items = objects.map(|object| metadata_only(&object));
            list_writer::write(head, ("items", json!([])), items, format, size)
        }
    };
    Ok(answer::respond(StatusCode::OK, bytes, format, &[]))
}

/// Item of a list. Items of built-in lists have no apiVersion and kind.
fn as_item(kind: &Kind, mut object: Value) -> Value {
    if !kind.custom
        && let Value::Object(fields) = &mut object
    {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

impl Page {
    /// Metadata of the list. Lists of custom objects have an empty `continue` at the end.
    fn metadata(&self, always: bool) -> Value {
        let mut metadata = json!({"resourceVersion": self.revision.0.to_string()});
        if let Some(token) = &self.continue_token {
            metadata["continue"] = json!(token);
        } else if always {
            metadata["continue"] = json!("");
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        metadata
    }

    /// Size of the encoded list, at most except for the indentation of deep objects.
    fn size(&self, format: Format) -> usize {
        let of_type = if format.shape == Shape::Table { TABLE_ROW_BYTES } else { ITEM_TYPE_BYTES };
        let size: usize = self.objects.iter().map(|(_, object)| object.value.len() + of_type).sum();
        let indentation = if format.pretty || format.yaml { INDENTATION_FACTOR } else { 1 };
        LIST_HEAD_BYTES + size * indentation
    }

    /// Joins stored objects to a list, without parsing them.
    fn write(&self, kind: &Kind, metadata: &Value) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size(Format::PLAIN));
        out.extend_from_slice(b"{\"kind\":");
        codec::encode_into(&mut out, &json!(kind.list_kind));
        out.extend_from_slice(b",\"apiVersion\":");
        codec::encode_into(&mut out, &json!(kind.api_version()));
        out.extend_from_slice(b",\"metadata\":");
        codec::encode_into(&mut out, metadata);
        out.extend_from_slice(b",\"items\":[");
        for (at, (_, object)) in self.objects.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            let record = StoredObject { revision: object.revision, bytes: &object.value };
            if !record.is_current(kind) {
                codec::encode_into(&mut out, &as_item(kind, record.object(kind)));
            } else if kind.custom {
                record.write_as(kind, &mut out);
            } else {
                record.write(&mut out);
            }
        }
        out.extend_from_slice(b"]}\n");
        out
    }
}
