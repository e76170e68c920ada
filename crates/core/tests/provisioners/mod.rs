//! Conformance tests of Score's provisioner files and their template language.
//!
//! The data is outside the repository; `SCORE_CONFORMANCE` is its folder. Only advisory cases may differ, and each
//! difference is listed with its reason in `differences.yaml`; an entry that no longer differs fails too. Parts of
//! score-compose are compared as plain YAML, without its types.

mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use orchestra_core::template::{
    Cause, Compose, Entry, Failure, Given, Inputs, Port, Service, load, render_text,
};
use orchestra_score::{Source, SourceId, yaml};
use serde_json::{Map, Value as Json, json};
use tokens::Bindings;

/// Result of a case.
enum Verdict {
    Same,
    Differs(String),
    /// Out of scope: it is about the types of score-compose.
    Skipped,
}

fn run_all(file: &str, count: usize, out_of_scope: usize, run: impl Fn(&Json) -> Verdict) {
    let folder = std::env::var("SCORE_CONFORMANCE")
        .expect("SCORE_CONFORMANCE must name the folder of the Score conformance data");
    let text =
        std::fs::read_to_string(format!("{folder}/provisioners/{file}.json")).expect("the data can be read");
    let cases: Vec<Json> = serde_json::from_str(&text).expect("the data is JSON");
    assert_eq!(cases.len(), count, "the number of cases of {file}");
    let listed = differences(file);
    let mut failures = Vec::new();
    let mut differing = BTreeSet::new();
    let mut skipped = 0;
    for case in cases {
        let name = case["name"].as_str().unwrap().to_owned();
        match run(&case) {
            Verdict::Same => {}
            Verdict::Skipped => skipped += 1,
            Verdict::Differs(_) if case["advisory"] == true && listed.contains_key(&name) => {
                differing.insert(name);
            }
            Verdict::Differs(problem) => failures.push(format!("{name}: {problem}")),
        }
    }
    for stale in listed.keys().filter(|name| !differing.contains(*name)) {
        failures.push(format!("{stale}: listed as a difference, but does not differ (or is not advisory)"));
    }
    println!(
        "{file}: {count} cases, {skipped} about types and log lines of score-compose only, {} as listed in differences.yaml, {} failures",
        differing.len(),
        failures.len()
    );
    assert_eq!(skipped, out_of_scope, "the number of skipped cases of {file}");
    assert!(failures.is_empty(), "{} of {count} cases fail:\n{}", failures.len(), failures.join("\n"));
}

/// Differences of a file with their reasons.
fn differences(file: &str) -> BTreeMap<String, String> {
    let source = Source::new("differences.yaml", include_str!("differences.yaml"));
    let (node, _) = yaml::parse(&source, SourceId(0));
    let all = node.expect("differences.yaml is YAML").to_json();
    let of_file = all.get(file).and_then(Json::as_object).cloned().unwrap_or_default();
    of_file.into_iter().map(|(name, reason)| (name, reason.as_str().expect("a reason").to_owned())).collect()
}

#[test]
#[ignore = "needs SCORE_CONFORMANCE"]
fn templates_render_as_in_go() {
    run_all("templates", 758, 0, |case| {
        let compose = case["root"] == "score-compose";
        let (inputs, given) = inputs(&case["data"], compose);
        let template = case["template"].as_str().unwrap();
        let result = render_text(template, &inputs, &given, b"conformance");
        match (result, case["expect"].get("error")) {
            (Ok(text), None) => compare("text", &json!(text), &case["expect"]["text"]),
            (Ok(text), Some(error)) => Verdict::Differs(format!("gives {text:?}, not {error}")),
            (Err(failure), Some(error)) => same_failure(&failure, error, false),
            (Err(failure), None) => {
                Verdict::Differs(format!("fails: {failure}; expected {}", case["expect"]))
            }
        }
    });
}

#[test]
#[ignore = "needs SCORE_CONFORMANCE"]
fn entries_give_the_results_of_the_reference_tools() {
    run_all("provisioners", 1153, 26, |case| match case["op"].as_str().unwrap() {
        "match" => matching(case),
        "load" => loading(case),
        _ => provisioning(case),
    });
}

fn matching(case: &Json) -> Verdict {
    let entry = Entry::from_json(case["provisioner"].clone()).expect("an entry");
    let uid = case["input"]["Uid"].as_str().unwrap();
    let (kind, id) = uid.split_once('#').unwrap();
    let (type_, class) = kind.split_once('.').unwrap();
    compare("match", &json!(entry.matches(type_, class, id)), &case["expect"]["match"])
}

/// An unknown scheme makes the whole file invalid in the reference tool; here the entry is kept with the reason.
fn loading(case: &Json) -> Verdict {
    let schemes: &[&str] =
        if case["engine"] == "score-compose" { &["cmd:", "local-env:"] } else { &["cmd:"] };
    let known = |entry: &Entry| {
        entry.unsupported.is_none() || schemes.iter().any(|scheme| entry.uri.starts_with(scheme))
    };
    match load(case["input"]["text"].as_str().unwrap()) {
        Ok(entries) if entries.iter().all(known) => {
            compare("count", &json!(entries.len()), &case["expect"]["count"])
        }
        _ if case["expect"].get("error").is_some() => Verdict::Same,
        other => Verdict::Differs(format!("gives {other:?}, not {}", case["expect"])),
    }
}

