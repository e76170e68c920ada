//! Access control: who sends a request, and whether it is allowed.
//!
//! Every request passes [`authenticate`] and [`authorise`] before its body is read and before anything is looked up for
//! it. Its [`Attributes`] come from the route that is executed; the [`Policy`] is that of the last revision, so that a
//! revoked right is gone for the next request. A [`Permit`] is checked again while a watch is open.

pub(crate) mod attributes;
pub(crate) mod caller;
pub(crate) mod escalation;
mod impersonation;
pub(crate) mod policy;
pub(crate) mod rule;
pub(crate) mod token;

use std::sync::{
    Arc, Mutex, PoisonError, RwLock, RwLockReadGuard,
    atomic::{AtomicU64, Ordering},
};

use axum::http::{HeaderMap, header, request::Parts};
use orchestra_limits::Connection;

use self::{
    attributes::{Attributes, Target},
    impersonation::Impersonation,
    policy::{Decision, Policy},
    token::{Claims, ISSUER, TokenError, Tokens},
};
pub use self::{
    caller::Caller,
    policy::{BoundSubject, Extent, ResourceRight},
    token::{KeyError, TokenKey},
};
use crate::{
    api::Api,
    audit::Recording,
    kinds::builtin,
    ledger::{Event, Ledger},
    status::Status,
    store::{Key, Revision},
    stored_object::StoredObject,
};

/// Events that are read at a time.
const EVENT_BATCH: usize = 1024;

/// State of access control.
#[derive(Debug)]
pub(crate) struct Access {
    tokens: Tokens,
    policy: RwLock<Policy>,
    /// Revision of the policy, and the lock of its update.
    cursor: Mutex<Option<Revision>>,
    /// The same revision, for readers.
    revision: AtomicU64,
    /// Number of changes that may have taken rights away.
    changes: AtomicU64,
}

impl Access {
    /// Access control with a key for tokens.
    pub(crate) fn new(key: TokenKey) -> Self {
        Self {
            tokens: Tokens::new(key),
            policy: RwLock::default(),
            cursor: Mutex::default(),
            // No policy was read so far.
            revision: AtomicU64::new(u64::MAX),
            changes: AtomicU64::new(0),
        }
    }

    /// Issuer and verifier of tokens.
    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Policy of the last revision.
    pub(crate) fn policy(&self, ledger: &Ledger) -> RwLockReadGuard<'_, Policy> {
        if self.revision.load(Ordering::Acquire) != ledger.revision().0 {
            self.catch_up(ledger);
        }
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of changes so far that may have taken rights away.
    pub(crate) fn changes(&self, ledger: &Ledger) -> u64 {
        drop(self.policy(ledger));
        self.changes.load(Ordering::Acquire)
    }

    fn catch_up(&self, ledger: &Ledger) {
        let mut cursor = self.cursor.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(at) = *cursor else {
                *cursor = Some(self.rebuild(ledger));
                continue;
            };
            match ledger.events(at, EVENT_BATCH) {
                // The events in between are dropped already.
                Err(_) => *cursor = None,
                Ok(events) => {
                    let Some(last) = events.last() else {
                        self.revision.store(at.0, Ordering::Release);
                        return;
                    };
                    *cursor = Some(last.revision);
                    self.follow(&events);
                }
            }
        }
    }

    fn rebuild(&self, ledger: &Ledger) -> Revision {
        let mut policy = Policy::default();
        let mut at = None;
        for resource in policy::RESOURCES {
            // All lists are of the revision of the first. If that is dropped meanwhile, the events after it are, too, and
            // the next attempt starts again; a part of the policy is not used.
            let Ok(listed) = ledger.list(resource, None, None, usize::MAX, at) else {
                return at.unwrap_or_default();
            };
            at = Some(listed.revision);
            for (key, object) in listed.objects {
                let object = StoredObject { revision: object.revision, bytes: &object.value }.stored();
                policy.update(resource, &key.namespace, &key.name, Some(&object));
            }
        }
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
        self.changes.fetch_add(1, Ordering::AcqRel);
        at.unwrap_or_default()
    }

    fn follow(&self, events: &[Arc<Event>]) {
        if !events.iter().any(|event| takes_rights(event)) {
            return;
        }
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        for event in events.iter().filter(|event| policy::RESOURCES.contains(&&*event.key.resource)) {
            let object = event.value.as_ref();
            let object = object.map(|bytes| StoredObject { revision: event.revision, bytes }.stored());
            let Key { resource, namespace, name } = &event.key;
            policy.update(resource, namespace, name, object.as_ref());
        }
        drop(policy);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// True if an event may take rights away: a changed role or binding, or a deleted object that tokens are bound to.
fn takes_rights(event: &Event) -> bool {
    let resource = &*event.key.resource;
    policy::RESOURCES.contains(&resource)
        || matches!(resource, builtin::SERVICE_ACCOUNTS | builtin::SECRETS) && is_going(event)
}

/// User name of the service account that an event ends.
pub(crate) fn ended_account(event: &Event) -> Option<String> {
    let Key { resource, namespace, name } = &event.key;
    (&**resource == builtin::SERVICE_ACCOUNTS && is_going(event))
        .then(|| caller::account_user(namespace, name))
}

fn is_going(event: &Event) -> bool {
    // A terminating service account is as good as deleted.
    let going = |bytes: &[u8]| bytes.windows(19).any(|window| window == b"\"deletionTimestamp\"");
    event.value.as_ref().is_none_or(|bytes| going(bytes))
}

/// Question for [`Api::allows`](crate::Api::allows).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRequest<'a> {
    /// Verb on an object, or on a subresource of it, which need not be served.
    Resource {
        /// Verb, such as `get`.
        verb: &'a str,
        /// Group of the API; empty for the core group.
        group: &'a str,
        /// Plural of the kind.
        resource: &'a str,
        /// Subresource; empty for the object itself.
        subresource: &'a str,
        /// Namespace; empty for cluster-scoped objects.
        namespace: &'a str,
        /// Name of the object.
        name: &'a str,
    },
    /// Method on a path without objects.
    Path {
        /// Method in lower case.
        verb: &'a str,
        /// Path, which need not be served.
        path: &'a str,
    },
}

