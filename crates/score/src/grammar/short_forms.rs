//! Short forms of other tools, as fields of Score objects.

/// No short form.
pub(super) fn none(_: &str) -> Option<String> {
    None
}

/// HTTP probe for a URL, a path or a port.
pub(super) fn http_get(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    let port = match (authority.rsplit(':').next().unwrap_or_default().parse::<u16>(), scheme) {
        (Ok(port), _) => port,
        (Err(_), "https") => 443,
        (Err(_), "http") => 80,
        (Err(_), "") if authority.is_empty() => 8080,
        _ => return None,
    };
    let is_plain = !path.contains([' ', ',', '{', '}', '[', ']', '#', '"', '\'']);
    let scheme = if scheme == "https" { ", scheme: HTTPS" } else { "" };
    is_plain.then(|| format!("path: {path}, port: {port}{scheme}"))
}

/// Header as in HTTP: `X-Probe: ready`.
pub(super) fn header(text: &str) -> Option<String> {
    let (name, value) = text.split_once([':', '='])?;
    let (name, value) = (name.trim(), value.trim());
    let is_plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
    };
    (is_plain(name) && is_plain(value)).then(|| format!("name: {name}, value: {value}"))
}

/// Volume by the name of its resource.
pub(super) fn volume(text: &str) -> Option<String> {
    let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name.then(|| format!("source: \"${{resources.{text}}}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_paths_and_ports_are_http_probes() {
        for (text, fields) in [
            ("http://localhost:80/ready", Some("path: /ready, port: 80")),
            ("https://localhost/ready", Some("path: /ready, port: 443, scheme: HTTPS")),
            ("/ready", Some("path: /ready, port: 8080")),
            (":9000/ready", Some("path: /ready, port: 9000")),
            ("9000", Some("path: /, port: 9000")),
            ("ready", None),
        ] {
            assert_eq!(http_get(text).as_deref(), fields, "{text}");
        }
    }
}
