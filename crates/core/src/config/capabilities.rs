//! Warnings about runtime classes and engines that a binary lacks. Other controllers may implement them, so they are no
//! errors; but a typo looks the same, and then nothing ever happens.

use std::collections::BTreeSet;

use orchestra_api::config::CONFIG_KEY;
use orchestra_score::{Pointer, Source, SourceId, yaml};

use super::{
    builtin, document,
    fault::{Fault, Faults},
    name_rules,
};
use crate::provision::EXTERNAL;

/// Runtimes and engines of a binary, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Runtime classes.
    pub runtime_classes: BTreeSet<String>,
    /// Provisioner engines.
    pub engines: BTreeSet<String>,
}

impl Capabilities {
    /// Runtime classes and engines of a valid config that are missing here, each at its first occurrence.
    pub fn missing(&self, text: &str) -> Vec<Fault> {
        let source = Source::new(CONFIG_KEY, text);
        let (Some(root), _) = yaml::parse(&source, SourceId(0)) else { return Vec::new() };
        let spec = document::read(&root, &mut Faults::default()).spec;
        let mut faults = Faults::default();
        let mut reported = BTreeSet::new();
        for (profile, at) in listed(&spec.profiles, "profiles") {
            for (index, backend) in profile.backends.iter().enumerate() {
                let class = backend.runtime_class.as_str();
                if !self.runtime_classes.contains(class) && reported.insert(class) {
                    let at = at.key("backends").index(index).key("runtimeClass");
                    let otherwise = "workloads there need a controller of your own";
                    let hint = hint(class, &self.runtime_classes, otherwise);
                    faults.add(at, format!("runtime class {class:?} is not available in this binary"), hint);
                }
            }
        }
        reported.clear();
        for (entry, at) in listed(&spec.provisioners, "provisioners") {
            let engine = entry.engine.as_str();
            let is_built_in =
                engine == builtin::BUILTIN && builtin::engines().any(|engine| self.engines.contains(engine));
            let is_available = is_built_in || self.engines.contains(engine);
            if engine != EXTERNAL && !is_available && reported.insert(engine) {
                let otherwise =
                    "its resources are not provisioned; write `external` for a controller of your own";
                let hint = hint(engine, &self.engines, otherwise);
                faults.add(
                    at.key("engine"),
                    format!("engine {engine:?} is not available in this binary"),
                    hint,
                );
            }
        }
        faults.located(&root, &source)
    }
}

fn listed<'a, T>(entries: &'a [T], key: &'a str) -> impl Iterator<Item = (&'a T, Pointer)> {
    let at = Pointer::of(["spec", key]);
    entries.iter().enumerate().map(move |(index, entry)| (entry, at.index(index)))
}

fn hint(name: &str, available: &BTreeSet<String>, otherwise: &str) -> String {
    let known: Vec<&str> = available.iter().map(String::as_str).collect();
    name_rules::did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match &known[..] {
        [] => otherwise.to_owned(),
        known => format!("available: {}; {otherwise}", name_rules::all(known)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "\
apiVersion: score.dev/v1b1
kind: OrchestratorConfig
spec:
  profiles:
    - name: web
      backends:
        - {backendId: a, runtimeClass: proces}
        - {backendId: b, runtimeClass: process}
        - {backendId: c, runtimeClass: mainframe}
        - {backendId: d, runtimeClass: mainframe}
  provisioners:
    - {type: redis, engine: builtin}
    - {type: queue, engine: external}
    - {type: dns, engine: static, outputs: {host: {value: x}}}
";

    fn capabilities(runtime_classes: &[&str], engines: &[&str]) -> Capabilities {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Capabilities { runtime_classes: set(runtime_classes), engines: set(engines) }
    }

    #[test]
    fn missing_classes_and_engines_are_reported_once_with_their_line_and_a_suggestion() {
        assert!(super::super::check(DOCUMENT).is_ok());
        let missing = capabilities(&["process"], &["static"]).missing(DOCUMENT);
        let reported: Vec<_> = missing.iter().map(|fault| (fault.line, fault.hint.as_str())).collect();
        assert_eq!(
            reported,
            [
                (Some(7), "did you mean `process`?"),
                (Some(9), "available: `process`; workloads there need a controller of your own"),
                (
                    Some(12),
                    "available: `static`; its resources are not provisioned; write `external` for a controller of your own"
                ),
            ]
        );
        assert_eq!(missing[1].pointer, "/spec/profiles/0/backends/2/runtimeClass");
        assert_eq!(missing[1].message, "runtime class \"mainframe\" is not available in this binary");
    }

    #[test]
    fn an_empty_config_misses_nothing() {
        assert_eq!(capabilities(&[], &[]).missing(""), []);
    }
}
