//! Tokens of service accounts: `POST …/serviceaccounts/{name}/token`.

use axum::http::StatusCode;
use bytes::Bytes;
use orchestra_cel::{FieldError, time};
use serde_json::{Value, json};

use super::Call;
use crate::{
    access::{
        caller,
        token::{Bound, Claims, ISSUER, ObjectRef},
    },
    admission,
    http::answer::{Answer, Content},
    kinds::{Kind, builtin},
    managed_fields::{self, Actor},
    objects::decode,
    status::{Details, Status},
    store::Key,
    stored_object::StoredObject,
};

const MIN_SECONDS: i64 = 600;
/// Longest time that a real server accepts in a request.
const MAX_REQUESTED_SECONDS: i64 = 1 << 32;
/// Longest validity of a token: a year. Longer requests are shortened with a warning.
const MAX_SECONDS: i64 = 365 * 86_400;
const DEFAULT_SECONDS: i64 = 3600;

/// Issues a token for a service account.
pub(crate) fn create(call: &Call<'_>, body: &Bytes) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let kind = &*builtin::TOKEN_REQUEST;
    let incoming = decode::object(kind, call.content_type(), body, call.query.field_validation())?;
    let mut warnings = incoming.warnings;
    match issue(call, kind, incoming.object, &mut warnings) {
        Ok(object) => Ok(Answer { code: StatusCode::CREATED, content: Content::Object(object), warnings }),
        Err(status) => Err(status.warn(&warnings)),
    }
}

fn issue(
    call: &Call<'_>,
    kind: &Kind,
    mut object: Value,
    warnings: &mut Vec<String>,
) -> Result<Value, Status> {
    let (namespace, name) = (&*call.target.namespace, &*call.target.name);
    decode::fit_namespace(kind, &mut object, namespace)?;
    check_name(kind, &object, name)?;
    admission::create(call, &json!({"metadata": {"name": name}}))?;
    let account =
        read(call, builtin::SERVICE_ACCOUNTS, name).ok_or_else(|| Status::not_found(call.kind(), name))?;
    let uid = text(&account["metadata"], "uid").to_owned();
    let given = text(&object["metadata"], "uid");
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        return Err(conflict("TokenRequest", kind, name, &why));
    }
    let seconds = object["spec"]["expirationSeconds"].as_i64().unwrap_or(DEFAULT_SECONDS);
    check_seconds(kind, seconds)?;
    let secret = bound_secret(call, &object["spec"]["boundObjectRef"])?;
    let granted = seconds.min(MAX_SECONDS);
    if granted < seconds {
        warnings.push(format!("requested expiration of {seconds} seconds shortened to {granted} seconds"));
    }
    let mut audiences = texts(&object["spec"]["audiences"]);
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    let now = call.api.clock().seconds();
    let claims = Claims {
        aud: audiences.clone(),
        exp: now.saturating_add(granted),
        iat: now,
        iss: ISSUER.to_owned(),
        jti: uuid::Uuid::new_v4().to_string(),
        bound: Bound {
            namespace: namespace.to_owned(),
            secret,
            serviceaccount: ObjectRef { name: name.to_owned(), uid: uid.clone() },
        },
        nbf: now,
        sub: caller::account_user(namespace, name),
    };
    object["spec"]["expirationSeconds"] = json!(granted);
    let token = call.api.access().tokens().sign(&claims);
    let token = token.map_err(|_| Status::internal("failed to generate token: no random numbers"))?;
    object = own(call, kind, object);
    for (field, value) in
        [("name", name), ("namespace", namespace), ("uid", &uid), ("creationTimestamp", &call.now)]
    {
        object["metadata"][field] = json!(value);
    }
    let reference = object["spec"]["boundObjectRef"].take();
    object["spec"] =
        json!({"audiences": audiences, "expirationSeconds": granted, "boundObjectRef": reference});
    object["status"] = json!({"token": token, "expirationTimestamp": time::rfc3339(claims.exp)});
    Ok(object)
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn read(call: &Call<'_>, resource: &str, name: &str) -> Option<Value> {
    let object = call.api.ledger().get(&Key::new(resource, &call.target.namespace, name))?;
    Some(StoredObject { revision: object.revision, bytes: &object.value }.stored())
}

/// Checks the name of a request, which may be absent.
fn check_name(kind: &Kind, object: &Value, name: &str) -> Result<(), Status> {
    let given = text(&object["metadata"], "name");
    if given.is_empty() || given == name {
        return Ok(());
    }
    let why = "must match the service account name if specified";
    let error = FieldError::invalid("metadata.name", &json!(given), why);
    Err(Status::invalid(&kind.group, &kind.kind, name, &[error]))
}

fn check_seconds(kind: &Kind, seconds: i64) -> Result<(), Status> {
    let why = if seconds < MIN_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > MAX_REQUESTED_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let error = FieldError::invalid("spec.expirationSeconds", &json!(seconds), why);
    Err(Status::invalid(&kind.group, &kind.kind, "", &[error]))
}

/// Secret that a token is bound to. There are no pods and nodes, so that those are not found.
fn bound_secret(call: &Call<'_>, reference: &Value) -> Result<Option<ObjectRef>, Status> {
    if !reference.is_object() {
        return Ok(None);
    }
    let (api_version, kind, name) =
        (text(reference, "apiVersion"), text(reference, "kind"), text(reference, "name"));
    let absent = |plural: &str| {
        Status::new(404, "NotFound", format!("{plural} {name:?} not found")).with_details(Details {
            name: name.to_owned(),
            kind: plural.to_owned(),
            ..Details::default()
        })
    };
    match (api_version.contains('/'), kind) {
        (false, "Secret") => {}
        (false, "Pod") => return Err(absent("pods")),
        (false, "Node") => return Err(absent("nodes")),
        _ => {
            let what = format!("{api_version}, Kind={kind}");
            return Err(Status::bad_request(format!("cannot bind token to object of type {what}")));
        }
    }
    let secret = read(call, builtin::SECRETS, name).ok_or_else(|| absent("secrets"))?;
    let uid = text(&secret["metadata"], "uid").to_owned();
    let given = text(reference, "uid");
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the bound object reference ({given}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        let details = Details { name: name.to_owned(), kind: kind.to_owned(), ..Details::default() };
        let message = format!("Operation cannot be fulfilled on {kind} {name:?}: {why}");
        return Err(Status::new(409, "Conflict", message).with_details(details));
    }
    Ok(Some(ObjectRef { name: name.to_owned(), uid }))
}

fn conflict(what: &str, kind: &Kind, name: &str, why: &str) -> Status {
    let message = format!("Operation cannot be fulfilled on {what}.{} {name:?}: {why}", kind.group);
    Status::new(409, "Conflict", message).with_details(Details {
        name: name.to_owned(),
        group: kind.group.clone(),
        kind: what.to_owned(),
        ..Details::default()
    })
}

/// Records the sender as the owner of the fields, as for a stored object.
fn own(call: &Call<'_>, kind: &Kind, object: Value) -> Value {
    let (api_version, manager) = (kind.api_version(), call.manager());
    let actor = Actor {
        manager: &manager,
        api_version: &api_version,
        kind: &kind.kind,
        subresource: builtin::TOKEN,
        now: &call.now,
        blank: kind.blank.as_ref(),
    };
    managed_fields::update(&kind.schema, &[], None, object, &actor)
}
