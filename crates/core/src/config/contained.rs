//! What a document asks for that a binary does not contain. That is no fault: controllers of others may look after it.
//! But a slip of the hand looks the same, and then nothing ever happens; so it is worth a warning.

use std::collections::BTreeSet;

use orchestra_api::config::CONFIG_KEY;
use orchestra_score::{Pointer, Source, SourceId, yaml};

use super::{
    builtin, document,
    fault::{Fault, Faults},
    words,
};
use crate::provision::EXTERNAL;

/// What a binary contains, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contained {
    /// The classes of plans it runs.
    pub runtime_classes: BTreeSet<String>,
    /// The engines it provides with.
    pub engines: BTreeSet<String>,
}

impl Contained {
    /// What a valid document asks for beyond this: each class and each engine where it stands first.
    pub fn missing(&self, text: &str) -> Vec<Fault> {
        let source = Source::new(CONFIG_KEY, text);
        let (Some(root), _) = yaml::parse(&source, SourceId(0)) else { return Vec::new() };
        let spec = document::read(&root, &mut Faults::default()).spec;
        let mut faults = Faults::default();
        let mut told = BTreeSet::new();
        for (profile, at) in listed(&spec.profiles, "profiles") {
            for (index, backend) in profile.backends.iter().enumerate() {
                let class = backend.runtime_class.as_str();
                if !self.runtime_classes.contains(class) && told.insert(class) {
                    let at = at.key("backends").index(index).key("runtimeClass");
                    let otherwise = "workloads there wait for a controller of your own";
                    let hint = hint(class, &self.runtime_classes, otherwise);
                    faults.add(at, format!("this program contains no runtime {class:?}"), hint);
                }
            }
        }
        told.clear();
        for (entry, at) in listed(&spec.provisioners, "provisioners") {
            let engine = entry.engine.as_str();
            let is_built_in =
                engine == builtin::BUILTIN && builtin::engines().any(|engine| self.engines.contains(engine));
            let is_contained = is_built_in || self.engines.contains(engine);
            if engine != EXTERNAL && !is_contained && told.insert(engine) {
                let otherwise =
                    "what it provides will not be had; write `external` for a controller of your own";
                let hint = hint(engine, &self.engines, otherwise);
                faults.add(at.key("engine"), format!("this program contains no engine {engine:?}"), hint);
            }
        }
        faults.located(&root, &source)
    }
}

fn listed<'a, T>(entries: &'a [T], key: &'a str) -> impl Iterator<Item = (&'a T, Pointer)> {
    let at = Pointer::of(["spec", key]);
    entries.iter().enumerate().map(move |(index, entry)| (entry, at.index(index)))
}

fn hint(name: &str, contained: &BTreeSet<String>, otherwise: &str) -> String {
    let known: Vec<&str> = contained.iter().map(String::as_str).collect();
    words::did_you_mean(name, known.iter().copied()).unwrap_or_else(|| match &known[..] {
        [] => otherwise.to_owned(),
        known => format!("it contains {}; {otherwise}", words::all(known)),
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

    fn contained(runtime_classes: &[&str], engines: &[&str]) -> Contained {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Contained { runtime_classes: set(runtime_classes), engines: set(engines) }
    }

    #[test]
    fn what_is_not_contained_is_told_once_with_its_line_and_what_was_probably_meant() {
        assert!(super::super::check(DOCUMENT).is_ok());
        let missing = contained(&["process"], &["static"]).missing(DOCUMENT);
        let told: Vec<_> = missing.iter().map(|fault| (fault.line, fault.hint.as_str())).collect();
        assert_eq!(
            told,
            [
                (Some(7), "did you mean `process`?"),
                (Some(9), "it contains `process`; workloads there wait for a controller of your own"),
                (
                    Some(12),
                    "it contains `static`; what it provides will not be had; write `external` for a controller of your own"
                ),
            ]
        );
        assert_eq!(missing[1].pointer, "/spec/profiles/0/backends/2/runtimeClass");
        assert_eq!(missing[1].message, "this program contains no runtime \"mainframe\"");
    }

    #[test]
    fn an_empty_document_asks_for_nothing_by_name() {
        assert_eq!(contained(&[], &[]).missing(""), []);
    }
}