impl AccessRequest<'_> {
    pub(crate) fn attributes(self) -> Attributes {
        match self {
            Self::Resource { verb, group, resource, subresource, namespace, name } => Attributes::new(
                verb.to_owned(),
                Target::object(group, resource, subresource, namespace, name),
            ),
            Self::Path { verb, path } => Attributes::new(verb.to_owned(), Target::Path(path.to_owned())),
        }
    }
}

/// Rejected credentials of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bearer token is invalid or expired")]
pub struct InvalidCredentials;

/// Authenticated sender of a request.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The user, before impersonation.
    pub caller: Arc<Caller>,
    /// Their token, if they have one.
    token: Option<Arc<Claims>>,
}

impl Session {
    /// End of the validity of its token, in seconds of Unix time.
    pub(crate) fn expires(&self) -> Option<i64> {
        self.token.as_ref().map(|token| token.exp)
    }

    /// Session of a user whose identity needs no further checks.
    fn of(caller: Caller) -> Self {
        Self { caller: Arc::new(caller), token: None }
    }
}

/// Sender of a request: the [`Caller`] that the listener added, the service account of a bearer token, or anonymous. The
/// connection is recorded as one of this caller.
pub(crate) fn authenticate(api: &Api, parts: &Parts) -> Result<Session, InvalidCredentials> {
    let session = session(api, parts)?;
    if !session.caller.is_anonymous()
        && let Some(connection) = parts.extensions.get::<Connection>()
        && connection.authenticated(&session.caller.name)
        // An account that was deleted before the connection was recorded: nobody else closes it.
        && session.token.as_ref().is_some_and(|token| !are_bound_objects_alive(api, token))
    {
        connection.close();
        return Err(InvalidCredentials);
    }
    Ok(session)
}

fn session(api: &Api, parts: &Parts) -> Result<Session, InvalidCredentials> {
    if let Some(caller) = parts.extensions.get::<Caller>() {
        return Ok(Session::of(caller.clone().with_group(caller::AUTHENTICATED)));
    }
    let Some(token) = bearer(&parts.headers) else { return Ok(Session::of(Caller::anonymous())) };
    match verify_token(api, token, &[ISSUER.to_owned()]) {
        Ok((claims, _)) => {
            let caller = claims.caller().with_group(caller::AUTHENTICATED);
            Ok(Session { caller: Arc::new(caller), token: Some(claims) })
        }
        Err(_) => Err(InvalidCredentials),
    }
}

/// Bearer token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Claims of a token that is valid now for one of these audiences; and which of them.
pub(crate) fn verify_token(
    api: &Api,
    token: &str,
    audiences: &[String],
) -> Result<(Arc<Claims>, Vec<String>), TokenError> {
    let (claims, audiences) = api.access().tokens().verify(token, audiences, api.clock().seconds())?;
    if are_bound_objects_alive(api, &claims) { Ok((claims, audiences)) } else { Err(TokenError::Invalidated) }
}

