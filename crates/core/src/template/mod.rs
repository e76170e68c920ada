//! Score's provisioner files: what they say, and what one entry gives for one resource. Pure: random values follow from
//! a seed.

use serde_json::{Map, Value as Json};

/// An entry of a provisioner file whose `uri` begins with `template://`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Where it comes from: `template://…`.
    pub uri: String,
}

/// What the templates of an entry see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// What was kept of the last run.
    pub state: Map<String, Json>,
}

/// What an entry gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// What is to be kept for the next run.
    pub state: Map<String, Json>,
    /// The outputs.
    pub outputs: Map<String, Json>,
    /// Objects to make.
    pub manifests: Vec<Json>,
}
