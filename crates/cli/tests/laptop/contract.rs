//! Examples of the REST contract on a machine without a container engine: the errors match the committed list.
//!
//! `CONTRACT_EXAMPLES` is their folder; `UPDATE_REFUSALS=1` updates the list.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use orchestra_score::{
    Document, Source,
    model::FileContent,
    placeholder::{Reference, Token, tokens},
};
use serde_json::{Value as Json, json};

use crate::laptop::session::{Laptop, Up, eventually};

const LIST: &str = "tests/laptop/refusals.txt";

/// Orchestrator config with static provisioners for all types, so that only the runtime reports errors. JSON is YAML.
fn static_config(text: &str, types: &BTreeSet<&str>) -> String {
    let references = tokens(text).filter_map(|token| match token {
        Token::Reference(reference) => Reference::parse(reference).ok(),
        _ => None,
    });
    let outputs: serde_json::Map<String, Json> = references
        .filter_map(|reference| match reference {
            Reference::Resource { keys, .. } => Some((keys.first()?.clone(), json!({"value": "any"}))),
            Reference::Metadata(_) => None,
        })
        .collect();
    let provisioner = |type_: &&str| json!({"type": type_, "engine": "static", "outputs": outputs});
    let provisioners: Vec<Json> = types.iter().map(provisioner).collect();
    json!({
        "apiVersion": "score.dev/v1b1", "kind": "OrchestratorConfig", "spec": {"provisioners": provisioners},
    })
    .to_string()
}

#[test]
#[ignore = "needs the examples of the contract"]
fn errors_of_the_contract_examples_match_the_list() {
    let examples = std::env::var("CONTRACT_EXAMPLES").expect("CONTRACT_EXAMPLES is not set");
    let mut files: Vec<_> = fs::read_dir(examples).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut list = String::new();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let _ = writeln!(list, "{name}");
        refusals(&file, &mut list);
    }
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    if std::env::var_os("UPDATE_REFUSALS").is_some() {
        fs::write(&committed, &list).unwrap();
        return;
    }
    assert_eq!(list, fs::read_to_string(committed).unwrap());
}

fn refusals(file: &Path, list: &mut String) {
    let laptop = Laptop::new();
    let text = fs::read_to_string(file).unwrap();
    let workload = Document::parse(Source::new("score.yaml", &text)).check().workload.unwrap();
    // The contract does not include the files that the examples refer to.
    let files = workload.containers.values().flat_map(|container| container.files.iter().flatten());
    for (_, file) in files {
        if let FileContent::Source(path) = &file.content {
            laptop.file(path, "of the author");
        }
    }
    laptop.file("score.yaml", &text);
    let up = laptop.up(&["up"]);
    let name = workload.metadata.name.as_str();
    // First, errors of the provisioners.
    let claims = || {
        let got = laptop.run(&["get", name, "-o", "json"]);
        let workload: Json = serde_json::from_str(&got.out).ok()?;
        let claims = workload["status"]["claims"].as_array()?.clone();
        let is_settled = |claim: &Json| {
            claim["phase"] != "Pending"
                || claim["message"].as_str().unwrap().starts_with("Waiting for the workload")
        };
        let is_moving = |claim: &Json| claim["phase"] == "Binding";
        (!claims.is_empty() && claims.iter().all(|claim| is_settled(claim) && !is_moving(claim)))
            .then_some(claims)
    };
    let claims = eventually(claims).unwrap_or_else(|| panic!("{}", laptop.run(&["describe", name]).out));
    for claim in claims.iter().filter(|claim| claim["phase"] != "Bound") {
        let _ = writeln!(
            list,
            "  resources.{}: {}",
            claim["key"].as_str().unwrap(),
            claim["message"].as_str().unwrap()
        );
    }
    up.interrupt();
    laptop.must(&["down", "--rm"]);
    // Then, with all resources provided, errors of the runtime.
    let types = workload.resources.iter().flatten().map(|(_, resource)| resource.type_.as_str()).collect();
    laptop.file("platform.yaml", &static_config(&text, &types));
    let server =
        Up::follow(&mut laptop.command(&["serve", "--listen", "127.0.0.1:0", "--config", "platform.yaml"]));
    let applied = eventually(|| (laptop.run(&["apply"]).code == 0).then_some(()));
    assert!(applied.is_some());
    let described = laptop.until(name, "cannot run this");
    let message = described.lines().find(|line| line.contains("cannot run this")).unwrap();
    for sentence in message.split_once("cannot run this: ").unwrap().1.split(". ") {
        let _ = writeln!(list, "  {}", sentence.trim_end_matches('.'));
    }
    laptop.must(&["delete", name]);
    drop(server);
}
