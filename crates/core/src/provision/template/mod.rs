//! Decisions of the engine `template`: which objects an entry of a provisioner file may create, which of its outputs are
//! secret, when they are ready, and which objects are kept. Pure functions of texts and objects; the engine reads and writes
//! them.

pub mod admit;
pub mod builtin;
pub mod error;
pub mod extension;
pub mod ready;
pub mod release;
pub mod render;
pub mod seal;

pub use admit::{AdmissionRules, Kind, admit};
pub use error::{ManifestError, TemplateError};
pub use extension::{Extension, ExtensionError, Generates, Target};
pub use ready::{Progress, progress};
pub use release::{Disposition, disposition, prunable};
pub use render::{Item, Record, Refusal, Rendered, Request, SavedState, render};
pub use seal::{Sealed, seal};

/// Settings of the engine in the `params` of an entry of the config; templates do not see them.
pub mod setting {
    /// URI of an entry of a provisioner file.
    pub const TEMPLATE: &str = "template";
    /// Additional kinds that it may create.
    pub const KINDS: &str = "kinds";
    /// True if its objects may have privileges on nodes.
    pub const PRIVILEGED: &str = "privileged";
    /// All settings.
    pub const ALL: [&str; 3] = [TEMPLATE, KINDS, PRIVILEGED];
}
