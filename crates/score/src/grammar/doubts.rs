//! Valid values that are probably mistakes.

use super::Doubt;
use crate::{diagnostic::quoted, quantity::Quantity};

/// No doubt.
pub(super) fn none(_: &str) -> Option<Doubt> {
    None
}

/// Doubts about any string: quotes of a word processor, and templates that are not rendered.
pub(crate) fn any(text: &str) -> Option<Doubt> {
    let shown = quoted(text);
    let is_quote = |c: char| matches!(c, '“' | '”' | '„' | '‘' | '’' | '«' | '»');
    if text.starts_with(is_quote) && text.ends_with(is_quote) && text.chars().count() > 1 {
        let plain = text.trim_matches(is_quote);
        let hint = format!("write straight quotes: {}", quoted(plain));
        return Some(Doubt { message: format!("smart quotes in {shown} are part of the value"), hint });
    }
    is_helm_template(text).then(|| Doubt {
        message: format!("unrendered template {shown} is used as written"),
        hint: "render the Helm template first, and validate the result".to_owned(),
    })
}

/// True for `{{ … }}` with a value of Helm.
fn is_helm_template(text: &str) -> bool {
    text.match_indices("{{").take(100).any(|(at, _)| {
        let inside = text[at + 2..].trim_start_matches('-').trim_start();
        [".Values.", ".Release.", ".Chart.", "$.Values."].iter().any(|root| inside.starts_with(root))
    })
}

/// Name of a variable that a shell cannot read.
pub(super) fn variable_name(name: &str) -> Option<Doubt> {
    let what = if name.contains(char::is_whitespace) {
        "contains a space"
    } else if name.starts_with(|c: char| c.is_ascii_digit()) {
        "starts with a digit"
    } else {
        return None;
    };
    let plain: Vec<&str> = name.split_whitespace().collect();
    let plain = plain.join("_");
    let plain = if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("_{plain}") } else { plain };
    Some(Doubt {
        message: format!("variable name {} {what}", quoted(name)),
        hint: format!(
            "write {}; names of environment variables are letters, digits and underscores",
            quoted(&plain)
        ),
    })
}

/// Image names that no registry accepts. Placeholders have a diagnostic of their own.
pub(super) fn image(text: &str) -> Option<Doubt> {
    let shown = quoted(text);
    if text.contains("{{") {
        return Some(Doubt {
            message: format!("unrendered template {shown} as the image"),
            hint: "render the Helm template first, or write `image: .` and set the image at deployment with `--image`"
                .to_owned(),
        });
    }
    if text.contains(['$', '{']) || any(text).is_some() {
        return None;
    }
    if let Some((name, digest)) = text.split_once('@')
        && !digest.contains(':')
    {
        return Some(Doubt {
            message: format!("image {shown} has a tag after `@`"),
            hint: format!(
                "write {}; `@` precedes a digest (`@sha256:…`)",
                quoted(&format!("{name}:{digest}"))
            ),
        });
    }
    if text.contains(char::is_whitespace) {
        let plain = if text.contains(':') { "" } else { ":" };
        let plain = text.split_whitespace().collect::<Vec<_>>().join(plain);
        return Some(Doubt {
            message: format!("image {shown} contains a space"),
            hint: format!("write {}", quoted(&plain)),
        });
    }
    if let Some((_, plain)) = text.split_once("://") {
        let hint = format!("remove the scheme: {}", quoted(plain));
        return Some(Doubt { message: format!("image {shown} is a URL"), hint });
    }
    if let Some(plain) = text.strip_suffix(':') {
        let hint = format!("add a tag, or write {}", quoted(plain));
        return Some(Doubt { message: format!("image {shown} has an empty tag"), hint });
    }
    // A registry with a port or a domain may have uppercase letters, and so may a tag.
    let repository = match text.split_once('/') {
        Some((registry, rest)) if registry.contains(['.', ':']) => rest,
        _ => text,
    };
    let repository = repository.split(['@', ':']).next().unwrap_or_default();
    if repository.contains(|c: char| c.is_ascii_uppercase()) {
        let plain = text.replacen(repository, &repository.to_lowercase(), 1);
        let hint = format!("write {}", quoted(&plain));
        return Some(Doubt { message: format!("image {shown} has uppercase letters in its name"), hint });
    }
    None
}

/// Memory in bytes that is meant in a larger unit.
pub(super) fn memory(text: &str) -> Option<Doubt> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit());
    let is_small =
        Quantity::memory(text).is_ok_and(|bytes| Quantity::memory("1Mi").is_ok_and(|mi| bytes < mi));
    if !is_plain || !is_small {
        return None;
    }
    let hint = format!("write \"{text}Mi\" for mebibytes");
    Some(Doubt { message: format!("memory quantity {} is {text} bytes", quoted(text)), hint })
}

/// URL instead of a path, or a path without its slash.
pub(super) fn http_path(text: &str) -> Option<Doubt> {
    let Some((_, rest)) = text.split_once("://") else {
        let is_relative = !text.is_empty() && !text.starts_with('/') && !text.contains(['$', '{']);
        return is_relative.then(|| Doubt {
            message: format!("path {} of a probe does not start with `/`", quoted(text)),
            hint: format!("write {}", quoted(&format!("/{text}"))),
        });
    };
    let path = rest.find('/').map_or("/", |slash| &rest[slash..]);
    Some(Doubt {
        message: format!("path {} is a URL", quoted(text)),
        hint: format!("write only the path: {}", quoted(path)),
    })
}

/// Volume without a source.
pub(super) fn volume_source(text: &str) -> Option<Doubt> {
    if !text.is_empty() {
        return None;
    }
    Some(Doubt {
        message: "volume source is empty".to_owned(),
        hint: "write the volume, such as \"${resources.data}\"".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_that_no_registry_accepts_are_doubted() {
        for (text, hint) in [
            ("nginx :1.27", "write \"nginx:1.27\""),
            ("https://ghcr.io/a/b", "remove the scheme: \"ghcr.io/a/b\""),
            ("nginx:", "add a tag, or write \"nginx\""),
            ("ghcr.io/Acme/Shop:V1", "write \"ghcr.io/acme/shop:V1\""),
            ("Nginx", "write \"nginx\""),
        ] {
            assert_eq!(image(text).map(|doubt| doubt.hint).as_deref(), Some(hint), "{text}");
        }
        for text in [".", "nginx:1.27-RC", "Registry.local:5000/a/b@sha256:abc", "${IMAGE}", "a/b"] {
            assert_eq!(image(text), None, "{text}");
        }
    }

    #[test]
    fn only_small_memory_without_a_unit_is_doubted() {
        assert!(memory("512").is_some());
        assert!(memory("512Mi").is_none());
        assert!(memory("536870912").is_none());
    }
}
