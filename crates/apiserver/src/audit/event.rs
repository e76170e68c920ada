//! `Event` of `audit.k8s.io/v1` at the level `Metadata`.

use std::{borrow::Cow, collections::BTreeMap, net::IpAddr};

use serde::Serialize;
use uuid::Uuid;

use super::text::{MAX_NAME, clean};
use crate::{
    access::{
        Caller,
        attributes::{Attributes, Target},
    },
    clock::Clock,
};

/// Groups of a user that are recorded, and further attributes with their values.
const MAX_GROUPS: usize = 64;
const MAX_EXTRA: usize = 16;

/// Stage of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Stage {
    /// A long answer begins.
    ResponseStarted,
    /// The request is over.
    ResponseComplete,
}

/// Event, with its fields in the order of a real server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event<'a> {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    pub audit_id: &'a str,
    pub stage: Stage,
    #[serde(rename = "requestURI")]
    pub request_uri: &'a str,
    pub verb: Cow<'a, str>,
    pub user: User<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonated_user: Option<User<'a>>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Option::is_none")]
    pub source_ips: Option<[IpAddr; 1]>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub user_agent: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_ref: Option<ObjectRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_status: Option<ResponseStatus<'a>>,
    pub request_received_timestamp: String,
    pub stage_timestamp: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<&'static str, Cow<'a, str>>,
}

/// User of a request; empty if unknown.
#[derive(Debug, Default, Serialize)]
pub(super) struct User<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: BTreeMap<Cow<'a, str>, Vec<Cow<'a, str>>>,
}

/// Object, or collection, of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectRef<'a> {
    resource: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_group: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    subresource: Cow<'a, str>,
}

/// Result. The message is left out: it may quote values of the body.
#[derive(Debug, Serialize)]
pub(super) struct ResponseStatus<'a> {
    metadata: Empty,
    #[serde(skip_serializing_if = "str::is_empty")]
    status: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    code: u16,
}

#[derive(Debug, Serialize)]
struct Empty {}

impl<'a> Event<'a> {
    /// Event of a user, at a stage of a request.
    pub(super) fn new(audit_id: &'a str, stage: Stage, user: User<'a>) -> Self {
        Self {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: "Metadata",
            audit_id,
            stage,
            request_uri: "",
            verb: Cow::default(),
            user,
            impersonated_user: None,
            source_ips: None,
            user_agent: Cow::default(),
            object_ref: None,
            response_status: None,
            request_received_timestamp: String::new(),
            stage_timestamp: String::new(),
            annotations: BTreeMap::new(),
        }
    }

    /// Leaves out groups and attributes of the users.
    pub(super) fn shorten(&mut self) {
        for user in [Some(&mut self.user), self.impersonated_user.as_mut()].into_iter().flatten() {
            user.groups.clear();
            user.extra.clear();
        }
        self.annotations
            .insert("orchestra/shortened", "groups and attributes of the user are left out".into());
    }

    /// The line of the log, with its end.
    pub(super) fn line(&self) -> Vec<u8> {
        // Texts and numbers always convert.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl<'a> User<'a> {
    pub(super) fn of(caller: &'a Caller) -> Self {
        let name = |text: &'a String| clean(text, MAX_NAME);
        Self {
            username: name(&caller.name),
            uid: name(&caller.uid),
            groups: caller.groups.iter().take(MAX_GROUPS).map(name).collect(),
            extra: caller
                .extra
                .iter()
                .take(MAX_EXTRA)
                .map(|(key, values)| (name(key), values.iter().take(MAX_EXTRA).map(name).collect()))
                .collect(),
        }
    }
}

impl<'a> ObjectRef<'a> {
    /// Object of a request; `None` for paths without objects.
    pub(super) fn of(wanted: &'a Attributes, version: &'a str, created: Option<&'a str>) -> Option<Self> {
        let Target::Resource { group, resource, subresource, namespace, name } = &wanted.target else {
            return None;
        };
        let name = if name.is_empty() { created.unwrap_or_default() } else { name };
        Some(Self {
            resource: clean(resource, MAX_NAME),
            namespace: clean(namespace, MAX_NAME),
            name: clean(name, MAX_NAME),
            api_group: clean(group, MAX_NAME),
            api_version: clean(version, MAX_NAME),
            subresource: clean(subresource, MAX_NAME),
        })
    }
}

impl<'a> ResponseStatus<'a> {
    pub(super) fn new(code: u16, reason: &'a str) -> Self {
        Self { metadata: Empty {}, status: if code < 400 { "" } else { "Failure" }, reason, code }
    }
}

/// Time in microseconds since 1970, as events have it.
pub(super) fn micro_time(micros: i64) -> String {
    let seconds = orchestra_cel::time::rfc3339(micros.div_euclid(1_000_000));
    format!("{}.{:06}Z", seconds.trim_end_matches('Z'), micros.rem_euclid(1_000_000))
}

/// Event that reports missing entries.
pub(super) fn loss(clock: &Clock, lost: u64) -> Vec<u8> {
    let now = micro_time(clock.micros());
    let platform = Caller::new("system:orchestrator", [""; 0]);
    let id = Uuid::new_v4().to_string();
    let mut event = Event::new(&id, Stage::ResponseComplete, User::of(&platform));
    event.verb = "lose".into();
    event.request_received_timestamp.clone_from(&now);
    event.stage_timestamp = now;
    event.annotations.insert("orchestra/lost-events", lost.to_string().into());
    event.line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits() {
        for (micros, expected) in [
            (1_795_129_026_123_456, "2026-11-19T22:57:06.123456Z"),
            (1_795_129_026_000_007, "2026-11-19T22:57:06.000007Z"),
            (0, "1970-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(micro_time(micros), expected);
        }
    }
}
