//! Conformance data of the Score language.
//!
//! The data is outside the repository, in the folder `SCORE_CONFORMANCE`. Only cases marked as advisory may differ,
//! each listed with its reason in `differences.yaml`; a stale entry fails too.

mod overrides;
mod placeholders;
mod resources;
mod schema;
mod start_order;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};

use orchestra_score::{Document, Node, Source, SourceId, yaml};
use serde_json::Value as Json;

/// Case of the data set.
struct Case {
    name: String,
    data: Json,
}

impl Case {
    fn get(&self, field: &str) -> &Json {
        self.data.get(field).unwrap_or(&Json::Null)
    }

    fn text(&self, field: &str) -> &str {
        self.get(field).as_str().unwrap_or_default()
    }

    fn error_kinds(&self) -> Option<BTreeSet<String>> {
        let kinds = self.get("expect").get("error")?.get("kinds")?.as_array()?;
        Some(kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).collect())
    }
}

/// Runs all cases of a file. `run` returns the problem, if any.
fn run_all(file: &str, count: usize, run: impl Fn(&Case) -> Result<(), String>) {
    let folder = std::env::var("SCORE_CONFORMANCE")
        .expect("SCORE_CONFORMANCE must name the folder of the Score conformance data");
    let text = std::fs::read_to_string(format!("{folder}/{file}.json")).expect("the data can be read");
    let cases: Vec<Json> = serde_json::from_str(&text).expect("the data is JSON");
    assert_eq!(cases.len(), count, "the number of cases of {file}");
    let differences = differences(file);
    let mut failures = Vec::new();
    let mut differing = BTreeSet::new();
    for data in cases {
        let case = Case { name: data["name"].as_str().unwrap().to_owned(), data };
        let advisory = case.get("advisory").as_bool() == Some(true);
        if let Err(problem) = run(&case) {
            if advisory && differences.contains_key(&case.name) {
                differing.insert(case.name.clone());
            } else {
                failures.push(format!("{}: {problem}", case.name));
            }
        }
    }
    for stale in differences.keys().filter(|name| !differing.contains(*name)) {
        failures.push(format!("{stale}: listed as a difference, but does not differ (or is not advisory)"));
    }
    println!(
        "{file}: {count} cases, {} as listed in differences.yaml, {} failures",
        differing.len(),
        failures.len()
    );
    assert!(failures.is_empty(), "{} of {count} cases fail:\n{}", failures.len(), failures.join("\n"));
}

/// Differences of a file and their reasons.
fn differences(file: &str) -> BTreeMap<String, String> {
    let source = Source::new("differences.yaml", include_str!("differences.yaml"));
    let (node, _) = yaml::parse(&source, SourceId(0));
    let all = node.expect("differences.yaml is YAML").to_json();
    let of_file = all.get(file).and_then(Json::as_object).cloned().unwrap_or_default();
    of_file.into_iter().map(|(name, reason)| (name, reason.as_str().expect("a reason").to_owned())).collect()
}

fn parse_yaml(text: &str) -> Option<Node> {
    yaml::parse(&Source::new("case", text), SourceId(0)).0
}

/// Equality of JSON in which 80 and 80.0 are the same.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

fn expect_same(what: &str, got: &Json, want: &Json) -> Result<(), String> {
    if same(got, want) { Ok(()) } else { Err(format!("{what} is {got}, not {want}")) }
}

fn expect_kinds(case: &Case, got: &BTreeSet<String>) -> Result<(), String> {
    let want = case.error_kinds().unwrap_or_default();
    if *got == want { Ok(()) } else { Err(format!("errors are {got:?}, not {want:?}")) }
}

/// True if the schema layer accepts a document.
fn schema_accepts(document: &Json) -> bool {
    let report = Document::from_json(document.clone()).check();
    report.errors().all(|error| error.code.layer() == orchestra_score::Layer::Semantics)
}
