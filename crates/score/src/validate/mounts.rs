//! Files and volumes, in map and list form.

use std::collections::BTreeSet;

use super::Context;
use crate::{
    code::Code,
    diagnostic::{Diagnostic, quoted},
    expansion::decode_base64,
    node::{Entry, Node, Value},
    pointer::Path,
    source::Span,
};

/// Visits every file or volume with its target (if any), value and path.
pub(super) fn each(
    container: &Node,
    field: &str,
    path: &Path<'_>,
    mut visit: impl FnMut(Option<Target<'_>>, &Node, &Path<'_>),
) {
    let path = path.key(field);
    match container.get(field).map(|node| &node.value) {
        Some(Value::Map(map)) => {
            // Sorted by path, so that the result does not depend on the order in the file.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, Entry { key_span, node }) in entries {
                visit(Some(Target { path: key, span: *key_span }), node, &path.key(key));
            }
        }
        Some(Value::List(list)) => {
            for (index, node) in list.iter().enumerate() {
                let target = node
                    .get("target")
                    .and_then(|target| Some(Target { path: target.as_str()?, span: target.span }));
                visit(target, node, &path.index(index));
            }
        }
        _ => {}
    }
}

/// Mount path of a file or volume.
#[derive(Clone, Copy)]
pub(super) struct Target<'n> {
    path: &'n str,
    span: Option<Span>,
}

pub(super) fn check(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    let mut used = BTreeSet::new();
    for field in ["files", "volumes"] {
        deprecated(context, container, field, path);
        let is_list = container.get(field).is_some_and(|node| node.as_list().is_some());
        each(container, field, path, |target, node, path| match target {
            Some(target) => mount_path(context, target, path, &mut used),
            None if is_list && node.as_map().is_some() && node.get("target").is_none() => {
                context.findings.push(Diagnostic::error(
                    Code::TargetRequired,
                    path.key("target").pointer(),
                    node.span.map(Span::head),
                    format!("missing required field `target`: this entry of `{field}` has no path in the container"),
                    format!("use the map form, with the path as the key: `{field}: {{/path/in/container: {{…}}}}`"),
                ));
            }
            None => {}
        });
    }
    each(container, "files", path, |_, file, path| binary(context, file, path));
    each(container, "volumes", path, |_, volume, path| bare_name(context, volume, path));
    below_files(context, container, path);
}

fn mount_path(context: &mut Context<'_>, target: Target<'_>, path: &Path<'_>, used: &mut BTreeSet<String>) {
    if !target.path.starts_with('/') {
        let plain = target.path.trim_start_matches("./");
        let hint = if plain.starts_with(|c: char| c.is_ascii_alphanumeric()) && !plain.contains(':') {
            format!("write the absolute path, such as {}", quoted(&format!("/{plain}")))
        } else {
            "write the absolute path, starting with a slash".to_owned()
        };
        context.findings.push(Diagnostic::warning(
            Code::RelativePath,
            path.pointer(),
            target.span,
            format!(
                "relative path {}: should be absolute, otherwise its location depends on the image",
                quoted(target.path)
            ),
            hint,
        ));
    }
    let parts: Vec<_> = target.path.split('/').filter(|part| !part.is_empty()).collect();
    if !used.insert(parts.join("/")) {
        context.findings.push(Diagnostic::warning(
            Code::PathClash,
            path.pointer(),
            target.span,
            format!(
                "duplicate mount path {}: already used by another file or volume of this container",
                quoted(target.path)
            ),
            "use a different path for each file and volume; only one of them would be visible",
        ));
    }
}

/// Volume source that is the name of a declared resource, without a placeholder.
fn bare_name(context: &mut Context<'_>, volume: &Node, path: &Path<'_>) {
    let Some(entry) = volume.entry("source") else { return };
    let Some(name) = entry.node.as_str() else { return };
    if context.resources.is_some_and(|declared| declared.contains_key(name)) {
        context.findings.push(Diagnostic::warning(
            Code::SuspiciousValue,
            path.key("source").pointer(),
            entry.highlight(),
            format!("volume source {} is the name of a resource, not a placeholder", quoted(name)),
            format!("write `source: \"${{resources.{name}}}\"`"),
        ));
    }
}

/// Files that cannot exist: a directory, or below another file.
fn below_files(context: &mut Context<'_>, container: &Node, path: &Path<'_>) {
    let mut files = BTreeSet::new();
    each(container, "files", path, |target, _, _| {
        files.extend(target.map(|target| target.path.trim_end_matches('/').to_owned()));
    });
    each(container, "files", path, |target, _, path| {
        let Some(target) = target else { return };
        if target.path.len() > 1 && target.path.ends_with('/') {
            context.findings.push(Diagnostic::warning(
                Code::SuspiciousValue,
                path.pointer(),
                target.span,
                format!("path {} of a file ends with a slash", quoted(target.path)),
                format!(
                    "write the path of the file, such as {}",
                    quoted(&format!("{}app.conf", target.path))
                ),
            ));
        }
        let parents = target
            .path
            .char_indices()
            .filter(|(at, c)| *c == '/' && *at > 0)
            .map(|(at, _)| &target.path[..at]);
        let plain = target.path.trim_end_matches('/');
        if let Some(parent) =
            parents.take(MAX_PARENTS).find(|parent| *parent != plain && files.contains(*parent))
        {
            context.findings.push(Diagnostic::warning(
                Code::PathClash,
                path.pointer(),
                target.span,
                format!("path {} is below {}, which is a file too", quoted(target.path), quoted(parent)),
                "use a different directory; a file cannot contain another one",
            ));
        }
    });
}

/// Deepest directory that is compared with the other files.
const MAX_PARENTS: usize = 32;

fn deprecated(context: &mut Context<'_>, container: &Node, field: &str, path: &Path<'_>) {
    let Some(entry) = container.entry(field) else { return };
    let Some(list) = entry.node.as_list() else { return };
    let example = list.iter().find_map(|item| item.get("target")?.as_str()).unwrap_or("/path/in/container");
    context.findings.push(Diagnostic::warning(
        Code::DeprecatedForm,
        path.key(field).pointer(),
        entry.highlight(),
        format!("the list form of `{field}` is deprecated"),
        format!("use a map with the path as the key instead of `target`: `{field}: {{{example}: {{…}}}}`"),
    ));
}

fn binary(context: &mut Context<'_>, file: &Node, path: &Path<'_>) {
    let Some(entry) = file.entry("binaryContent") else { return };
    let Some(text) = entry.node.as_str() else { return };
    if decode_base64(text).is_none() {
        context.findings.push(Diagnostic::error(
            Code::InvalidBase64,
            path.key("binaryContent").pointer(),
            entry.highlight(),
            "invalid base64 in `binaryContent`",
            "use standard base64 with padding and without spaces, as `base64 FILE` prints it; for text use `content`",
        ));
    }
}
