//! Mistakes with all their diagnostics: exact messages and hints, one diagnostic per mistake.

mod equivalents;
mod indentation;
mod nesting;
mod placeholders;
mod quantities;
mod secrets;
mod suspicious;
mod syntax;
mod types;

use orchestra_score::{Document, Source};

const HEAD: &str = "apiVersion: score.dev/v1b1\nmetadata:\n  name: shop\n";
const CONTAINERS: &str = "containers:\n  main:\n    image: nginx:1.27\n";

/// A valid head, and the rest of the file.
fn rest(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

/// A valid container, and further lines of the file.
fn after(lines: &str) -> String {
    format!("{HEAD}{CONTAINERS}{lines}")
}

/// Variable `A` of a container, and the declared resource `db`.
fn variable(value: &str) -> String {
    after(&format!("    variables:\n      A: {value}\nresources:\n  db:\n    type: postgres\n"))
}

/// Diagnostics of a file as `LINE:COLUMN CODE: message | hint`.
fn diagnostics(file: &str) -> Vec<String> {
    let report = Document::parse(Source::new("score.yaml", file)).check();
    let line = |d| {
        let at = report.location(d).map_or_else(|| "-".to_owned(), |at| at.to_string());
        format!("{at} {}: {} | {}", d.code, d.message, d.hint)
    };
    report.diagnostics.iter().map(line).collect()
}

/// Compares the diagnostics of files with the expected ones.
fn check(cases: impl IntoIterator<Item = (String, Vec<&'static str>)>) {
    let mut failures = Vec::new();
    for (file, expected) in cases {
        let found = diagnostics(&file);
        if found != expected {
            failures.push(format!("{file}\nexpected {expected:#?}\nfound {found:#?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
