//! Order of API versions: `v2` before `v1` before `v1beta2` before `v1alpha1` before anything else.

use std::cmp::Ordering;

/// `Greater` means preferred.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        // Other names: alphabetical.
        (None, None) => b.cmp(a),
    }
}

/// Major, maturity, minor.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = number(major)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    if let Some(minor) = rest.strip_prefix("beta") {
        return Some((1, major, number(minor)?));
    }
    Some((0, major, number(rest.strip_prefix("alpha")?)?))
}

fn number(digits: &str) -> Option<u64> {
    (!digits.starts_with('0')).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn stable_versions_come_first_and_higher_ones_before_lower_ones() {
        let mut versions =
            vec!["v1alpha1", "foo1", "v1", "v10", "v2beta1", "v1beta2", "v2", "v11alpha2", "foo10", "v1b1"];
        versions.sort_by(|a, b| compare(b, a));
        let expected =
            ["v10", "v2", "v1", "v2beta1", "v1beta2", "v11alpha2", "v1alpha1", "foo1", "foo10", "v1b1"];
        assert_eq!(versions, expected);
    }
}
