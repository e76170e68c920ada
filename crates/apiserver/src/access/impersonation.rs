//! Impersonation: a caller acts as another user, named in headers.
//!
//! As on a real server, `impersonate` on each part of that user (name, uid, groups, extra fields) allows everything, and
//! `impersonate:user-info` or `impersonate:serviceaccount` only requests that `impersonate-on:…` allows, too.

use std::collections::BTreeMap;

use axum::http::HeaderMap;

use super::{
    attributes::{Attributes, Target},
    caller::{self, Caller},
    policy::Policy,
};
use crate::{http::route::unescape, status::Status};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";
/// Group of the kinds of user attributes.
const ATTRIBUTES: &str = "authentication.k8s.io";

/// User that a request wants to act as, as its headers name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Impersonation {
    user: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Verbs and scope of one kind of permission.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Any user, all requests.
    Legacy,
    /// Service accounts, some requests.
    ServiceAccount,
    /// Other users, some requests.
    UserInfo,
}

impl Impersonation {
    /// Reads the headers; `None` without such headers.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Status> {
        let text = |value: &axum::http::HeaderValue| {
            let text = std::str::from_utf8(value.as_bytes());
            text.map(str::to_owned)
                .map_err(|_| Status::bad_request("the impersonation headers are not UTF-8"))
        };
        let first = |name: &str| headers.get(name).map(text).transpose().map(Option::unwrap_or_default);
        let (user, uid) = (first(USER)?, first(UID)?);
        let groups = headers.get_all(GROUP).iter().map(text).collect::<Result<Vec<String>, Status>>()?;
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            if let Some(key) = name.as_str().strip_prefix(EXTRA) {
                extra.entry(unescape(key)).or_default().push(text(value)?);
            }
        }
        if !user.is_empty() {
            return Ok(Some(Self { user, uid, groups, extra }));
        }
        if uid.is_empty() && groups.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        Err(Status::bad_request("requested attributes of a user without impersonating a user name"))
    }

    /// The user, if a caller may act as them for a request; or else the refusal.
    pub(super) fn user(
        &self,
        policy: &Policy,
        caller: &Caller,
        wanted: &Attributes,
    ) -> Result<Caller, Status> {
        let account = caller::account_of(&self.user).is_some();
        let plain = self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty();
        let limited = match (account, plain) {
            (true, true) => Some(Mode::ServiceAccount),
            (true, false) => None,
            // Nodes have permissions of their own, and there are none here.
            (false, _) if self.user.starts_with("system:node:") => None,
            (false, _) => Some(Mode::UserInfo),
        };
        // The refusal of the mode that is closest to an approval.
        let mut refusal: Option<(usize, Status)> = None;
        for mode in limited.into_iter().chain([Mode::Legacy]) {
            let needed = self.needed(mode, wanted);
            let refused = needed.iter().position(|needed| !policy.authorize(caller, needed).is_allowed());
            let refused = match refused {
                Some(at) => (at, needed.get(at)),
                None if mode == Mode::Legacy || self.is_limitable() => return Ok(self.resolve()),
                None => (0, needed.first()),
            };
            if let (at, Some(needed)) = refused
                && refusal.as_ref().is_none_or(|(best, _)| *best < at)
            {
                let reason = policy.authorize(caller, needed).reason();
                refusal = Some((at, needed.forbidden(&caller.name, &reason)));
            }
        }
        Err(refusal.map_or_else(Status::unauthorized, |(_, status)| status))
    }

    /// False for groups that only the permission for all requests covers: administrators, and the empty one.
    fn is_limitable(&self) -> bool {
        !self.groups.iter().any(|group| group == caller::MASTERS || group.is_empty())
    }

    /// Everything that the caller must be allowed to do.
    fn needed(&self, mode: Mode, wanted: &Attributes) -> Vec<Attributes> {
        let (suffix, group) = match mode {
            Mode::Legacy => ("", ""),
            Mode::ServiceAccount => (":serviceaccount", ATTRIBUTES),
            Mode::UserInfo => (":user-info", ATTRIBUTES),
        };
        let verb = format!("impersonate{suffix}");
        let to = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
            Attributes::new(verb.clone(), Target::object(group, resource, subresource, namespace, name))
        };
        let mut needed = Vec::new();
        if mode != Mode::Legacy {
            needed.push(wanted.with_verb(format!("impersonate-on{suffix}:{}", wanted.verb)));
        }
        needed.push(match caller::account_of(&self.user) {
            Some((namespace, name)) => to(group, "serviceaccounts", "", namespace, name),
            None => to(group, "users", "", "", &self.user),
        });
        if !self.uid.is_empty() {
            needed.push(to(ATTRIBUTES, "uids", "", "", &self.uid));
        }
        needed.extend(self.groups.iter().map(|name| to(group, "groups", "", "", name)));
        for (key, values) in &self.extra {
            needed.extend(values.iter().map(|value| to(ATTRIBUTES, "userextras", key, "", value)));
        }
        needed
    }

    /// The user with the groups that every such user has.
    fn resolve(&self) -> Caller {
        let Self { user, uid, groups, extra } = self.clone();
        let mut groups = groups;
        if groups.is_empty()
            && let Some((namespace, _)) = caller::account_of(&user)
        {
            groups.extend(caller::account_groups(namespace));
        }
        let resolved = Caller { name: user, groups, uid, extra };
        if resolved.name == caller::ANONYMOUS {
            resolved.with_group(caller::UNAUTHENTICATED)
        } else if resolved.is_in(caller::UNAUTHENTICATED) {
            resolved
        } else {
            resolved.with_group(caller::AUTHENTICATED)
        }
    }
}
