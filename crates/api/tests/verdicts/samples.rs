//! Valid and invalid samples of every kind, on the embedded server and on a real one, with equal verdicts.
//!
//! A sample is a stream of documents that are applied in order; a document with a status goes to the status subresource.
//! All but the last are accepted. The last one of an invalid sample is rejected with a message that contains the text
//! after `# expect:`.

use std::{collections::BTreeMap, fs, path::Path};

use crate::server::{Server, Verdict};
use orchestra_api::{PlatformPolicy, ResourceClaim, Workload, WorkloadExposure, WorkloadPlan, crd};
use orchestra_score::{Source, SourceId, yaml};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value as Json;

struct Sample {
    name: String,
    objects: Vec<Json>,
    /// Part of the rejection; `None` if the sample is valid.
    expected: Option<String>,
}

fn samples() -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut found = Vec::new();
    for verdict in ["valid", "invalid"] {
        for entry in fs::read_dir(folder.join(verdict)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let expected = text.lines().find_map(|line| line.strip_prefix("# expect: ")).map(str::to_owned);
            let name = format!("{verdict}/{}", path.file_name().unwrap().display());
            assert_eq!(expected.is_none(), verdict == "valid", "{name}");
            found.push(Sample { name, objects: text.split("---\n").map(read).collect(), expected });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn read(text: &str) -> Json {
    let (node, findings) = yaml::parse(&Source::new("sample", text), SourceId(0));
    node.unwrap_or_else(|| panic!("{findings:?}: {text}")).to_json()
}

/// Verdict on the last document of a sample.
async fn validate(server: &Server, sample: &Sample) -> Verdict {
    let (last, before) = sample.objects.split_last().unwrap();
    for object in before {
        let verdict = server.apply(object, false).await;
        assert!(verdict.is_ok(), "{}: {verdict:?}", sample.name);
    }
    let verdict = server.apply(last, false).await;
    server.delete(last).await;
    verdict
}

/// Difference between verdict and expectation.
fn problem(sample: &Sample, verdict: &Verdict) -> Option<String> {
    let given = sample.objects.last()?;
    match (&sample.expected, verdict) {
        (None, Ok(stored)) if !includes(stored, given) => Some(format!("stored as {stored}")),
        (None, Ok(stored)) => round_trip(stored).map(|error| format!("lost in its type: {error}")),
        (None, Err(message)) => Some(format!("rejected: {message}")),
        (Some(_), Ok(_)) => Some("accepted".to_owned()),
        (Some(expected), Err(message)) => {
            (!message.contains(expected)).then(|| format!("rejected: {message}"))
        }
    }
}

/// True if the stored object has every field of the given one.
fn includes(stored: &Json, given: &Json) -> bool {
    match (stored, given) {
        (Json::Object(stored), Json::Object(given)) => {
            given.iter().all(|(key, value)| stored.get(key).is_some_and(|stored| includes(stored, value)))
        }
        (Json::Array(stored), Json::Array(given)) => {
            stored.len() == given.len()
                && stored.iter().zip(given).all(|(stored, given)| includes(stored, given))
        }
        _ => stored == given,
    }
}

/// Loss or error when an object goes through its Rust type.
fn round_trip(object: &Json) -> Option<String> {
    fn lost<K: DeserializeOwned + Serialize>(object: &Json) -> Option<String> {
        let read: K = match serde_json::from_value(object.clone()) {
            Ok(read) => read,
            Err(error) => return Some(error.to_string()),
        };
        let back = serde_json::to_value(read).ok()?;
        let same = |part: &str| object.get(part).is_none_or(|part_of| includes(&back[part], part_of));
        (!same("spec") || !same("status")).then(|| format!("becomes {back}"))
    }
    match object["kind"].as_str()? {
        "Workload" => lost::<Workload>(object),
        "PlatformPolicy" => lost::<PlatformPolicy>(object),
        "ResourceClaim" => lost::<ResourceClaim>(object),
        "WorkloadPlan" => lost::<WorkloadPlan>(object),
        _ => lost::<WorkloadExposure>(object),
    }
}

/// Verdicts on all samples, by name.
async fn validate_all(server: &Server) -> BTreeMap<String, Verdict> {
    let mut verdicts = BTreeMap::new();
    let mut problems = Vec::new();
    for sample in samples() {
        let verdict = validate(server, &sample).await;
        problems.extend(problem(&sample, &verdict).map(|problem| format!("{}: {problem}", sample.name)));
        verdicts.insert(sample.name, verdict);
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    verdicts
}

async fn warnings_about_definitions(server: &Server) -> Vec<String> {
    let mut all = Vec::new();
    for definition in crd::all() {
        let definition = serde_json::to_value(definition).unwrap();
        all.extend(server.warnings(&definition).await.expect("strict validation accepts the CRD"));
    }
    all
}

#[tokio::test]
async fn the_embedded_server_accepts_the_definitions_without_warnings() {
    let server = Server::embedded("verdicts").await;
    assert_eq!(warnings_about_definitions(&server).await, [""; 0]);
}

#[tokio::test]
async fn the_embedded_server_accepts_valid_samples_and_rejects_invalid_ones() {
    validate_all(&Server::embedded("verdicts").await).await;
}

#[tokio::test]
#[ignore = "needs a cluster: KUBECONFIG"]
async fn a_real_server_gives_the_same_verdicts_about_the_same_fields() {
    let namespace = format!("verdicts-{}", std::process::id());
    let real = Server::real(&namespace).await;
    assert_eq!(warnings_about_definitions(&real).await, [""; 0]);
    // A real server prints a value of the wrong type in Go syntax, which no client parses (ADR 0005).
    let without_value = |message: String| message.split(", got ").next().unwrap_or_default().to_owned();
    let rejections = |verdicts: BTreeMap<String, Verdict>| -> BTreeMap<String, Option<String>> {
        verdicts.into_iter().map(|(name, verdict)| (name, verdict.err().map(without_value))).collect()
    };
    let of_real = rejections(validate_all(&real).await);
    real.clean_up().await;
    let of_embedded = rejections(validate_all(&Server::embedded(&namespace).await).await);
    let differing = of_real.iter().filter(|(name, message)| of_embedded[*name] != **message);
    let differing: Vec<_> = differing.map(|(name, real)| (name, real, &of_embedded[name])).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
