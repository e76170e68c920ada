//! Placeholders: syntax, undefined references, and fields that are not expanded.

use serde_json::Value as Json;

use super::{Context, lookalikes::lookalikes, mounts, placeholder_hint::Problem};
use crate::{
    code::Code,
    diagnostic::{Severity, quoted},
    expansion::Usage,
    node::{Node, Value},
    placeholder::{Reference, Token, tokens, walk},
    pointer::Path,
    source::Span,
};

pub(super) fn check(context: &mut Context<'_>) {
    let root = context.root;
    let path = Path::Root;
    let containers = path.key("containers");
    for (name, entry) in root.entries("containers") {
        let path = containers.key(name);
        let container = &entry.node;
        {
            let path = path.key("variables");
            for (variable, entry) in container.entries("variables") {
                text(context, &entry.node, &path.key(variable), entry.highlight(), Usage::Value);
            }
        }
        mounts::each(container, "files", &path, |_, file, path| {
            if file.get("noExpand").and_then(Node::as_bool) != Some(true)
                && let Some(entry) = file.entry("content")
            {
                text(context, &entry.node, &path.key("content"), entry.highlight(), Usage::Value);
            }
        });
        mounts::each(container, "volumes", &path, |_, volume, path| {
            if let Some(entry) = volume.entry("source") {
                text(context, &entry.node, &path.key("source"), entry.highlight(), Usage::VolumeSource);
            }
        });
        unexpanded(context, container, &path);
    }
    let resources = path.key("resources");
    for (name, entry) in root.entries("resources") {
        if let Some(params) = entry.node.entry("params") {
            let path = resources.key(name);
            deep(context, &params.node, &path.key("params"), params.highlight());
        }
    }
}

fn deep(context: &mut Context<'_>, node: &Node, path: &Path<'_>, span: Option<Span>) {
    match &node.value {
        Value::Map(map) => {
            map.iter().for_each(|(key, entry)| deep(context, &entry.node, &path.key(key), entry.highlight()));
        }
        Value::List(list) => {
            list.iter()
                .enumerate()
                .for_each(|(index, node)| deep(context, node, &path.index(index), node.span));
        }
        _ => text(context, node, path, span, Usage::Value),
    }
}

fn text(context: &mut Context<'_>, node: &Node, path: &Path<'_>, span: Option<Span>, usage: Usage) {
    let Some(text) = node.as_str() else { return };
    let mut spans = PlaceholderSpans::new(context.written(span), span);
    for token in tokens(text) {
        match token {
            Token::Reference(written) => {
                let span = spans.of(token);
                let Some(problem) = inspect(context, written, usage) else { continue };
                let severity = match problem {
                    Problem::NoMetadata(_) => Severity::Warning,
                    _ => Severity::Error,
                };
                report(context, severity, problem.code(), path, span, |context| {
                    problem.describe(context, written, path, usage)
                });
            }
            // Score's reference tools use such text as written, so it is not an error.
            Token::Text(literal) => {
                for found in lookalikes(literal) {
                    if found.is_unterminated || inspect(context, found.reference, usage).is_none() {
                        let span = spans.find(found.written);
                        let code = Code::MalformedPlaceholder;
                        report(context, Severity::Warning, code, path, span, |_| found.describe());
                    }
                }
            }
            Token::Dollar | Token::Escaped(_) => drop(spans.of(token)),
        }
    }
}

