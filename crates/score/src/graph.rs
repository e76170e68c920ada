//! Topological order of a dependency graph: layers, or its cycles.

use std::collections::{BTreeMap, BTreeSet};

/// Dependencies of each node. Every dependency is a node itself.
pub(crate) type Dependencies<K> = BTreeMap<K, BTreeSet<K>>;

/// Sorted groups of nodes, each after its dependencies; or all cycles, each node before the one it depends on.
pub(crate) fn layers<K: Ord + Clone>(dependencies: &Dependencies<K>) -> Result<Vec<Vec<K>>, Vec<Vec<K>>> {
    let mut open: BTreeMap<&K, usize> = dependencies.iter().map(|(node, on)| (node, on.len())).collect();
    let mut dependents: BTreeMap<&K, Vec<&K>> = BTreeMap::new();
    for (node, on) in dependencies {
        for other in on {
            dependents.entry(other).or_default().push(node);
        }
    }
    let mut layers = Vec::new();
    let mut layer: BTreeSet<&K> =
        open.iter().filter(|(_, count)| **count == 0).map(|(node, _)| *node).collect();
    while !layer.is_empty() {
        let mut next = BTreeSet::new();
        for node in &layer {
            open.remove(node);
            for waiting in dependents.get(node).into_iter().flatten() {
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
    if open.is_empty() { Ok(layers) } else { Err(cycles(dependencies, open.into_keys().collect())) }
}

/// Cycles among nodes without an order. Following dependencies from any of them ends in a cycle, or at a node that
/// only depends on a cycle found before.
fn cycles<'k, K: Ord + Clone>(dependencies: &'k Dependencies<K>, mut stuck: BTreeSet<&'k K>) -> Vec<Vec<K>> {
    let mut cycles = Vec::new();
    while let Some(start) = stuck.first().copied() {
        let mut path = vec![start];
        let mut position = BTreeMap::from([(start, 0)]);
        let mut at = start;
        let cycle = loop {
            let mut on = dependencies.get(at).into_iter().flatten();
            let Some(next) = on.find(|other| stuck.contains(other)) else { break Vec::new() };
            if let Some(from) = position.get(next) {
                break path.split_off(*from);
            }
            position.insert(next, path.len());
            path.push(next);
            at = next;
        };
        if cycle.is_empty() {
            stuck.remove(at);
        } else {
            for node in &cycle {
                stuck.remove(node);
            }
            cycles.push(cycle.into_iter().cloned().collect());
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependencies(pairs: &[(&'static str, &[&'static str])]) -> Dependencies<&'static str> {
        pairs.iter().map(|(node, on)| (*node, on.iter().copied().collect())).collect()
    }

    #[test]
    fn layers_come_after_their_dependencies() {
        let dependencies = dependencies(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[]), ("d", &["c"])]);
        assert_eq!(layers(&dependencies), Ok(vec![vec!["c"], vec!["b", "d"], vec!["a"]]));
    }

    #[test]
    fn each_cycle_is_found_in_order_without_its_dependents() {
        let dependencies = dependencies(&[
            ("a", &["c"]),
            ("b", &["a"]),
            ("c", &["b"]),
            ("d", &["e"]),
            ("e", &["d"]),
            ("f", &["a", "e"]),
            ("g", &["g"]),
        ]);
        assert_eq!(layers(&dependencies), Err(vec![vec!["a", "c", "b"], vec!["d", "e"], vec!["g"]]));
    }
}
