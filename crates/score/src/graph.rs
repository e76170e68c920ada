//! Who waits for whom: layers, or the circles that make an order impossible.

use std::collections::{BTreeMap, BTreeSet};

/// What each node needs to come first. Everything needed must be a node itself.
pub(crate) type Needs<K> = BTreeMap<K, BTreeSet<K>>;

/// Groups of nodes, each group sorted and after everything it needs; or, where there are circles, each of them in
/// the order in which its nodes need each other.
pub(crate) fn layers<K: Ord + Clone>(needs: &Needs<K>) -> Result<Vec<Vec<K>>, Vec<Vec<K>>> {
    let mut open: BTreeMap<&K, usize> = needs.iter().map(|(node, needed)| (node, needed.len())).collect();
    let mut needed_by: BTreeMap<&K, Vec<&K>> = BTreeMap::new();
    for (node, needed) in needs {
        for other in needed {
            needed_by.entry(other).or_default().push(node);
        }
    }
    let mut layers = Vec::new();
    let mut layer: BTreeSet<&K> =
        open.iter().filter(|(_, count)| **count == 0).map(|(node, _)| *node).collect();
    while !layer.is_empty() {
        let mut next = BTreeSet::new();
        for node in &layer {
            open.remove(node);
            for waiting in needed_by.get(node).into_iter().flatten() {
                if let Some(count) = open.get_mut(waiting) {
                    *count -= 1;
                    if *count == 0 {
                        next.insert(*waiting);
                    }
                }
            }
        }
        layers.push(layer.into_iter().cloned().collect());
        layer = next;
    }
    if open.is_empty() { Ok(layers) } else { Err(circles(needs, open.into_keys().collect())) }
}

/// The circles among nodes that cannot be ordered. Following the needs from any of them ends in a circle, or with
/// a node that only waited for one that is already found.
fn circles<'k, K: Ord + Clone>(needs: &'k Needs<K>, mut stuck: BTreeSet<&'k K>) -> Vec<Vec<K>> {
    let mut circles = Vec::new();
    while let Some(start) = stuck.first().copied() {
        let mut way = vec![start];
        let mut position = BTreeMap::from([(start, 0)]);
        let mut at = start;
        let circle = loop {
            let mut needed = needs.get(at).into_iter().flatten();
            let Some(next) = needed.find(|other| stuck.contains(other)) else { break Vec::new() };
            if let Some(from) = position.get(next) {
                break way.split_off(*from);
            }
            position.insert(next, way.len());
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
