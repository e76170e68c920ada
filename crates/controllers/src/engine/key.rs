//! Keys of queues.

use std::fmt;

use kube::Resource;

/// Namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    /// Key of an object.
    pub fn of(object: &impl Resource) -> Self {
        let metadata = object.meta();
        let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
        Self { namespace: namespace.unwrap_or_default(), name: name.unwrap_or_default() }
    }

    /// Key of a name in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
