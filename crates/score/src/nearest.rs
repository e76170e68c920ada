//! Which name was probably meant. Every "did you mean" asks here, so that a slip is treated alike wherever it is made.

/// The nearest of some names, if one is near. Of equally near ones, the first.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // Enough for every bounded part of a document; free-form maps can be larger.
    const LOOKED_AT: usize = 500;
    let near = names.into_iter().take(LOOKED_AT).filter(|known| is_near(name, known));
    near.min_by_key(|known| strsim::osa_distance(name, known))
}

/// Whether one word was probably meant as the other: the same letters in another style, or a slip of the hand.
pub(crate) fn is_near(name: &str, known: &str) -> bool {
    const LONGEST: usize = 40;
    if name.len() > LONGEST || known.len() > LONGEST || name.len().abs_diff(known.len()) > LONGEST / 4 {
        return false;
    }
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (name, known) = (plain(name), plain(known));
    let slips = if known.len() <= 4 { 1 } else { 2 };
    // Of two letters, one that differs makes another word.
    name == known || (name.len().max(known.len()) > 2 && strsim::osa_distance(&name, &known) <= slips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_meant() {
        let near = |name| nearest(name, ["web-service", "batch-job", "ui"]);
        assert_eq!(near("web-servcie"), Some("web-service"));
        assert_eq!(near("webService"), Some("web-service"));
        assert_eq!(near("UI"), Some("ui"));
        assert_eq!(near("worker"), None);
        assert_eq!(near("xi"), None);
    }

    #[test]
    fn the_nearest_is_meant_and_of_equal_ones_the_first() {
        assert_eq!(nearest("ports", ["post", "port", "posts"]), Some("port"));
        assert_eq!(nearest("cat", ["car", "can"]), Some("car"));
    }

    #[test]
    fn long_names_are_not_compared() {
        let long = "a".repeat(41);
        assert_eq!(nearest(&long, [long.as_str()]), None);
    }
}
