//! Built-in provisioner files, used on a cluster without entries in the config, and the choice between their entries and those of
//! custom files.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::template::{Entry, load};

/// Files, by name.
pub const FILES: [(&str, &str); 15] = [
    ("amqp", include_str!("builtin/amqp.provisioners.yaml")),
    ("dns", include_str!("builtin/dns.provisioners.yaml")),
    ("elasticsearch", include_str!("builtin/elasticsearch.provisioners.yaml")),
    ("environment", include_str!("builtin/environment.provisioners.yaml")),
    ("kafka", include_str!("builtin/kafka.provisioners.yaml")),
    ("kafka-topic", include_str!("builtin/kafka-topic.provisioners.yaml")),
    ("mongodb", include_str!("builtin/mongodb.provisioners.yaml")),
    ("mysql", include_str!("builtin/mysql.provisioners.yaml")),
    ("postgres", include_str!("builtin/postgres.provisioners.yaml")),
    ("redis", include_str!("builtin/redis.provisioners.yaml")),
    ("route", include_str!("builtin/route.provisioners.yaml")),
    ("s3", include_str!("builtin/s3.provisioners.yaml")),
    ("secret", include_str!("builtin/secret.provisioners.yaml")),
    ("service", include_str!("builtin/service.provisioners.yaml")),
    ("volume", include_str!("builtin/volume.provisioners.yaml")),
];

static ENTRIES: LazyLock<Vec<Entry>> =
    // A test shows that the built-in files are valid.
    LazyLock::new(|| FILES.iter().flat_map(|(_, text)| load(text).unwrap_or_default()).collect());

/// All entries of these files.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// Entry for a resource, and the name of its file: one of these files, or else a built-in one, which has no name here.
pub fn find<'e>(
    files: &'e BTreeMap<String, Vec<Entry>>,
    uri: Option<&str>,
    resource: (&str, &str, &str),
) -> Option<(&'e Entry, Option<&'e str>)> {
    let entries = || files.iter().flat_map(|(name, entries)| entries.iter().map(move |entry| (entry, name)));
    match choose(entries().map(|(entry, _)| entry), uri, resource) {
        Some(chosen) => {
            let (_, name) = entries().find(|(entry, _)| std::ptr::eq(*entry, chosen))?;
            Some((chosen, Some(name)))
        }
        None => choose(self::entries().iter(), uri, resource).map(|entry| (entry, None)),
    }
}

/// Entry with the URI, or else the most specific one for a resource; of equals, the first.
fn choose<'e>(
    mut entries: impl Iterator<Item = &'e Entry>,
    uri: Option<&str>,
    resource: (&str, &str, &str),
) -> Option<&'e Entry> {
    if let Some(uri) = uri {
        return entries.find(|entry| entry.uri == uri);
    }
    let (type_, class, id) = resource;
    let mut best: Option<&Entry> = None;
    for entry in entries.filter(|entry| entry.unsupported.is_none() && entry.matches(type_, class, id)) {
        if best.is_none_or(|best| entry.specificity() > best.specificity()) {
            best = Some(entry);
        }
    }
    best
}

#[cfg(test)]
#[path = "builtin_tests.rs"]
mod tests;