fn provisioning(case: &Json) -> Verdict {
    let compose = case["engine"] == "score-compose";
    let expect = &case["expect"];
    let error = expect.get("error");
    let (inputs, _) = inputs(&case["input"], compose);
    let entry = match Entry::from_json(case["provisioner"].clone()) {
        Ok(entry) if compose && case["provisioner"].get("manifests").is_some() => {
            // Entries of both tools are parsed here; each reference tool parses only its own.
            assert!(!entry.templates.manifests.is_empty());
            return if error.is_some() {
                Verdict::Same
            } else {
                Verdict::Differs("has manifests".to_owned())
            };
        }
        Ok(entry) => entry,
        Err(_) if error.is_some_and(|error| error["stage"] == "format") => return Verdict::Same,
        Err(error) => return Verdict::Differs(format!("is refused: {error}")),
    };
    match (entry.provision(&inputs, b"conformance"), error) {
        (Ok(given), None) => same_result(&given, expect, compose),
        (Ok(_), Some(error)) if is_typed(error) => Verdict::Skipped,
        (Ok(given), Some(error)) => Verdict::Differs(format!("gives {given:?}, not {error}")),
        (Err(failure), Some(error)) => same_failure(&failure, error, true),
        (Err(failure), None) if is_loose_yaml(&failure) => Verdict::Skipped,
        (Err(failure), None) => Verdict::Differs(format!("fails: {failure}")),
    }
}

/// True if an error comes from the types of compose-go.
fn is_typed(error: &Json) -> bool {
    let stage = error["stage"].as_str().unwrap_or_default();
    error["kinds"] == json!(["shape"]) && ["services", "volumes", "networks", "models"].contains(&stage)
}

/// yaml.v3 accepts a quoted text that continues in the first column of the next line, which YAML does not allow. Only log
/// lines of score-compose do that.
fn is_loose_yaml(failure: &Failure) -> bool {
    failure.stage == "info_logs" && failure.cause == Cause::Yaml
}

fn same_failure(failure: &Failure, error: &Json, staged: bool) -> Verdict {
    let kinds = json!([failure.cause.name()]);
    let same = kinds == error["kinds"]
        && (!staged || error["stage"] == failure.stage.as_str())
        && (error["text"].is_null() || error["text"].as_str() == failure.text.as_deref());
    if same { Verdict::Same } else { Verdict::Differs(format!("{failure:?} is not {error}")) }
}

fn same_result(given: &Given, expect: &Json, compose: bool) -> Verdict {
    let mut got = Map::new();
    for (name, map) in [
        ("init", &given.init),
        ("state", &given.state),
        ("shared_patch", &given.shared_patch),
        ("shared", &given.shared),
        ("outputs", &given.outputs),
    ] {
        got.insert(name.to_owned(), Json::Object(map.clone()));
    }
    if !compose {
        got.insert("manifests".to_owned(), Json::Array(given.manifests.clone()));
    }
    let expected = expect.as_object().into_iter().flatten().map(|(name, _)| name);
    if let Some(missing) = expected
        .filter(|name| *name != "decoded")
        .find(|name| !got.contains_key(*name) && !given.parts.contains_key(*name))
    {
        return Verdict::Differs(format!("{missing} is missing"));
    }
    let mut bindings = Bindings::default();
    for (name, got) in &got {
        if !bindings.matches(&expect[name], got) {
            return Verdict::Differs(format!("{name} is {got}, not {}", expect[name]));
        }
    }
    for (name, got) in &given.parts {
        let wanted = expect["decoded"].get(name).unwrap_or(&expect[name]);
        let nothing = got.is_null() && (*wanted == json!({}) || *wanted == json!([]));
        // A null folder is not created.
        let got = &if name == "directories" { falsified(got) } else { got.clone() };
        if !nothing && !bindings.matches(wanted, got) {
            return Verdict::Differs(format!("{name} is {got}, not {wanted}"));
        }
    }
    Verdict::Same
}

fn falsified(directories: &Json) -> Json {
    let entries = directories.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), json!(value == true))).collect()
}

fn compare(what: &str, got: &Json, want: &Json) -> Verdict {
    if Bindings::default().matches(want, got) {
        Verdict::Same
    } else {
        Verdict::Differs(format!("{what} is {got}, not {want}"))
    }
}

/// Inputs of the templates of a case.
fn inputs(data: &Json, compose: bool) -> (Inputs, Given) {
    let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
    let map = |key: &str| data[key].as_object().cloned();
    let inputs = Inputs {
        uid: text("Uid"),
        guid: text("Guid"),
        type_: text("Type"),
        class: text("Class"),
        id: text("Id"),
        params: map("Params"),
        metadata: map("Metadata"),
        state: map("State").unwrap_or_default(),
        shared: map("Shared").unwrap_or_default(),
        source_workload: text("SourceWorkload"),
        workload_metadata: map("WorkloadMetadata"),
        workload_services: map("WorkloadServices")
            .unwrap_or_default()
            .into_iter()
            .map(|(name, service)| (name, service_of(&service)))
            .collect(),
        namespace: text("Namespace"),
        compose: compose.then(|| Compose {
            project_name: text("ComposeProjectName"),
            mounts_directory: text("MountsDirectory"),
        }),
    };
    let given = Given {
        init: map("Init").unwrap_or_default(),
        state: inputs.state.clone(),
        shared: inputs.shared.clone(),
        ..Given::default()
    };
    (inputs, given)
}

fn service_of(json: &Json) -> Service {
    let port = |json: &Json| Port {
        name: json["Name"].as_str().unwrap_or_default().to_owned(),
        port: json["Port"].as_i64().unwrap_or_default(),
        target_port: json["TargetPort"].as_i64().unwrap_or_default(),
        protocol: json["Protocol"].as_str().unwrap_or_default().to_owned(),
    };
    Service {
        service_name: json["ServiceName"].as_str().unwrap_or_default().to_owned(),
        ports: json["Ports"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, json)| (key.clone(), port(json)))
            .collect(),
    }
}
