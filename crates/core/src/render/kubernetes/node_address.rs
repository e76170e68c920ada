//! Choice of the address for node ports, which every node serves.

/// Types of addresses, the best first.
const TYPES: [&str; 2] = ["ExternalIP", "InternalIP"];

/// Summary of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeFact {
    /// Name.
    pub name: String,
    /// True if it is ready.
    pub is_ready: bool,
    /// Types and values of its addresses.
    pub addresses: Vec<(String, String)>,
}

/// Address for node ports: an external one, if there is one. The `current` one stays as long as it is as good as any other.
pub fn node_address(nodes: &[NodeFact], current: Option<&str>) -> Option<String> {
    let addresses = nodes.iter().flat_map(|node| {
        node.addresses.iter().filter_map(move |(type_, address)| {
            let rank = TYPES.iter().position(|known| known == type_)?;
            Some(((!node.is_ready, rank, Some(address.as_str()) != current, &node.name), address))
        })
    });
    addresses.min_by_key(|(rank, _)| *rank).map(|(_, address)| address.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, is_ready: bool, addresses: &[(&str, &str)]) -> NodeFact {
        let addresses = addresses.iter().map(|(type_, address)| ((*type_).to_owned(), (*address).to_owned()));
        NodeFact { name: name.to_owned(), is_ready, addresses: addresses.collect() }
    }

    #[test]
    fn an_external_address_of_a_ready_node_is_chosen_and_stays_while_it_is_as_good_as_any() {
        let hostname = ("Hostname", "a");
        let a = node("a", true, &[hostname, ("InternalIP", "10.0.0.1")]);
        let b = node("b", true, &[("InternalIP", "10.0.0.2"), ("ExternalIP", "192.0.2.2")]);
        let c = node("c", true, &[("ExternalIP", "192.0.2.3")]);
        let broken = node("b", false, &b.addresses.iter().map(|(t, a)| (&**t, &**a)).collect::<Vec<_>>());
        for (nodes, current, expected) in [
            (vec![], Some("10.0.0.1"), None),
            (vec![node("a", true, &[hostname])], None, None),
            (vec![a.clone()], None, Some("10.0.0.1")),
            (vec![a.clone(), b.clone()], Some("10.0.0.1"), Some("192.0.2.2")),
            (vec![c.clone(), b.clone()], None, Some("192.0.2.2")),
            (vec![c.clone(), b], Some("192.0.2.3"), Some("192.0.2.3")),
            (vec![c, broken.clone()], Some("192.0.2.2"), Some("192.0.2.3")),
            (vec![a, broken], Some("192.0.2.2"), Some("10.0.0.1")),
        ] {
            assert_eq!(node_address(&nodes, current).as_deref(), expected, "{nodes:?} {current:?}");
        }
    }
}
