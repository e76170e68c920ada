//! Valid values that are probably mistakes.

use super::Doubt;
use crate::{diagnostic::quoted, quantity::Quantity};

/// No doubt.
pub(super) fn none(_: &str) -> Option<Doubt> {
    None
}

/// Image names that no registry accepts. Placeholders have a diagnostic of their own.
pub(super) fn image(text: &str) -> Option<Doubt> {
    if text.contains(['$', '{']) {
        return None;
    }
    let shown = quoted(text);
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

/// URL instead of a path.
pub(super) fn http_path(text: &str) -> Option<Doubt> {
    let (_, rest) = text.split_once("://")?;
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