fn report(
    context: &mut Context<'_>,
    severity: Severity,
    code: Code,
    path: &Path<'_>,
    span: Option<Span>,
    describe: impl FnOnce(&Context<'_>) -> (String, String),
) {
    let texts = if context.findings.has_room(severity) { describe(context) } else { Default::default() };
    context.findings.report(severity, code, path, span, || texts);
}

/// Source spans of the placeholders in a string, unless the source has escapes in them. One pass, in order.
struct PlaceholderSpans {
    written: String,
    whole: Option<Span>,
    at: Option<usize>,
}

impl PlaceholderSpans {
    fn new(written: &str, whole: Option<Span>) -> Self {
        let at = written.find(['$', '{']);
        Self { written: if at.is_some() { written.to_owned() } else { String::new() }, whole, at }
    }

    /// Span of a placeholder; of the whole string if it is unknown.
    fn of(&mut self, token: Token<'_>) -> Option<Span> {
        let placeholder = match token {
            Token::Reference(inside) => format!("${{{inside}}}"),
            Token::Escaped(placeholder) => placeholder.to_owned(),
            _ => return self.whole,
        };
        self.find(&placeholder)
    }

    /// Span of the next occurrence of a text.
    fn find(&mut self, placeholder: &str) -> Option<Span> {
        let found = self.at.and_then(|at| Some(at + self.written.get(at..)?.find(placeholder)?));
        self.at = found.map(|found| found + placeholder.len());
        let narrow = |offset: usize| u32::try_from(offset).ok();
        match (self.whole, found.and_then(narrow), narrow(placeholder.len())) {
            (Some(whole), Some(found), Some(length)) => {
                let start = whole.start + found;
                Some(Span { start, end: start + length, ..whole })
            }
            _ => self.whole,
        }
    }
}

fn inspect(context: &Context<'_>, written: &str, usage: Usage) -> Option<Problem> {
    if !is_well_formed(written) {
        return Some(Problem::Malformed);
    }
    match Reference::parse(written) {
        Ok(Reference::Metadata(keys)) => {
            walk(context.metadata(), &keys, written).is_err().then_some(Problem::NoMetadata(keys))
        }
        Ok(Reference::Resource { name, keys }) => {
            // With an invalid section the declared resources are unknown.
            let declared = context.resources?;
            if !declared.contains_key(&name) {
                Some(Problem::NoResource(name))
            } else if keys.is_empty() && usage == Usage::Value {
                Some(Problem::NoOutput(name))
            } else {
                None
            }
        }
        Err(_) => Some(Problem::UnknownRoot),
    }
}

/// At least two parts of letters, digits, `_`, `-` and `/`, separated by dots; `\.` is a dot in a part.
fn is_well_formed(written: &str) -> bool {
    let plain = written.replace("\\.", "_");
    let parts: Vec<_> = plain.split('.').collect();
    let is_part = |part: &&str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/'))
    };
    parts.len() > 1 && parts.iter().all(is_part)
}

/// Placeholders in fields that are not expanded reach the container unchanged.
fn unexpanded(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    if let Some(image) = container.get("image") {
        let hint = "write `image: .` and set the image at deployment with `--image`";
        not_expanded(context, image, &path.key("image"), hint, |_| true);
    }
    let hint = "use a variable instead; placeholders are expanded only in variables, file contents, volume sources and params";
    for field in ["command", "args"] {
        if let Some(node) = container.get(field) {
            not_expanded(context, node, &path.key(field), hint, is_score_reference);
        }
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        if let Some(node) = container.get(probe) {
            not_expanded(
                context,
                node,
                &path.key(probe),
                "write the value itself; placeholders are not expanded in probes",
                is_score_reference,
            );
        }
    }
    mounts::each(container, "files", path, |_, file, path| {
        if let Some(source) = file.get("source") {
            not_expanded(
                context,
                source,
                &path.key("source"),
                "write the path itself; placeholders are expanded only in the content of the file",
                is_score_reference,
            );
        }
    });
    mounts::each(container, "volumes", path, |_, volume, path| {
        if let Some(sub_path) = volume.get("path") {
            not_expanded(
                context,
                sub_path,
                &path.key("path"),
                "write the path itself; placeholders are expanded only in `source`",
                is_score_reference,
            );
        }
    });
}

/// True for references of Score; `${HOME}` may be for a shell.
fn is_score_reference(written: &str) -> bool {
    Reference::parse(written).is_ok()
}

fn not_expanded(
    context: &mut Context<'_>,
    node: &Node,
    path: &Path<'_>,
    hint: &str,
    applies: fn(&str) -> bool,
) {
    match &node.value {
        Value::Map(map) => {
            map.iter()
                .for_each(|(key, entry)| not_expanded(context, &entry.node, &path.key(key), hint, applies));
        }
        Value::List(list) => {
            list.iter()
                .enumerate()
                .for_each(|(index, node)| not_expanded(context, node, &path.index(index), hint, applies));
        }
        Value::String(text) => {
            let mut spans = PlaceholderSpans::new(context.written(node.span), node.span);
            for token in tokens(text) {
                let span = spans.of(token);
                if let Token::Reference(written) = token
                    && applies(written)
                {
                    report(context, Severity::Warning, Code::PlaceholderNotExpanded, path, span, |_| {
                        (
                            format!(
                                "placeholder {} is not expanded here",
                                quoted(&format!("${{{written}}}"))
                            ),
                            hint.to_owned(),
                        )
                    });
                }
            }
        }
        _ => {}
    }
}

/// Metadata as placeholders see it.
pub(super) fn metadata_of(root: &Node) -> Json {
    root.get("metadata").map_or(Json::Null, Node::to_json)
}

#[cfg(test)]
mod tests {
    use super::is_well_formed;

    #[test]
    fn references_are_parts_separated_by_dots() {
        for good in
            ["metadata.name", "resources.my-db.HOST_1", "metadata.annotations.key\\.com/foo-bar", "a.b.c.d"]
        {
            assert!(is_well_formed(good), "{good}");
        }
        for bad in ["", "resources", "resources.", ".a.b", "a..b", "a.b c", " a.b", "a.b!", "a.b:-c"] {
            assert!(!is_well_formed(bad), "{bad}");
        }
    }
}
