//! Secrets in clear text: in variables and file contents. Messages never repeat the value.

use super::{Context, mounts};
use crate::{
    code::Code,
    diagnostic::{Severity, backticked},
    node::Entry,
    placeholder::{Token, tokens},
    pointer::Path,
};

pub(super) fn check(context: &mut Context<'_>) {
    let root = context.root;
    let path = Path::Root;
    let containers = path.key("containers");
    for (name, entry) in root.entries("containers") {
        let path = containers.key(name);
        {
            let path = path.key("variables");
            for (variable, entry) in entry.node.entries("variables") {
                let Some(value) = entry.node.as_str() else { continue };
                if let Some(reason) = reason(variable, value) {
                    report(context, entry, &path.key(variable), &reason);
                }
            }
        }
        mounts::each(&entry.node, "files", &path, |_, file, path| {
            let Some(entry) = file.entry("content") else { return };
            if let Some(token) = entry.node.as_str().and_then(known_token) {
                report(context, entry, &path.key("content"), token);
            }
        });
    }
}

fn report(context: &mut Context<'_>, entry: &Entry, path: &Path<'_>, reason: &str) {
    // At the key: the value is not shown.
    let span = entry.key_span.or(entry.node.span);
    context.secrets.extend(entry.node.span);
    context.findings.report(Severity::Warning, Code::SuspiciousValue, path, span, || {
        let message = format!("possible secret in clear text: {} {reason}", backticked(path.name()));
        let hint = "declare `resources: {token: {type: secret}}`, and write a placeholder such as `${resources.token.secret}`";
        (message, hint.to_owned())
    });
}

/// Reason to take a variable for a secret.
fn reason(name: &str, value: &str) -> Option<String> {
    if let Some(token) = known_token(value) {
        return Some(token.to_owned());
    }
    if has_password_in_url(value) {
        return Some("contains a URL with a password".to_owned());
    }
    let is_literal = !value.trim().is_empty()
        && !value.contains(['{', '$'])
        && !tokens(value).any(|token| matches!(token, Token::Reference(_)));
    (is_literal && is_secret_name(name) && !is_setting(value)).then(|| "has a literal value".to_owned())
}

/// True for a name such as `DB_PASSWORD` or `apiKey`; not for settings about a secret, such as `TOKEN_URL`.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let has = |word: &str| words.iter().any(|found| found == word);
    let follows =
        |first: &str, second: &str| words.windows(2).any(|pair| pair[0] == first && pair[1] == second);
    let is_secret =
        words.iter().any(|word| word.contains("PASSWORD") || word.contains("PASSWD") || word == "APIKEY")
            || ["SECRET", "TOKEN", "CREDENTIALS"].into_iter().any(has)
            || follows("API", "KEY")
            || follows("ACCESS", "KEY") && has("SECRET")
            || follows("PRIVATE", "KEY");
    let is_about = words.last().is_some_and(|last| ABOUT_A_SECRET.contains(&last.as_str()));
    is_secret && !is_about
}

/// Last words of settings about a secret.
const ABOUT_A_SECRET: &[&str] = &[
    "FILE",
    "FILES",
    "PATH",
    "DIR",
    "URL",
    "URI",
    "ENDPOINT",
    "HOST",
    "PORT",
    "NAME",
    "ID",
    "KIND",
    "TYPE",
    "HEADER",
    "PREFIX",
    "ISSUER",
    "AUDIENCE",
    "SCOPE",
    "ALGORITHM",
    "TTL",
    "EXPIRY",
    "EXPIRATION",
    "LIFETIME",
    "AGE",
    "TIMEOUT",
    "SECONDS",
    "MINUTES",
    "HOURS",
    "DAYS",
    "LENGTH",
    "SIZE",
    "LIMIT",
    "COUNT",
    "MIN",
    "MAX",
    "ENABLED",
    "DISABLED",
    "REQUIRED",
    "POLICY",
    "VERSION",
    "REF",
    "STORE",
    "PROVIDER",
    "NAMESPACE",
    "REGION",
    "FIELD",
];

/// Words of a name in upper case: `apiKey` and `API_KEY` are `API`, `KEY`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars().take(200) {
        let is_new = !c.is_ascii_alphanumeric() || (was_lower && c.is_ascii_uppercase());
        if is_new {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_uppercase());
        }
        was_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// True for a value that is no secret: a flag, a small number, or the path of a file.
fn is_setting(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "false" | "yes" | "no" | "on" | "off" | "none")
        || value.parse::<u16>().is_ok()
        || value.starts_with('/')
}

/// True for a URL with a user and a literal password.
fn has_password_in_url(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '"']).next().unwrap_or_default();
        let Some((user, _)) = authority.rsplit_once('@') else { return false };
        user.split_once(':')
            .is_some_and(|(_, password)| !password.is_empty() && !password.contains(['$', '{', '<', '*']))
    })
}

/// Kind of a token with a well-known prefix.
fn known_token(value: &str) -> Option<&'static str> {
    const PREFIXES: [(&str, &str); 7] = [
        ("ghp_", "looks like a token of GitHub"),
        ("github_pat_", "looks like a token of GitHub"),
        ("glpat-", "looks like a token of GitLab"),
        ("AKIA", "looks like an access key of AWS"),
        ("xoxb-", "looks like a token of Slack"),
        ("xoxp-", "looks like a token of Slack"),
        ("sk_live_", "looks like a key of Stripe"),
    ];
    /// Shorter text is a prefix without a token, as in documentation.
    const MIN_LENGTH: usize = 16;
    if value.contains("-----BEGIN ") && value.contains("PRIVATE KEY-----") {
        return Some("contains a private key");
    }
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let found = PREFIXES.iter().find(|(prefix, _)| {
        value.match_indices(prefix).any(|(at, _)| {
            let starts = !value[..at].ends_with(is_token);
            starts && value[at..].chars().take_while(|c| is_token(*c)).count() >= MIN_LENGTH
        })
    });
    found.map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_settings_about_them() {
        for name in [
            "DB_PASSWORD",
            "PGPASSWORD",
            "API_KEY",
            "apiKey",
            "AWS_SECRET_ACCESS_KEY",
            "TOKEN",
            "clientSecret",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in
            ["TOKEN_URL", "PASSWORD_FILE", "MAX_TOKENS", "SECRET_NAME", "TOKENIZER", "KEY", "LOG_LEVEL"]
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn placeholders_flags_and_paths_are_no_secrets() {
        for value in [
            "",
            " ",
            "${resources.db.password}",
            "true",
            "3600",
            "/run/secrets/token",
            "$TOKEN",
            "{{ token }}",
        ] {
            assert_eq!(reason("TOKEN", value), None, "{value}");
        }
        assert!(reason("TOKEN", "changeme").is_some());
    }

    #[test]
    fn a_password_in_a_url_is_a_secret_unless_it_is_a_placeholder() {
        assert!(has_password_in_url("postgres://admin:hunter2@db/shop"));
        for value in [
            "postgres://admin:${resources.db.password}@db/shop",
            "postgres://${resources.db.username}:${resources.db.password}@db/shop",
            "https://example.org:8080/@me",
            "https://user@example.org",
        ] {
            assert!(!has_password_in_url(value), "{value}");
        }
    }

    #[test]
    fn tokens_are_known_by_their_prefix() {
        assert!(known_token("ghp_abcdefghijklmnopqrstuvwxyz0123456789").is_some());
        assert!(known_token("-----BEGIN RSA PRIVATE KEY-----\nabc\n").is_some());
        assert!(known_token("prefixes such as ghp_ and AKIA").is_none());
    }
}
