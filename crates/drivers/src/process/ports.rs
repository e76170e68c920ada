//! Port reservations of Workloads on this machine. The first Workload keeps a port; a second one is refused with the name of
//! the first, and notified when the port is released.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use crate::NamespacedName;

/// Ports that are reserved.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<PortTable>);

#[derive(Debug, Default)]
struct PortTable {
    owners: BTreeMap<u16, NamespacedName>,
    refused: BTreeSet<NamespacedName>,
}

impl Ports {
    /// Reserves exactly these ports for a Workload, and releases its others; or returns a port that is taken and its holder.
    /// Returns the Workloads that were refused a port and may try again.
    pub(super) fn take(
        &self,
        holder: &NamespacedName,
        ports: &BTreeSet<u16>,
    ) -> Result<Vec<NamespacedName>, (u16, NamespacedName)> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken_by_other =
            |port: &u16| Some((*port, table.owners.get(port).filter(|by| *by != holder)?.clone()));
        if let Some(taken) = ports.iter().find_map(taken_by_other) {
            table.refused.insert(holder.clone());
            return Err(taken);
        }
        let before = table.owners.iter().filter(|(_, by)| *by == holder).map(|(port, _)| *port);
        let releases_any = before.into_iter().any(|port| !ports.contains(&port));
        table.owners.retain(|_, by| by != holder);
        table.owners.extend(ports.iter().map(|port| (*port, holder.clone())));
        table.refused.remove(holder);
        let waiting = if releases_any { std::mem::take(&mut table.refused) } else { BTreeSet::new() };
        Ok(waiting.into_iter().collect())
    }

    /// Releases all ports of a Workload. Returns the Workloads that were refused a port and may try again.
    pub(super) fn release(&self, holder: &NamespacedName) -> Vec<NamespacedName> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.owners.retain(|_, by| by != holder);
        table.refused.remove(holder);
        std::mem::take(&mut table.refused).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(name: &str) -> NamespacedName {
        ("default".to_owned(), name.to_owned())
    }

    #[test]
    fn a_reserved_port_is_refused_with_its_owner_and_its_release_notifies() {
        let ports = Ports::default();
        assert_eq!(ports.take(&holder("a"), &[80, 81].into()), Ok(vec![]));
        assert_eq!(ports.take(&holder("b"), &[81, 82].into()), Err((81, holder("a"))));
        // Nothing was reserved partially.
        assert_eq!(ports.take(&holder("c"), &[82].into()), Ok(vec![]));
        assert_eq!(ports.release(&holder("a")), [holder("b")]);
        assert_eq!(ports.take(&holder("b"), &[80, 81].into()), Ok(vec![]));
    }

    #[test]
    fn a_workload_with_other_ports_releases_the_old_ones() {
        let ports = Ports::default();
        assert_eq!(ports.take(&holder("a"), &[80].into()), Ok(vec![]));
        assert!(ports.take(&holder("b"), &[80].into()).is_err());
        assert_eq!(ports.take(&holder("a"), &[81].into()), Ok(vec![holder("b")]));
        assert_eq!(ports.take(&holder("b"), &[80].into()), Ok(vec![]));
    }
}
