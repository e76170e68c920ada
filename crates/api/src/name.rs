//! The names of what the orchestrator makes. Every one of them is computed here.

use sha2::{Digest, Sha256};

/// The longest name that can be a label and a DNS name.
pub const MAX: usize = 63;
/// Letters of a hash that tells names apart.
const HASH: usize = 10;

/// The name of the claim for a dependency. Another type, class or id under the same key is another claim, so that
/// the old one can serve until the new one is there.
pub fn claim(workload: &str, key: &str, type_: &str, class: &str, id: Option<&str>) -> String {
    derived(&[workload, key], &[workload, key, type_, class, id.unwrap_or_default()])
}

/// The identity of the thing behind claims: all claims of a namespace with the same type, class and id share it; a
/// claim without an id has its own.
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

/// The name of the Secret in which what is secret about an instance is kept. A type may be written with capitals.
pub fn secret(type_: &str, instance: &str) -> String {
    derived(&[&type_.to_lowercase()], &["secret", instance])
}

/// A name that people recognise and that no other inputs can lead to.
pub fn derived(shown: &[&str], identity: &[&str]) -> String {
    let mut name = shown.join("-");
    let end = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end < MAX - HASH);
    name.truncate(end.last().unwrap_or(0));
    let name = name.trim_end_matches(['-', '.']);
    format!("{name}-{}", &hash(identity)[..HASH])
}

/// A hash of texts that keeps them apart: no two lists of texts run together.
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
    fn workloads_whose_names_run_together_have_different_claims() {
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
        assert_eq!(name.len(), MAX);
        assert!(name.ends_with(|c: char| c.is_ascii_alphanumeric()));
    }

    #[test]
    fn every_instance_has_a_secret_of_its_own() {
        assert_ne!(secret("postgres", "a"), secret("postgres", "b"));
        assert!(secret("Postgres", "a").starts_with("postgres-"));
    }

    #[test]
    fn a_shared_instance_has_one_identity_whoever_asks() {
        let shared = |workload| instance("shop", "postgres", "default", Some("orders"), workload, "db");
        assert_eq!(shared("a"), shared("b"));
        assert_ne!(shared("a"), instance("shop", "postgres", "default", None, "a", "db"));
    }
}
