//! Placeholders: what they refer to must be there, and they must stand where they are expanded.

use serde_json::Value as Json;

use super::{Context, hint, mounts};
use crate::{
    code::Code,
    diagnostic::{Diagnostic, Severity},
    node::{Node, Value},
    placeholder::{Reference, Token, tokens, walk},
    pointer::Path,
    source::Span,
};

/// What a text with placeholders is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A resource without an output has no value here.
    Value,
    /// A resource without an output stands for the resource itself.
    VolumeSource,
}

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
                text(context, &entry.node, &path.key(variable), entry.highlight(), Use::Value);
            }
        }
        mounts::each(container, "files", &path, |_, file, path| {
            if file.get("noExpand").and_then(Node::as_bool) != Some(true)
                && let Some(entry) = file.entry("content")
            {
                text(context, &entry.node, &path.key("content"), entry.highlight(), Use::Value);
            }
        });
        mounts::each(container, "volumes", &path, |_, volume, path| {
            if let Some(entry) = volume.entry("source") {
                text(context, &entry.node, &path.key("source"), entry.highlight(), Use::VolumeSource);
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
        _ => text(context, node, path, span, Use::Value),
    }
}

fn text(context: &mut Context<'_>, node: &Node, path: &Path<'_>, span: Option<Span>, usage: Use) {
    let Some(text) = node.as_str() else { return };
    for token in tokens(text) {
        // Past the bound nothing more is kept, and the document is refused anyway.
        if !context.findings.has_room(Severity::Error) && context.findings.has_errors() {
            return;
        }
        if let Token::Reference(written) = token
            && let Err(problem) = inspect(context, written, usage)
        {
            let span = context.narrow(span, &format!("${{{written}}}"));
            let make =
                if problem.code == Code::UnknownMetadata { Diagnostic::warning } else { Diagnostic::error };
            context.findings.push(make(problem.code, path.pointer(), span, problem.message, problem.hint));
        }
    }
}

struct Problem {
    code: Code,
    message: String,
    hint: String,
}

fn inspect(context: &Context<'_>, written: &str, usage: Use) -> Result<(), Problem> {
    let shown = hint::quoted(&format!("${{{written}}}"));
    let problem = |code, message: String, hint: String| Err(Problem { code, message, hint });
    if !is_well_formed(written) {
        let hint = if written.contains(":-") || written.contains('|') || written.contains('?') {
            "Score placeholders have no defaults and no filters; give the default in the program or in another variable"
        } else if written != written.trim() {
            "remove the spaces: nothing is trimmed inside the braces"
        } else {
            "write `${resources.NAME.OUTPUT}` or `${metadata.KEY}`; if the text is meant as it is, write `$${…}`"
        };
        return problem(
            Code::MalformedPlaceholder,
            format!("{shown} is not a placeholder of Score"),
            hint.to_owned(),
        );
    }
    match Reference::parse(written) {
        Ok(Reference::Metadata(keys)) => match walk(context.metadata(), &keys, written) {
            Ok(_) => Ok(()),
            Err(_) => problem(
                Code::UnknownMetadata,
                format!("{shown} has no value: the workload's metadata has no such key"),
                format!("add `{}` under `metadata`, or escape the text as `$${{…}}`", keys.join(".")),
            ),
        },
        Ok(Reference::Resource { name, keys }) => {
            let Some(declared) = context.resources else { return Ok(()) };
            if !declared.contains_key(&name) {
                let hint = match hint::nearest(&name, declared.keys().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("declare it: `resources: {{{name}: {{type: …}}}}`"),
                };
                return problem(
                    Code::UnknownResource,
                    format!("{shown} refers to the resource `{name}`, which the workload does not declare"),
                    hint,
                );
            }
            if keys.is_empty() && usage == Use::Value {
                return problem(
                    Code::InvalidPlaceholder,
                    format!("{shown} names a resource but none of its outputs"),
                    format!("name an output, such as `${{resources.{name}.host}}`"),
                );
            }
            Ok(())
        }
        Err(error) => {
            let root = written.split('.').next().unwrap_or_default();
            let hint = match root {
                "resource" | "res" | "Resources" => {
                    format!("write `${{resources{}}}`", &written[root.len()..])
                }
                "meta" | "Metadata" => format!("write `${{metadata{}}}`", &written[root.len()..]),
                "env" | "environment" | "secrets" | "outputs" => {
                    "declare a resource (of type environment, secret, …) and write `${resources.NAME.OUTPUT}`"
                        .to_owned()
                }
                _ => format!(
                    "if the text is meant as it is, write `$${{{written}}}`; in a file, `noExpand: true` does it for all of it"
                ),
            };
            problem(Code::InvalidPlaceholder, error.to_string(), hint)
        }
    }
}

/// Parts of letters, digits, `_`, `-` and `/`, at least two, with dots between them; `\.` is a dot in a part.
fn is_well_formed(written: &str) -> bool {
    let plain = written.replace("\\.", "_");
    let parts: Vec<_> = plain.split('.').collect();
    let is_part = |part: &&str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/'))
    };
    parts.len() > 1 && parts.iter().all(is_part)
}

/// Placeholders in fields that nobody expands reach the container as they are.
fn unexpanded(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    let mut warn = |node: &Node, path: &Path<'_>| {
        let Some(text) = node.as_str() else { return };
        for token in tokens(text) {
            if let Token::Reference(written) = token
                && context.findings.has_room(Severity::Warning)
                && Reference::parse(written).is_ok()
            {
                let placeholder = format!("${{{written}}}");
                let span = context.narrow(node.span, &placeholder);
                context.findings.push(Diagnostic::warning(
                    Code::PlaceholderNotExpanded,
                    path.pointer(),
                    span,
                    format!("{} is not expanded here", hint::quoted(&placeholder)),
                    "put it into a variable and use that; placeholders are expanded in variables, file contents, volume sources and params only",
                ));
            }
        }
    };
    if let Some(image) = container.get("image") {
        warn(image, &path.key("image"));
    }
    for field in ["command", "args"] {
        let path = path.key(field);
        for (index, node) in container.get(field).and_then(Node::as_list).into_iter().flatten().enumerate() {
            warn(node, &path.index(index));
        }
    }
}

/// The metadata as placeholders see it.
pub(super) fn metadata_of(root: &Node) -> Json {
    root.get("metadata").map_or(Json::Null, Node::to_json)
}

#[cfg(test)]
mod tests {
    use super::is_well_formed;

    #[test]
    fn references_are_parts_with_dots_between_them() {
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
