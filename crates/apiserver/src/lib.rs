//! A small Kubernetes-style API over a durable store: the platform of a laptop, a CI job and every test.
//!
//! One axum [`Router`](axum::Router) serves any custom resource definition and a few built-in kinds. Controllers talk
//! to it through an ordinary client and cannot tell it from a cluster. It is a subset that is true where it answers
//! and says so where it does not: no pods, no webhooks, no admission policies, no quota, no scale subresource,
//! dependents are deleted in the background only. It knows none of our own kinds.
//!
//! # One PATCH, from the socket to the watchers
//!
//! `PATCH /apis/score.dev/v1b1/namespaces/default/workloads/hello?fieldManager=cli`, a server-side apply:
//!
//! 1. `serve/server.rs` accepts the connection, `serve/connection.rs` speaks TLS and HTTP with it, and
//!    `serve/caller.rs` reads who holds the client certificate. A client in our own process starts at the next step.
//! 2. `http/mod.rs` takes the request: `http/route.rs` finds what the path means in the table of kinds
//!    (`kinds/registry.rs`), and `access.rs` decides who asks and whether they may: **authenticate → authorise**.
//! 3. `verbs/mod.rs` picks the verb and the form of the answer (`http/negotiate.rs`, `http/query.rs`);
//!    `http/body.rs` reads the body, bounded in size and time.
//! 4. `verbs/patch.rs` reads the object as it is from the ledger (`ledger.rs`, unpacked by `record.rs`), decodes the
//!    body (`json/yaml.rs`, `objects/decode.rs`), and asks `fields/apply.rs` for the merged object: who owns which
//!    field, what is given back, what conflicts.
//! 5. `verbs/update.rs` completes it: defaults (`schema/defaults.rs`), the fields that are the server's own
//!    (`objects/lifecycle.rs`: generation, uid, status kept apart), and checks it: metadata (`names/metadata.rs`),
//!    schema (`schema/validate.rs`), rules in CEL (`cel/rules.rs`). A new object is **admitted** first: `admission.rs`.
//! 6. If nothing changed, nothing is written. Otherwise `record.rs` packs the object and the ledger **stores** it: the
//!    one writer thread gives it its number, `store/redb.rs` syncs it together with all writes that came meanwhile,
//!    and only then is it visible and answered (`http/answer.rs`).
//! 7. Every watcher is a cursor in the ledger's order of events. `verbs/watch.rs` wakes up, asks
//!    `verbs/selection.rs` whether the object begins, goes on or ceases to fit, and writes one line of JSON.
//! 8. `background/mod.rs` sees the same event: objects without owners go (`background/garbage.rs`), namespaces are
//!    emptied (`background/namespaces.rs`), definitions are accepted or removed (`background/definitions.rs`).
//!
//! # The table of kinds
//!
//! Built-in kinds (`kinds/builtin.rs`) and those of definitions (`kinds/registry.rs`, checked by `crd/validation.rs`)
//! are rows of one table and differ only in data. [`Options`] and [`Api`] are the way in; [`serve`] puts it on a socket.

pub mod access;
mod admission;
pub mod api;
mod background;
pub mod cel;
pub mod clock;
mod crd;
mod discovery;
mod field_error;
mod fields;
mod http;
mod json;
mod kinds;
pub mod ledger;
mod names;
mod objects;
mod openapi;
mod patch;
mod record;
mod schema;
mod selectors;
pub mod serve;
mod status;
pub mod store;
mod table;
mod verbs;

pub use access::Caller;
pub use api::{Api, Options};
