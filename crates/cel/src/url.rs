//! URLs as Go parses them for a request: absolute, or a path from the root.

use std::fmt;
use std::rc::Rc;

use crate::value::{Map, Val};

/// A parsed URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

/// Error in the text of a URL.
#[derive(Debug)]
pub struct UrlProblem {
    text: String,
    what: &'static str,
}

impl fmt::Display for UrlProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parse {:?}: {}", self.text, self.what)
    }
}

impl Url {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<Self, UrlProblem> {
        Self::read(text).map_err(|what| UrlProblem { text: text.to_owned(), what })
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("empty url");
        }
        if text.chars().any(|c| c < ' ' || c == '\u{7f}') {
            return Err("net/url: invalid control character in URL");
        }
        let (before_fragment, _) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = scheme(before_fragment)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') && scheme.is_empty() {
            return Err("invalid URI for request");
        }
        let mut url = Self {
            text: text.to_owned(),
            scheme: scheme.to_ascii_lowercase(),
            host: String::new(),
            path: String::new(),
            query: query.to_owned(),
        };
        if !rest.starts_with('/') {
            return Ok(url);
        }
        let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(after) => {
                let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
                url.host = host(authority)?;
                path
            }
            None => rest,
        };
        if !escapes_are_valid(path) {
            return Err("invalid URL escape");
        }
        url.path = escaped_path(path);
        Ok(url)
    }

    /// Scheme in lower case; empty for a path from the root.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Host with its port; empty for a path from the root.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Result of a CEL function on the URL; none for other functions.
    pub(crate) fn part<'a>(&self, function: &str) -> Option<Val<'a>> {
        let (name, port) = split_port(&self.host);
        Some(match function {
            "getScheme" => Val::text(&self.scheme),
            "getHost" => Val::text(&self.host),
            "getHostname" => {
                Val::text(name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name))
            }
            "getPort" => Val::text(port),
            "getEscapedPath" => Val::text(&self.path),
            "getQuery" => self.query(),
            _ => return None,
        })
    }

    fn query<'a>(&self) -> Val<'a> {
        let mut entries: Vec<(String, Vec<Val<'a>>)> = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(key), Some(value)) = (decoded(key), decoded(value)) else { continue };
            match entries.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(Val::text(value)),
                None => entries.push((key, vec![Val::text(value)])),
            }
        }
        let entries = entries.into_iter().map(|(key, values)| (Val::text(key), Val::list(values))).collect();
        Val::Map(Map::Made(Rc::new(entries)))
    }
}

fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn split_port(host: &str) -> (&str, &str) {
    match host.rfind(':').filter(|colon| !host[*colon..].contains(']')) {
        Some(colon) if host[colon + 1..].bytes().all(|b| b.is_ascii_digit()) => {
            (&host[..colon], &host[colon + 1..])
        }
        _ => (host, ""),
    }
}

fn host(authority: &str) -> Result<String, &'static str> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        let end = host.rfind(']').ok_or("missing ']' in host")?;
        let port = &host[end + 1..];
        let numbered = port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
        if !port.is_empty() && !numbered {
            return Err("invalid port after host");
        }
        return Ok(host.to_owned());
    }
    if let Some((_, port)) = host.split_once(':')
        && !port.bytes().all(|b| b.is_ascii_digit())
    {
        return Err("invalid port after host");
    }
    if host.contains(|c: char| c == ' ' || "<>\"\\^`{|}".contains(c)) {
        return Err("invalid character in host name");
    }
    if host.contains('%') {
        return Err("invalid URL escape");
    }
    Ok(host.to_owned())
}

fn escapes_are_valid(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|after| after.len() >= 2 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit()))
}

/// Path as written if that is a valid escaping, else with all necessary escapes.
fn escaped_path(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&b);
    if path.bytes().all(|b| plain(b) || b"!'()*[]%".contains(&b)) {
        return path.to_owned();
    }
    let bytes = decoded_bytes(path, false).unwrap_or_default();
    bytes.iter().map(|b| if plain(*b) { char::from(*b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn decoded(text: &str) -> Option<String> {
    decoded_bytes(text, true).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn decoded_bytes(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                let digits = std::str::from_utf8(&digits).ok().filter(|digits| !digits.starts_with('+'))?;
                out.push(u8::from_str_radix(digits, 16).ok()?);
            }
            b'+' if plus_is_space => out.push(b' '),
            other => out.push(other),
        }
    }
    Some(out)
}
