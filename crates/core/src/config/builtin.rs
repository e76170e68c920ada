//! What a machine provides by itself to Workloads that run on it as processes, so that an empty document works on a
//! laptop. It counts only where the engine for it is at hand, and only for what no entry of the document provides.

use std::sync::LazyLock;

use orchestra_api::config::{Provisioner, UnknownParams};

use super::provisioner::Wanted;

/// The engine of things on this machine, and the class of Workloads that run there.
pub const PROCESS: &str = "process";

/// What there is, by type.
const TYPES: [(&str, &str); 9] = [
    ("dns", "a name under localhost"),
    ("environment", "variables of the author's shell and of the file .env"),
    ("postgres", "a database of a server of this machine"),
    ("redis", "a cache of a server of this machine"),
    ("route", "a rule of the local reverse proxy"),
    ("secret", "generated values; of class tls, a certificate"),
    ("service", "the address of another workload"),
    ("service-port", "the address of a port of another workload"),
    ("volume", "a folder of this machine"),
];

static ENTRIES: LazyLock<Vec<Provisioner>> = LazyLock::new(|| {
    let entry = |(type_, description): &(&str, &str)| Provisioner {
        type_: (*type_).to_owned(),
        description: Some((*description).to_owned()),
        runtime_classes: vec![PROCESS.to_owned()],
        engine: PROCESS.to_owned(),
        unknown_params: UnknownParams::Refuse,
        ..Provisioner::default()
    };
    TYPES.iter().map(entry).collect()
});

/// What is built in for the runtime of a Workload, with engines that are at hand.
pub(super) fn entries(
    wanted: &Wanted<'_>,
    is_at_hand: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'static Provisioner> {
    let offered = wanted.runtime_class == PROCESS && is_at_hand(PROCESS);
    ENTRIES.iter().filter(move |_| offered)
}
