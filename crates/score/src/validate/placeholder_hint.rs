//! Messages and hints for invalid placeholders.

use serde_json::Value as Json;

use super::{Context, lookalikes::reference_at_start};
use crate::{
    code::Code,
    diagnostic::{backticked, quoted},
    expansion::Usage,
    pointer::Path,
    suggest::suggest,
};

/// Problem of a placeholder.
pub(super) enum Problem {
    Malformed,
    UnknownRoot,
    /// Metadata not found; holds the path.
    NoMetadata(Vec<String>),
    /// Undefined resource.
    NoResource(String),
    /// Declared resource without an output.
    NoOutput(String),
}

impl Problem {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Malformed => Code::MalformedPlaceholder,
            Self::UnknownRoot | Self::NoOutput(_) => Code::InvalidPlaceholder,
            Self::NoMetadata(_) => Code::UnknownMetadata,
            Self::NoResource(_) => Code::UnknownResource,
        }
    }

    /// Message and hint.
    pub(super) fn describe(
        &self,
        context: &Context<'_>,
        written: &str,
        path: &Path<'_>,
        usage: Usage,
    ) -> (String, String) {
        let shown = quoted(&format!("${{{written}}}"));
        match self {
            Self::Malformed => {
                let (reason, hint) = malformed(written, path);
                (format!("invalid placeholder {shown}: {reason}"), hint)
            }
            Self::UnknownRoot => (
                format!("invalid placeholder {shown}: must start with `metadata.` or `resources.`"),
                unknown_root(context, written),
            ),
            Self::NoMetadata(keys) => (
                format!("metadata key {} not found: {shown} has no value", backticked(&keys.join("."))),
                no_metadata(context.metadata(), keys),
            ),
            Self::NoResource(name) => {
                let declared = context.resources.into_iter().flatten().map(|(name, _)| name.as_str());
                let hint = match suggest(name, declared) {
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None => format!(
                        "declare it: `resources: {{{name}: {{type: {}}}}}`",
                        if usage == Usage::VolumeSource { "volume" } else { likely_type(name) }
                    ),
                };
                (
                    format!(
                        "undefined resource {} in placeholder {shown}: not declared under `resources`",
                        backticked(name)
                    ),
                    hint,
                )
            }
            Self::NoOutput(name) => (
                format!("invalid placeholder {shown}: missing output of the resource"),
                format!("add the output, such as `${{resources.{name}.host}}`"),
            ),
        }
    }
}

/// Likely type of a resource, by its name.
pub(super) fn likely_type(name: &str) -> &str {
    match name {
        "env" | "environment" => "environment",
        "db" | "database" | "pg" | "postgresql" => "postgres",
        "mariadb" => "mysql",
        "mongo" => "mongodb",
        "cache" => "redis",
        "queue" | "rabbitmq" => "amqp",
        "bucket" => "s3",
        "token" | "password" | "credentials" | "secrets" => "secret",
        "data" | "storage" => "volume",
        "postgres" | "mysql" | "mongodb" | "redis" | "amqp" | "s3" | "dns" | "route" | "volume"
        | "secret" => name,
        _ => "…",
    }
}

