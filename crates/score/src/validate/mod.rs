//! One validator for every door: the command line, the REST interface and the controllers give the same verdict,
//! with the same code, at the same place.
//!
//! Two layers. [`structure`] walks the document along the grammar and finds what the official schema refuses. The
//! others find what the schema cannot see: references to nothing, circles, clashes (errors), and what is legal but
//! probably not meant (warnings). Both always run to the end, so that everything is said at once.

mod containers;
mod elsewhere;
mod hint;
mod mounts;
mod references;
mod resources;
mod structure;

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::{
    diagnostic::Findings,
    node::{Map, Node},
    source::{Source, Span},
};

/// Reports everything that is wrong with a document.
pub(crate) fn validate(root: &Node, sources: &[Source], findings: &mut Findings) {
    let within_bounds = structure::check(root, sources, findings);
    let nothing = Map::new();
    let resources = match root.get("resources") {
        None => Some(&nothing),
        Some(node) => node.as_map(),
    };
    let mut context = Context { root, sources, resources, metadata: OnceCell::new(), findings };
    references::check(&mut context);
    containers::check(&mut context);
    if within_bounds {
        containers::check_order(&mut context);
        resources::check(&mut context);
    }
}

/// What the checks of the second layer share.
struct Context<'a> {
    root: &'a Node,
    sources: &'a [Source],
    /// The declared resources; `None` where the section is not a map and nobody can tell.
    resources: Option<&'a Map>,
    metadata: OnceCell<Json>,
    findings: &'a mut Findings,
}

impl Context<'_> {
    fn metadata(&self) -> &Json {
        self.metadata.get_or_init(|| references::metadata_of(self.root))
    }

    /// The text of a span.
    fn written(&self, span: Option<Span>) -> &str {
        let source = span.and_then(|span| self.sources.get(span.source.0 as usize)?.slice(span));
        source.unwrap_or_default()
    }
}
