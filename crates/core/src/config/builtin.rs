//! Built-in provisioner entries of each runtime class. They apply only where their engine is available, and only to
//! resources without an entry in the config.

use std::sync::LazyLock;

use orchestra_api::config::{Provisioner, UnknownParams};

use super::provisioner::ResourceRequest;
use crate::runtimes;

pub use crate::runtimes::{
    kubernetes::{NAME as KUBERNETES, TEMPLATE},
    process::NAME as PROCESS,
};

/// Engine name in an entry that stands for the built-in engine of the Workload's runtime.
pub const BUILTIN: &str = "builtin";

static ENTRIES: LazyLock<Vec<Provisioner>> = LazyLock::new(|| {
    let provided = runtimes::all().filter_map(|class| Some((class.name, class.provides.as_ref()?)));
    let entry = |class: &str, engine: &str, (type_, description): (&str, &str)| Provisioner {
        type_: type_.to_owned(),
        description: Some(description.to_owned()),
        runtime_classes: vec![class.to_owned()],
        engine: engine.to_owned(),
        unknown_params: UnknownParams::Refuse,
        ..Provisioner::default()
    };
    provided
        .flat_map(|(class, provides)| {
            provides.types.iter().map(move |described| entry(class, provides.engine, *described))
        })
        .collect()
});

/// All built-in entries, including those of unavailable engines.
pub fn all() -> &'static [Provisioner] {
    &ENTRIES
}

/// Resource types that a built-in engine provides.
pub fn types(engine: &str) -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().filter(move |entry| entry.engine == engine).map(|entry| entry.type_.as_str())
}

/// Built-in entries for the runtime of a Workload whose engines are available.
pub(super) fn entries(
    wanted: &ResourceRequest<'_>,
    is_available: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'static Provisioner> {
    ENTRIES.iter().filter(move |entry| {
        entry.runtime_classes.iter().any(|class| class == wanted.runtime_class) && is_available(&entry.engine)
    })
}

/// Entry with [`BUILTIN`] replaced by the engine of the Workload's runtime.
pub fn resolved(
    entry: &Provisioner,
    runtime_class: &str,
    is_available: impl Fn(&str) -> bool,
) -> Provisioner {
    let mut entry = entry.clone();
    if entry.engine == BUILTIN && !is_available(BUILTIN) {
        let provides = runtimes::find(runtime_class).and_then(|class| class.provides.as_ref());
        if let Some(provides) = provides.filter(|provides| is_available(provides.engine)) {
            provides.engine.clone_into(&mut entry.engine);
        }
    }
    entry
}

/// True if the entries of an engine may choose a template of a provisioner file.
pub fn uses_templates(engine: &str) -> bool {
    [TEMPLATE, BUILTIN].contains(&engine)
}

/// Engines that [`BUILTIN`] can stand for.
pub(super) fn engines() -> impl Iterator<Item = &'static str> {
    runtimes::all().filter_map(|class| class.provides.as_ref()).map(|provides| provides.engine)
}