/// Reason and hint for malformed placeholders.
fn malformed(written: &str, path: &Path<'_>) -> (&'static str, String) {
    let is_variable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fixed = written.trim_matches(['{', '}', ' ']).replace("[\"", ".").replace("['", ".");
    let fixed = fixed.replace("\"]", "").replace("']", "");
    let is_reference = |text: &str| reference_at_start(text) == Some(text);
    let write = |reference: &str| format!("write `${{{reference}}}`");
    if let Some((inside, _)) = written.split_once("${") {
        let hint = reference_at_start(inside).map_or_else(|| "close it with `}`".to_owned(), write);
        ("missing `}`", hint)
    } else if fixed != written && is_reference(&fixed) {
        let reason = if written.starts_with('{') {
            "one pair of braces is enough"
        } else if written.contains('[') {
            "brackets are not supported"
        } else {
            "spaces are not allowed"
        };
        (reason, write(&fixed))
    } else if written.starts_with(['{', '%']) {
        ("template syntax is not supported", "render the template first, and validate the result".to_owned())
    } else if !written.contains(":-") && is_reference(&written.replace([':', '/'], ".")) {
        ("parts are separated by dots", write(&written.replace([':', '/'], ".")))
    } else if let Some((name, default)) = written.split_once(":-")
        && !default.is_empty()
        && name.chars().all(is_variable)
    {
        let name = if path.is_variable() { path.name() } else { name };
        let hint = format!("write the value: `{name}: \"{}\"`", default.escape_debug());
        ("default values and filters are not supported", hint)
    } else if written.contains(":-") || written.contains('|') || written.contains('?') {
        (
            "default values and filters are not supported",
            "set the default in the program, or in a variable of its own".to_owned(),
        )
    } else if written.contains(char::is_whitespace) {
        ("spaces are not allowed", "remove the spaces inside the braces".to_owned())
    } else if !written.is_empty()
        && written.chars().all(is_variable)
        && !matches!(written, "resources" | "metadata")
    {
        (
            "environment variables are not expanded",
            format!(
                "write `$${{{written}}}` to pass it on to a shell, or `${{resources.NAME.OUTPUT}}` for the output of a resource"
            ),
        )
    } else {
        (
            "expected `${metadata.KEY}` or `${resources.NAME.OUTPUT}`",
            "for literal text, escape it as `$${…}`".to_owned(),
        )
    }
}

fn unknown_root(context: &Context<'_>, written: &str) -> String {
    let (root, rest) = written.split_once('.').unwrap_or((written, ""));
    if context.resources.is_some_and(|declared| declared.contains_key(root)) {
        return format!("write `${{resources.{written}}}`");
    }
    match suggest(root, ["resources", "metadata"]) {
        Some(similar) => format!("write `${{{similar}.{rest}}}`"),
        None if matches!(root, "externals" | "values" | "shared" | "modules" | "context") => {
            "declare the resource and write `${resources.NAME.OUTPUT}`; share it between workloads with an `id`".to_owned()
        }
        None if matches!(root, "service" | "containers") => {
            format!("write the value itself; `{root}` cannot be referenced, only `metadata` and `resources`")
        }
        None if matches!(root, "env" | "environment" | "secret" | "secrets" | "outputs") => {
            let (name, type_) =
                if root.starts_with("secret") { ("token", "secret") } else { ("env", "environment") };
            let output = match (type_, rest) {
                ("secret", _) => "secret",
                (_, "") => "NAME",
                _ => rest,
            };
            format!("write `${{resources.{name}.{output}}}`, and declare `resources: {{{name}: {{type: {type_}}}}}`")
        }
        None => {
            "for literal text, escape it as `$${…}`, or set `noExpand: true` for a whole file"
                .to_owned()
        }
    }
}

/// Hint for missing metadata: a key with dots, or a similar one.
fn no_metadata(metadata: &Json, keys: &[String]) -> String {
    let mut value = metadata;
    for (depth, key) in keys.iter().enumerate() {
        let Json::Object(map) = value else {
            return format!("write `${{metadata.{}}}`, which is not a map", keys[..depth].join("."));
        };
        if let Some(next) = map.get(key) {
            value = next;
            continue;
        }
        let reference = |key: &str| {
            let mut path = keys[..depth].to_vec();
            path.push(key.replace('.', "\\."));
            format!("`${{metadata.{}}}`", path.join("."))
        };
        let rest = keys[depth..].join(".");
        if map.contains_key(&rest) {
            return format!("escape a dot inside a key with a backslash: {}", reference(&rest));
        }
        if let Some(similar) = suggest(key, map.keys().map(String::as_str)) {
            return format!("did you mean {}?", reference(similar));
        }
        break;
    }
    format!("add `{}` under `metadata`; for literal text, escape it as `$${{…}}`", keys.join("."))
}
