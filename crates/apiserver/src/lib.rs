//! Embedded Kubernetes-style API over a durable store, for laptops, CI and tests.
//!
//! One axum [`Router`](axum::Router) serves any custom resource definition and a few built-in kinds. Controllers use it
//! through an ordinary client, as they use a cluster. It is a subset: no pods, no webhooks, no admission policies, no
//! quota. It knows none of our own kinds.
//!
//! # One PATCH, from the socket to the watchers
//!
//! `PATCH /apis/score.dev/v1b1/namespaces/default/workloads/hello?fieldManager=cli`, a server-side apply:
//!
//! 1. The listener (`crates/serve`) accepts the connection and passes the holder of the client certificate as an
//!    extension of the request. A client in our own process starts at the next step.
//! 2. `http/mod.rs` takes the request: `access/mod.rs` finds out who sends it (`access/token.rs` verifies a bearer token),
//!    `http/route.rs` looks the path up in the table of kinds (`kinds/registry.rs`), `access/attributes.rs` derives from
//!    that what is wanted, and `access/policy.rs` decides by roles and bindings: **authenticate → authorise**.
//! 3. `verbs/mod.rs` selects the verb and the form of the answer (`http/negotiate.rs`, `http/query.rs`);
//!    `http/body.rs` reads the body, bounded in size and time.
//! 4. `verbs/patch.rs` reads the live object from the ledger (`ledger.rs`, unpacked by `stored_object.rs`), decodes the
//!    body (`json/yaml.rs`, `objects/decode.rs`; other verbs also take `protobuf`), and gets the merged object from
//!    `managed_fields/apply.rs`: new owners, removed fields, conflicts.
//! 5. `verbs/update.rs` completes it: defaults (`schema/defaults.rs`), the fields of the server
//!    (`objects/lifecycle.rs`: generation, uid, status kept apart), and validation: metadata
//!    (`metadata/object_meta.rs`), schema (`schema/validate.rs`), CEL rules (`crates/cel`). A new object is **admitted**
//!    first: `admission.rs`. A role or binding is checked for rights that its writer does not have: `access/escalation.rs`.
//! 6. If nothing changed, nothing is written. Otherwise `stored_object.rs` packs the object and the ledger **stores** it:
//!    its writer (`ledger/writer.rs`) assigns the revision, `store/redb.rs` syncs it in one batch with concurrent writes
//!    (Secrets encrypted: `store/keyring.rs`), and only then is it visible, recorded in the audit log (`audit`), and
//!    answered (`http/answer.rs`).
//! 7. Every watcher is a cursor in the ledger's order of events. `verbs/watch.rs` wakes up, `verbs/selection.rs` decides
//!    whether the object starts, continues or stops to match, and one line of JSON is written.
//! 8. `background/mod.rs` gets the same event: objects without owners are deleted, and owners after their dependents
//!    (`background/garbage.rs`), namespaces are emptied (`background/namespaces.rs`) and get their default service account
//!    (`background/service_accounts.rs`), definitions are accepted or removed (`background/definitions.rs`), roles are
//!    aggregated (`background/roles.rs`).
//!
//! # The table of kinds
//!
//! Built-in kinds (`kinds/builtin.rs`) and those of definitions (`kinds/registry.rs`, validated by `crd/validation.rs`)
//! are rows of one table and differ only in data. [`Options`] and [`Api`] are the entry points.

mod access;
mod admission;
pub mod api;
pub mod audit;
mod background;
pub mod clock;
mod crd;
mod discovery;
mod http;
mod json;
mod kinds;
pub mod ledger;
mod managed_fields;
mod metadata;
mod objects;
mod openapi;
mod patch;
mod protobuf;
mod schema;
mod selectors;
mod status;
pub mod store;
mod stored_object;
mod table;
mod verbs;

pub use access::{
    AccessRequest, BoundSubject, Caller, Extent, InvalidCredentials, KeyError, ResourceRight, TokenKey,
};
pub use api::{Api, Options};
pub use audit::AuditLog;
