//! What the engine `template` decides: which objects an entry of a provisioner file may make, which of its outputs are
//! secret, when what it made is there, and what of it stays. All of it follows from texts and objects; the engine reads and
//! writes them.

pub mod admit;
pub mod builtin;
pub mod extension;
pub mod ready;
pub mod release;
pub mod render;
pub mod seal;

pub use admit::{Frame, Kind, admit};
pub use extension::{Extension, Generates, Target};
pub use ready::{Progress, progress};
pub use release::{Fate, fate};
pub use render::{Item, Past, Record, Refusal, Rendered, Request, render};
pub use seal::{Sealed, seal};

/// Settings of the engine in the `params` of an entry of the platform's document; templates do not see them.
pub mod setting {
    /// The URI of the entry of a provisioner file that is meant.
    pub const TEMPLATE: &str = "template";
    /// Kinds that it may make besides those that every entry may.
    pub const KINDS: &str = "kinds";
    /// Whether it may ask for privileges of the machines it runs on.
    pub const PRIVILEGED: &str = "privileged";
    /// All of them.
    pub const ALL: [&str; 3] = [TEMPLATE, KINDS, PRIVILEGED];
}