/// True if the objects that a token is bound to exist.
fn are_bound_objects_alive(api: &Api, claims: &Claims) -> bool {
    let exists = |resource: &str, object: &token::ObjectRef| {
        is_alive(api, &Key::new(resource, &claims.bound.namespace, &object.name), &object.uid)
    };
    exists(builtin::SERVICE_ACCOUNTS, &claims.bound.serviceaccount)
        && claims.bound.secret.as_ref().is_none_or(|secret| exists(builtin::SECRETS, secret))
}

/// False for a service account that was deleted, also if another one has its name, unless its unique id is unknown.
pub(crate) fn is_account_alive(api: &Api, caller: &Caller) -> bool {
    let Some((namespace, name)) = caller::account_of(&caller.name) else { return true };
    is_alive(api, &Key::new(builtin::SERVICE_ACCOUNTS, namespace, name), &caller.uid)
}

/// True if an object exists that is not being deleted, and has this unique id, unless that is empty.
fn is_alive(api: &Api, key: &Key, uid: &str) -> bool {
    let found = api.ledger().get(key);
    found.is_some_and(|found| {
        let stored = StoredObject { revision: found.revision, bytes: &found.value }.stored();
        let metadata = &stored["metadata"];
        (uid.is_empty() || metadata["uid"] == *uid) && metadata.get("deletionTimestamp").is_none()
    })
}

/// Authorised request.
#[derive(Clone, Debug)]
pub(crate) struct Permit {
    session: Session,
    impersonation: Option<Impersonation>,
    attributes: Arc<Attributes>,
    /// The user, after impersonation.
    caller: Arc<Caller>,
    /// Changes of rights before this permit was given.
    changes: u64,
}

/// Authorises a request, and the impersonation that it asks for.
pub(crate) fn authorise(
    api: &Api,
    session: Session,
    attributes: Arc<Attributes>,
    parts: &Parts,
    recording: &mut Recording,
) -> Result<Permit, Status> {
    let impersonation = Impersonation::of(&parts.headers)?;
    let changes = api.access().changes(api.ledger());
    let policy = api.policy();
    let caller = match &impersonation {
        Some(wanted) => {
            let user = Arc::new(wanted.user(&policy, &session.caller, &attributes)?);
            recording.acting(&user);
            user
        }
        None => Arc::clone(&session.caller),
    };
    let decision = policy.authorize(&caller, &attributes);
    recording.decided(&decision);
    allow(&decision, &caller, &attributes)?;
    drop(decision);
    drop(policy);
    Ok(Permit { session, impersonation, attributes, caller, changes })
}

/// Refuses what a user may not do.
fn allow(decision: &Decision<'_>, caller: &Caller, wanted: &Attributes) -> Result<(), Status> {
    if decision.is_allowed() { Ok(()) } else { Err(wanted.forbidden(&caller.name, &decision.reason())) }
}

impl Permit {
    /// Permit of the server itself.
    pub(crate) fn of_server(attributes: Attributes) -> Self {
        let session = Session::of(Caller::admin());
        let caller = Arc::clone(&session.caller);
        let attributes = Arc::new(attributes);
        Self { session, impersonation: None, attributes, caller, changes: 0 }
    }

    /// User that the request acts as.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Refuses the request if it needs a further verb on its target, named so, that the user does not have.
    pub(crate) fn also(&self, api: &Api, verb: &'static str) -> Result<(), Status> {
        let wanted = self.attributes.with_verb(verb);
        allow(&api.policy().authorize(&self.caller, &wanted), &self.caller, &wanted)
    }

    /// True if the request is still allowed. Costs nothing unless rights have changed.
    pub(crate) fn still_holds(&mut self, api: &Api) -> bool {
        if self.session.token.as_ref().is_some_and(|token| token.exp <= api.clock().seconds()) {
            return false;
        }
        let changes = api.access().changes(api.ledger());
        if std::mem::replace(&mut self.changes, changes) == changes {
            return true;
        }
        if self.session.token.as_ref().is_some_and(|token| !are_bound_objects_alive(api, token)) {
            return false;
        }
        let policy = api.policy();
        let wanted = &self.attributes;
        let impersonates = self
            .impersonation
            .as_ref()
            .is_none_or(|user| user.user(&policy, &self.session.caller, wanted).is_ok());
        impersonates && policy.authorize(&self.caller, wanted).is_allowed()
    }

    /// Seconds until the token of the user expires; `None` without a token.
    pub(crate) fn expires_in(&self, api: &Api) -> Option<u64> {
        let left = self.session.token.as_ref()?.exp - api.clock().seconds();
        Some(u64::try_from(left).unwrap_or_default())
    }
}
