//! Suggestions for misspelled names ("did you mean"), the same for all messages.

/// Most similar candidate, if one is similar enough; the first of equally similar ones.
pub fn suggest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // Enough for every bounded part of a document; free-form maps can be larger.
    const MAX_CANDIDATES: usize = 500;
    let similar = candidates.into_iter().take(MAX_CANDIDATES).filter(|known| is_similar(name, known));
    similar.min_by_key(|known| strsim::osa_distance(name, known))
}

/// True for the same letters in another case or separator style, or for one or two typos.
pub(crate) fn is_similar(name: &str, known: &str) -> bool {
    /// Longer names are not typos, and the comparison is quadratic.
    const MAX_LENGTH: usize = 40;
    if name.len() > MAX_LENGTH
        || known.len() > MAX_LENGTH
        || name.len().abs_diff(known.len()) > MAX_LENGTH / 4
    {
        return false;
    }
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (name, known) = (plain(name), plain(known));
    let max_typos = if known.len() <= 4 { 1 } else { 2 };
    // Two-letter names with one different letter are different names.
    name == known || (name.len().max(known.len()) > 2 && strsim::osa_distance(&name, &known) <= max_typos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let suggested = |name| suggest(name, ["web-service", "batch-job", "ui"]);
        assert_eq!(suggested("web-servcie"), Some("web-service"));
        assert_eq!(suggested("webService"), Some("web-service"));
        assert_eq!(suggested("UI"), Some("ui"));
        assert_eq!(suggested("worker"), None);
        assert_eq!(suggested("xi"), None);
    }

    #[test]
    fn the_most_similar_name_wins_and_the_first_of_equals() {
        assert_eq!(suggest("ports", ["post", "port", "posts"]), Some("port"));
        assert_eq!(suggest("cat", ["car", "can"]), Some("car"));
    }

    #[test]
    fn long_names_are_not_compared() {
        let long = "a".repeat(41);
        assert_eq!(suggest(&long, [long.as_str()]), None);
    }
}
