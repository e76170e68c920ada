//! Recorded plans with their objects.

use std::{collections::BTreeMap, fs, path::PathBuf};

use orchestra_api::{plan::WorkloadPlanSpec, reference::SecretKeyRef};
use orchestra_core::render::kubernetes::{Subject, inventory, lacks, render};
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Value as Json, json};

/// Recorded plan.
pub(crate) struct Case {
    pub(crate) file: String,
    path: PathBuf,
    document: Json,
    pub(crate) plan: WorkloadPlanSpec,
}

impl Case {
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            namespace: self.document["namespace"].as_str().unwrap(),
            name: &self.plan.workload_ref.name,
            plan: &self.plan,
        }
    }

    /// Values of secrets, by name of the Secret and key.
    pub(crate) fn secrets(&self) -> BTreeMap<String, String> {
        serde_json::from_value(self.document.get("secrets").cloned().unwrap_or_else(|| json!({}))).unwrap()
    }

    pub(crate) fn objects(&self) -> Vec<Json> {
        let secrets = self.secrets();
        let read = |key: &SecretKeyRef| secrets[&format!("{}/{}", key.name, key.key)].clone().into_bytes();
        render(&self.subject(), &read)
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/render/kubernetes");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let (node, findings) =
            yaml::parse(&Source::new(&file, fs::read_to_string(&path).unwrap()), SourceId(0));
        assert!(!findings.has_errors(), "{file}: {findings:?}");
        let document = node.unwrap().to_json();
        let plan = serde_json::from_value(document["plan"].clone()).unwrap();
        Case { file, path, document, plan }
    };
    files.into_iter().map(read).collect()
}

#[test]
fn a_plan_has_the_objects_of_earlier_versions() {
    let cases = cases();
    assert!(cases.len() >= 10, "only {} plans are kept", cases.len());
    for case in cases {
        let mut now = case.document.clone();
        now["objects"] = json!(case.objects());
        now["inventory"] = json!(inventory(&case.subject()));
        if std::env::var_os("UPDATE_RENDERED").is_some() {
            fs::write(&case.path, yaml::to_yaml(&now).unwrap()).unwrap();
            continue;
        }
        let text = yaml::to_yaml(&now["objects"]).unwrap();
        assert_eq!(now, case.document, "{} now becomes this, and everything is rolled:\n{text}", case.file);
    }
}

#[test]
fn a_recorded_plan_is_supported() {
    for case in cases() {
        assert_eq!(lacks(&case.plan), Vec::<String>::new(), "{}", case.file);
    }
}
