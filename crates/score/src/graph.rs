//! Who waits for whom: layers, or the circles that make an order impossible.

use std::collections::{BTreeMap, BTreeSet};

/// What each node needs to come first. Everything needed must be a node itself.
pub(crate) type Needs<K> = BTreeMap<K, BTreeSet<K>>;

/// Groups of nodes, each group sorted and after everything it needs; or, where there are circles, each of them in
/// the order in which its nodes need each other.
pub(crate) fn layers<K: Ord + Clone>(needs: &Needs<K>) -> Result<Vec<Vec<K>>, Vec<Vec<K>>> {
    let mut waiting: BTreeSet<&K> = needs.keys().collect();
    let mut layers = Vec::new();
    while !waiting.is_empty() {
        let layer: Vec<&K> = waiting
            .iter()
            .copied()
            .filter(|node| needed_by(needs, node).all(|other| !waiting.contains(other)))
            .collect();
        if layer.is_empty() {
            return Err(circles(needs, waiting));
        }
        for node in &layer {
            waiting.remove(node);
        }
        layers.push(layer.into_iter().cloned().collect());
    }
    Ok(layers)
}

fn needed_by<'k, K: Ord>(needs: &'k Needs<K>, node: &K) -> impl Iterator<Item = &'k K> {
    needs.get(node).into_iter().flatten()
}

/// The circles among nodes that cannot be ordered. Following the needs from any of them ends in a circle, or with
/// a node that only waited for one that is already found.
fn circles<'k, K: Ord + Clone>(needs: &'k Needs<K>, mut stuck: BTreeSet<&'k K>) -> Vec<Vec<K>> {
    let mut circles = Vec::new();
    while let Some(start) = stuck.first().copied() {
        let mut way = vec![start];
        let mut at = start;
        let circle = loop {
            let Some(next) = needed_by(needs, at).find(|other| stuck.contains(other)) else {
                break Vec::new();
            };
            if let Some(from) = way.iter().position(|node| *node == next) {
                break way.split_off(from);
            }
            way.push(next);
            at = next;
        };
        if circle.is_empty() {
            stuck.remove(at);
        } else {
            for node in &circle {
                stuck.remove(node);
            }
            circles.push(circle.into_iter().cloned().collect());
        }
    }
    circles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(pairs: &[(&'static str, &[&'static str])]) -> Needs<&'static str> {
        pairs.iter().map(|(node, needed)| (*node, needed.iter().copied().collect())).collect()
    }

    #[test]
    fn layers_come_after_what_they_need() {
        let needs = needs(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[]), ("d", &["c"])]);
        assert_eq!(layers(&needs), Ok(vec![vec!["c"], vec!["b", "d"], vec!["a"]]));
    }

    #[test]
    fn each_circle_is_found_in_its_order_without_what_waits_behind_it() {
        let needs = needs(&[
            ("a", &["c"]),
            ("b", &["a"]),
            ("c", &["b"]),
            ("d", &["e"]),
            ("e", &["d"]),
            ("f", &["a", "e"]),
            ("g", &["g"]),
        ]);
        assert_eq!(layers(&needs), Err(vec![vec!["a", "c", "b"], vec!["d", "e"], vec!["g"]]));
    }
}
