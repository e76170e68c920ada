//! What this program contains: the drivers that its features brought in. `serve` runs with them, and `config check`
//! warns about everything else.

use std::sync::Arc;

use orchestra_core::config::Contained;
use orchestra_drivers::{Provisioner, Runtime, static_engine::Static};

/// What runs plans.
pub(crate) fn runtimes() -> Vec<Arc<dyn Runtime>> {
    Vec::new()
}

/// What provides what claims ask for.
pub(crate) fn provisioners() -> Vec<Arc<dyn Provisioner>> {
    vec![Arc::new(Static)]
}

/// All of them, by name.
pub(crate) fn contained() -> Contained {
    Contained {
        runtime_classes: runtimes().iter().map(|runtime| runtime.class().to_owned()).collect(),
        engines: provisioners().iter().map(|provisioner| provisioner.engine().to_owned()).collect(),
    }
}
