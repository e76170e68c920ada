//! Placeholders: what they refer to must be there, and they must stand where they are expanded.

use serde_json::Value as Json;

use super::{Context, mounts};
use crate::{
    code::Code,
    diagnostic::{Severity, quoted},
    expansion::Usage,
    nearest::nearest,
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
    let mut places = Places::new(context.written(span), span);
    for token in tokens(text) {
        let span = places.of(token);
        if let Token::Reference(written) = token
            && let Some(problem) = inspect(context, written, usage)
        {
            let severity = match problem {
                Problem::NoMetadata(_) => Severity::Warning,
                _ => Severity::Error,
            };
            report(context, severity, problem.code(), path, span, |context| problem.word(context, written));
        }
    }
}

fn report(
    context: &mut Context<'_>,
    severity: Severity,
    code: Code,
    path: &Path<'_>,
    span: Option<Span>,
    word: impl FnOnce(&Context<'_>) -> (String, String),
) {
    let worded = if context.findings.has_room(severity) { word(context) } else { Default::default() };
    context.findings.report(severity, code, path, span, || worded);
}

/// Where the placeholders of a text stand in the source, as long as they stand there as they are (and not, say,
/// with escapes in them). One pass, since they come in order.
struct Places {
    written: String,
    whole: Option<Span>,
    at: Option<usize>,
}

impl Places {
    fn new(written: &str, whole: Option<Span>) -> Self {
        // Without a dollar sign there is nothing to find.
        let at = written.find('$');
        Self { written: if at.is_some() { written.to_owned() } else { String::new() }, whole, at }
    }

    /// The place of a placeholder, or of the whole text where it cannot be told.
    fn of(&mut self, token: Token<'_>) -> Option<Span> {
        let placeholder = match token {
            Token::Reference(inside) => format!("${{{inside}}}"),
            Token::Escaped(placeholder) => placeholder.to_owned(),
            _ => return self.whole,
        };
        let found = self.at.and_then(|at| Some(at + self.written.get(at..)?.find(&placeholder)?));
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

/// What can be wrong with a placeholder.
enum Problem {
    Malformed,
    UnknownRoot,
    /// No such metadata; the keys that lead to it.
    NoMetadata(Vec<String>),
    /// The resource is not declared.
    NoResource(String),
    /// The resource is declared, but no output is named.
    NoOutput(String),
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
            // With a broken section nobody can tell what is declared.
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

impl Problem {
    fn code(&self) -> Code {
        match self {
            Self::Malformed => Code::MalformedPlaceholder,
            Self::UnknownRoot | Self::NoOutput(_) => Code::InvalidPlaceholder,
            Self::NoMetadata(_) => Code::UnknownMetadata,
            Self::NoResource(_) => Code::UnknownResource,
        }
    }

    /// The message and the hint.
    fn word(&self, context: &Context<'_>, written: &str) -> (String, String) {
        let shown = quoted(&format!("${{{written}}}"));
        match self {
            Self::Malformed => {
                (format!("{shown} is not a placeholder of Score"), malformed(written).to_owned())
            }
            Self::UnknownRoot => (
                format!("{shown} refers to nothing: a placeholder starts with `metadata.` or `resources.`"),
                unknown_root(context, written),
            ),
            Self::NoMetadata(keys) => (
                format!("{shown} has no value: the workload's metadata has no such key"),
                no_metadata(context.metadata(), keys),
            ),
            Self::NoResource(name) => {
                let declared = context.resources.into_iter().flatten().map(|(name, _)| name.as_str());
                let hint = match nearest(name, declared) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("declare it: `resources: {{{name}: {{type: {}}}}}`", likely_type(name)),
                };
                (
                    format!("{shown} refers to the resource `{name}`, which the workload does not declare"),
                    hint,
                )
            }
            Self::NoOutput(name) => (
                format!("{shown} names a resource but none of its outputs"),
                format!("name an output, such as `${{resources.{name}.host}}`"),
            ),
        }
    }
}

/// The type that a resource of this name probably has.
fn likely_type(name: &str) -> &str {
    match name {
        "env" | "environment" => "environment",
        "postgres" | "mysql" | "mongodb" | "redis" | "amqp" | "s3" | "dns" | "route" | "volume"
        | "secret" => name,
        _ => "…",
    }
}

fn malformed(written: &str) -> &'static str {
    if written.starts_with(['{', '%']) {
        "this is a template that has not been rendered; validate the result"
    } else if written.contains(":-") || written.contains('|') || written.contains('?') {
        "Score placeholders have no defaults and no filters; give the default in the program or in another variable"
    } else if written != written.trim() {
        "remove the spaces: nothing is trimmed inside the braces"
    } else {
        "write `${resources.NAME.OUTPUT}` or `${metadata.KEY}`; if the text is meant as it is, write `$${…}`"
    }
}

fn unknown_root(context: &Context<'_>, written: &str) -> String {
    let (root, rest) = written.split_once('.').unwrap_or((written, ""));
    if context.resources.is_some_and(|declared| declared.contains_key(root)) {
        return format!("write `${{resources.{written}}}`");
    }
    match nearest(root, ["resources", "metadata"]) {
        Some(near) => format!("write `${{{near}.{rest}}}`"),
        None if matches!(root, "externals" | "values" | "shared" | "modules" | "context") => {
            "declare the resource and write `${resources.NAME.OUTPUT}`; a shared one gets an `id`".to_owned()
        }
        None if matches!(root, "env" | "environment" | "secret" | "secrets" | "outputs") => {
            "declare a resource (of type environment, secret, …) and write `${resources.NAME.OUTPUT}`"
                .to_owned()
        }
        None => {
            "if the text is meant as it is, write `$${…}`; in a file, `noExpand: true` does it for all of it"
                .to_owned()
        }
    }
}

/// The metadata that was probably meant: a key with dots in it, or a similar one.
fn no_metadata(metadata: &Json, keys: &[String]) -> String {
    let mut value = metadata;
    for (depth, key) in keys.iter().enumerate() {
        let Json::Object(map) = value else {
            return format!("write `${{metadata.{}}}`, which has no keys", keys[..depth].join("."));
        };
        if let Some(next) = map.get(key) {
            value = next;
            continue;
        }
        let way = |key: &str| {
            let mut way = keys[..depth].to_vec();
            way.push(key.replace('.', "\\."));
            format!("`${{metadata.{}}}`", way.join("."))
        };
        let rest = keys[depth..].join(".");
        if map.contains_key(&rest) {
            return format!("a dot inside a key is written with a backslash: {}", way(&rest));
        }
        if let Some(near) = nearest(key, map.keys().map(String::as_str)) {
            return format!("did you mean {}?", way(near));
        }
        break;
    }
    format!("add `{}` under `metadata`, or write `$${{…}}` if the text is meant as it is", keys.join("."))
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
    if let Some(image) = container.get("image") {
        let hint = "write `image: .` and give the image when you deploy, with `--image`";
        not_expanded(context, image, &path.key("image"), hint, |_| true);
    }
    let hint = "put it into a variable and use that; placeholders are expanded in variables, file contents, volume sources and params only";
    for field in ["command", "args"] {
        if let Some(node) = container.get(field) {
            not_expanded(context, node, &path.key(field), hint, is_of_score);
        }
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        if let Some(node) = container.get(probe) {
            not_expanded(
                context,
                node,
                &path.key(probe),
                "write the value out; nothing is expanded in a probe",
                is_of_score,
            );
        }
    }
    mounts::each(container, "files", path, |_, file, path| {
        if let Some(source) = file.get("source") {
            not_expanded(
                context,
                source,
                &path.key("source"),
                "write the path out; only the text of the file is expanded",
                is_of_score,
            );
        }
    });
    mounts::each(container, "volumes", path, |_, volume, path| {
        if let Some(sub_path) = volume.get("path") {
            not_expanded(
                context,
                sub_path,
                &path.key("path"),
                "write the path out; only `source` is expanded",
                is_of_score,
            );
        }
    });
}

/// A reference that somebody meant to be expanded; elsewhere `${HOME}` may be for a shell.
fn is_of_score(written: &str) -> bool {
    Reference::parse(written).is_ok()
}

fn not_expanded(
    context: &mut Context<'_>,
    node: &Node,
    path: &Path<'_>,
    hint: &str,
    counts: fn(&str) -> bool,
) {
    match &node.value {
        Value::Map(map) => {
            map.iter()
                .for_each(|(key, entry)| not_expanded(context, &entry.node, &path.key(key), hint, counts));
        }
        Value::List(list) => {
            list.iter()
                .enumerate()
                .for_each(|(index, node)| not_expanded(context, node, &path.index(index), hint, counts));
        }
        Value::String(text) => {
            let mut places = Places::new(context.written(node.span), node.span);
            for token in tokens(text) {
                let span = places.of(token);
                if let Token::Reference(written) = token
                    && counts(written)
                {
                    report(context, Severity::Warning, Code::PlaceholderNotExpanded, path, span, |_| {
                        (
                            format!("{} is not expanded here", quoted(&format!("${{{written}}}"))),
                            hint.to_owned(),
                        )
                    });
                }
            }
        }
        _ => {}
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
