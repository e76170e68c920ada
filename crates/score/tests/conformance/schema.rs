//! Validity of documents, and the location of errors.

use orchestra_score::{Code, Document, Layer, Source};

use crate::conformance::{Case, run_all};

#[test]
#[ignore = "needs the conformance data: SCORE_CONFORMANCE=folder"]
fn documents_get_the_verdict_and_the_location_of_the_official_schema() {
    run_all("schema", 547, verdict);
}

fn verdict(case: &Case) -> Result<(), String> {
    let document = match case.text("form") {
        "yaml" => Document::parse(Source::new("case", case.text("input"))),
        _ => Document::from_json(case.get("input").clone()),
    };
    let report = document.check();
    // Semantic rules (references, cycles) have their own data.
    let errors: Vec<_> = report
        .errors()
        .filter(|error| error.code.layer() != Layer::Semantics && error.code != Code::LimitExceeded)
        .collect();
    if let Some(empty) = errors.iter().find(|error| error.hint.trim().is_empty()) {
        return Err(format!("{} has no hint", empty.code));
    }
    match (case.text("expect"), errors.is_empty()) {
        ("accept", true) => Ok(()),
        ("accept", false) => Err(format!("refused: {errors:?}")),
        (_, true) => Err("accepted".to_owned()),
        (_, false) => match case.get("pointer").as_str() {
            None => Ok(()),
            Some(pointer) => {
                let below = format!("{pointer}/");
                let found = |at: &str| at == pointer || at.starts_with(&below);
                if errors.iter().any(|error| found(error.pointer.as_str())) {
                    Ok(())
                } else {
                    let at: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
                    Err(format!("errors at {at:?}, none at or below {pointer}"))
                }
            }
        },
    }
}
