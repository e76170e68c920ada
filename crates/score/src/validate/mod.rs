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

use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::{
    diagnostic::Findings,
    node::{Map, Node},
    source::{Source, Span},
};

/// Reports everything that is wrong with a document.
pub(crate) fn validate(root: &Node, sources: &[Source], findings: &mut Findings) {
    structure::check(root, sources, findings);
    let resources = match root.get("resources") {
        // Without the section nothing is declared; with a broken one nobody can tell.
        None => Some(None),
        Some(node) => node.as_map().map(Some),
    };
    let nothing = Map::new();
    let mut context = Context {
        root,
        sources,
        resources: resources.map(|declared| declared.unwrap_or(&nothing)),
        metadata: OnceLock::new(),
        findings,
    };
    references::check(&mut context);
    containers::check(&mut context);
    resources::check(&mut context);
}

/// What the checks of the second layer share.
struct Context<'a> {
    root: &'a Node,
    sources: &'a [Source],
    /// The declared resources; `None` where the section is not a map.
    resources: Option<&'a Map>,
    metadata: OnceLock<Json>,
    findings: &'a mut Findings,
}

impl Context<'_> {
    fn metadata(&self) -> &Json {
        self.metadata.get_or_init(|| references::metadata_of(self.root))
    }

    /// The part of a span in which a text stands, if it stands there as it is.
    fn narrow(&self, span: Option<Span>, text: &str) -> Option<Span> {
        let span = span?;
        let found = self
            .sources
            .get(span.source.0 as usize)
            .and_then(|source| source.slice(span))
            .and_then(|written| written.find(text));
        Some(match found.and_then(|at| Some((u32::try_from(at).ok()?, u32::try_from(text.len()).ok()?))) {
            Some((at, length)) => Span { start: span.start + at, end: span.start + at + length, ..span },
            None => span,
        })
    }
}
