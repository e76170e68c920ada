//! Names of all objects that the orchestrator creates.

use sha2::{Digest, Sha256};

/// Maximum length of a label value and a DNS label.
pub const MAX_NAME_LENGTH: usize = 63;
/// Length of the hash suffix.
const HASH: usize = 10;

/// Name of a claim. Another type, class or ID under the same key is another claim, so that the old one serves until the
/// new one is bound.
pub fn claim(workload: &str, key: &str, type_: &str, class: &str, id: Option<&str>) -> String {
    derived(&[workload, key], &[workload, key, type_, class, id.unwrap_or_default()])
}

/// Instance of a claim. Claims of a namespace with the same type, class and ID share one; a claim without an ID has its
/// own.
pub fn instance(
    namespace: &str,
    type_: &str,
    class: &str,
    id: Option<&str>,
    workload: &str,
    key: &str,
) -> String {
    match id {
        Some(id) => hash(&[namespace, type_, class, "shared", id]),
        None => hash(&[namespace, type_, class, "private", workload, key]),
    }
}

/// Name of the Secret of an instance. A type may contain capital letters.
pub fn secret(type_: &str, instance: &str) -> String {
    derived(&[&type_.to_lowercase()], &["secret", instance])
}

/// Readable name with a hash of its identity.
pub fn derived(shown: &[&str], identity: &[&str]) -> String {
    let mut name = shown.join("-");
    let end =
        name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end < MAX_NAME_LENGTH - HASH);
    name.truncate(end.last().unwrap_or(0));
    let name = name.trim_end_matches(['-', '.']);
    format!("{name}-{}", &hash(identity)[..HASH])
}

/// Hash of a list of strings. Lengths are hashed too, so that `["ab"]` and `["a", "b"]` differ.
pub fn hash(texts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for text in texts {
        sha.update((text.len() as u64).to_be_bytes());
        sha.update(text);
    }
    let start = sha.finalize().into_iter().take(16);
    start.fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workload_and_key_with_the_same_concatenation_have_different_claims() {
        assert_ne!(claim("a-b", "c", "x", "default", None), claim("a", "b-c", "x", "default", None));
    }

    #[test]
    fn a_claim_of_another_class_is_another_claim() {
        assert_ne!(claim("a", "db", "x", "small", None), claim("a", "db", "x", "large", None));
        assert_ne!(claim("a", "db", "x", "small", None), claim("a", "db", "x", "small", Some("shop")));
    }

    #[test]
    fn the_longest_names_still_fit_into_a_label() {
        let long = "a".repeat(63);
        let name = claim(&long, &long, "postgres", "default", None);
        assert_eq!(name.len(), MAX_NAME_LENGTH);
        assert!(name.ends_with(|c: char| c.is_ascii_alphanumeric()));
    }

    #[test]
    fn every_instance_has_a_secret_of_its_own() {
        assert_ne!(secret("postgres", "a"), secret("postgres", "b"));
        assert!(secret("Postgres", "a").starts_with("postgres-"));
    }

    #[test]
    fn a_shared_instance_is_the_same_for_every_workload() {
        let shared = |workload| instance("shop", "postgres", "default", Some("orders"), workload, "db");
        assert_eq!(shared("a"), shared("b"));
        assert_ne!(shared("a"), instance("shop", "postgres", "default", None, "a", "db"));
    }
}
