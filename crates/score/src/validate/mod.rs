//! Validator of Score documents, shared by the command line, the REST API and the controllers.
//!
//! Two layers: [`structure`] checks the document against the grammar, as the official schema does. The other modules
//! check what a schema cannot: undefined references, cycles and conflicts (errors), and likely mistakes (warnings).
//! Both layers always run to the end, so that all diagnostics are reported at once.

mod containers;
mod foreign_document;
mod hint;
mod levels;
mod lookalikes;
mod mounts;
mod nesting;
mod placeholder_hint;
mod references;
mod resources;
mod secrets;
mod structure;

pub(crate) use hint::{SECRET_RESOURCE, is_secret_reference};

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::{
    diagnostic::Findings,
    node::{Map, Node},
    source::{Source, Span},
};

/// Reports all errors and warnings of a document. Returns the spans of secrets, which reports do not show.
pub(crate) fn validate(root: &Node, sources: &[Source], findings: &mut Findings) -> Vec<Span> {
    let within_bounds = structure::check(root, sources, findings);
    let empty = Map::new();
    let resources = match root.get("resources") {
        None => Some(&empty),
        Some(node) => node.as_map(),
    };
    let mut context =
        Context { root, sources, resources, metadata: OnceCell::new(), secrets: Vec::new(), findings };
    references::check(&mut context);
    containers::check(&mut context);
    secrets::check(&mut context);
    if within_bounds {
        containers::check_order(&mut context);
        resources::check(&mut context);
    }
    context.secrets
}

/// Input shared by the checks of the second layer.
struct Context<'a> {
    root: &'a Node,
    sources: &'a [Source],
    /// Declared resources; `None` if the section is not a map, so that they are unknown.
    resources: Option<&'a Map>,
    metadata: OnceCell<Json>,
    /// Spans of secrets in clear text.
    secrets: Vec<Span>,
    findings: &'a mut Findings,
}

impl Context<'_> {
    fn metadata(&self) -> &Json {
        self.metadata.get_or_init(|| references::metadata_of(self.root))
    }

    /// Line of a span, from 1.
    fn line(&self, span: Option<Span>) -> Option<usize> {
        let span = span?;
        Some(self.sources.get(span.source.0 as usize)?.line(span.start as usize))
    }

    /// Source text of a span.
    fn written(&self, span: Option<Span>) -> &str {
        let source = span.and_then(|span| self.sources.get(span.source.0 as usize)?.slice(span));
        source.unwrap_or_default()
    }
}
