//! Who holds which port of this machine. Processes share its ports: the first keeps them, a second holder is told who
//! the first is, and is woken when the first lets go.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

/// The namespace and name of a Workload.
pub(super) type Holder = (String, String);

/// All ports that are held.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    held: BTreeMap<u16, Holder>,
    refused: BTreeSet<Holder>,
}

impl Ports {
    /// Takes exactly these ports for a Workload, and lets its others go; or names a port that is held, and by whom.
    /// Answers who was refused one meanwhile and may try again.
    pub(super) fn take(&self, holder: &Holder, ports: &BTreeSet<u16>) -> Result<Vec<Holder>, (u16, Holder)> {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = |port: &u16| Some((*port, book.held.get(port).filter(|by| *by != holder)?.clone()));
        if let Some(taken) = ports.iter().find_map(held) {
            book.refused.insert(holder.clone());
            return Err(taken);
        }
        let before = book.held.iter().filter(|(_, by)| *by == holder).map(|(port, _)| *port);
        let lets_go = before.into_iter().any(|port| !ports.contains(&port));
        book.held.retain(|_, by| by != holder);
        book.held.extend(ports.iter().map(|port| (*port, holder.clone())));
        book.refused.remove(holder);
        let waiting = if lets_go { std::mem::take(&mut book.refused) } else { BTreeSet::new() };
        Ok(waiting.into_iter().collect())
    }

    /// Lets all ports of a Workload go. Answers who was refused one meanwhile and may try again.
    pub(super) fn release(&self, holder: &Holder) -> Vec<Holder> {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.held.retain(|_, by| by != holder);
        book.refused.remove(holder);
        std::mem::take(&mut book.refused).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(name: &str) -> Holder {
        ("default".to_owned(), name.to_owned())
    }

    #[test]
    fn a_second_holder_is_told_who_the_first_is_and_woken_when_it_goes() {
        let ports = Ports::default();
        assert_eq!(ports.take(&holder("a"), &[80, 81].into()), Ok(vec![]));
        assert_eq!(ports.take(&holder("b"), &[81, 82].into()), Err((81, holder("a"))));
        // Nothing was taken by halves.
        assert_eq!(ports.take(&holder("c"), &[82].into()), Ok(vec![]));
        assert_eq!(ports.release(&holder("a")), [holder("b")]);
        assert_eq!(ports.take(&holder("b"), &[80, 81].into()), Ok(vec![]));
    }

    #[test]
    fn a_holder_that_needs_other_ports_lets_the_old_ones_go() {
        let ports = Ports::default();
        assert_eq!(ports.take(&holder("a"), &[80].into()), Ok(vec![]));
        assert!(ports.take(&holder("b"), &[80].into()).is_err());
        assert_eq!(ports.take(&holder("a"), &[81].into()), Ok(vec![holder("b")]));
        assert_eq!(ports.take(&holder("b"), &[80].into()), Ok(vec![]));
    }
}
