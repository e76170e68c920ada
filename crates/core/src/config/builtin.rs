//! What is provided without a word in the document: by a machine to Workloads that run on it as processes, and by a
//! cluster to those that run there. It counts only where the engine for it is at hand, and only for what no entry of the
//! document provides.

use std::sync::LazyLock;

use orchestra_api::config::{Provisioner, UnknownParams};

use super::provisioner::Wanted;

/// The engine of things on this machine, and the class of Workloads that run there.
pub const PROCESS: &str = "process";
/// The engine of things that are objects of a cluster.
pub const TEMPLATE: &str = "template";
/// The class of Workloads that run in a cluster.
pub const KUBERNETES: &str = "kubernetes";
/// In an entry: whichever engine is built in for where the Workload runs.
pub const BUILTIN: &str = "builtin";

/// The engines that are built in, by the class of Workloads.
const ENGINES: [(&str, &str); 2] = [(PROCESS, PROCESS), (KUBERNETES, TEMPLATE)];

/// What a machine has, by type.
const OF_A_MACHINE: [(&str, &str); 9] = [
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

/// What a cluster has, by type; each is an entry of a provisioner file in [`crate::provision::template::builtin`].
const OF_A_CLUSTER: [(&str, &str); 16] = [
    ("amqp", "a message broker of its own"),
    ("dns", "a name under the domain of the cluster"),
    ("elasticsearch", "a search server of its own"),
    ("environment", "values that the platform or the namespace has set"),
    ("kafka", "an event broker of its own"),
    ("kafka-topic", "a topic on an event broker of its own"),
    ("mongodb", "a document database of its own"),
    ("mysql", "a database server of its own"),
    ("postgres", "a database server of its own"),
    ("redis", "a cache of its own"),
    ("route", "a rule of the cluster's ingress or gateway"),
    ("s3", "a bucket on an object store of its own"),
    ("secret", "generated values; of class tls, a certificate"),
    ("service", "the address of another workload"),
    ("service-port", "the address of a port of another workload"),
    ("volume", "a volume of the cluster's storage"),
];

static ENTRIES: LazyLock<Vec<Provisioner>> = LazyLock::new(|| {
    let of = |class: &'static str, engine: &'static str, types: &'static [(&str, &str)]| {
        types.iter().map(move |(type_, description)| Provisioner {
            type_: (*type_).to_owned(),
            description: Some((*description).to_owned()),
            runtime_classes: vec![class.to_owned()],
            engine: engine.to_owned(),
            unknown_params: UnknownParams::Refuse,
            ..Provisioner::default()
        })
    };
    of(PROCESS, PROCESS, &OF_A_MACHINE).chain(of(KUBERNETES, TEMPLATE, &OF_A_CLUSTER)).collect()
});

/// Everything that is built in, whatever is at hand.
pub fn all() -> &'static [Provisioner] {
    &ENTRIES
}

/// What is built in for the runtime of a Workload, with engines that are at hand.
pub(super) fn entries(
    wanted: &Wanted<'_>,
    is_at_hand: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'static Provisioner> {
    ENTRIES.iter().filter(move |entry| {
        entry.runtime_classes.iter().any(|class| class == wanted.runtime_class) && is_at_hand(&entry.engine)
    })
}

/// An entry with the engine that it means: where it says [`BUILTIN`], the one of the Workload's runtime.
pub fn resolved(entry: &Provisioner, runtime_class: &str, is_at_hand: impl Fn(&str) -> bool) -> Provisioner {
    let mut entry = entry.clone();
    if entry.engine == BUILTIN && !is_at_hand(BUILTIN) {
        let built_in = ENGINES.iter().find(|(class, _)| *class == runtime_class);
        if let Some((_, engine)) = built_in.filter(|(_, engine)| is_at_hand(engine)) {
            (*engine).clone_into(&mut entry.engine);
        }
    }
    entry
}

/// The engines that [`BUILTIN`] can mean.
pub(super) fn engines() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().map(|(_, engine)| *engine)
}
