//! Tables of documents, and checks that the tests in them exist.

use std::{fs, path::PathBuf};

/// Path of a file of the repository.
pub(crate) fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

/// Rows of all tables in a document, without headers and backticks.
pub(crate) fn rows(document: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path(document)).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let is_head = |at: usize| lines.get(at + 1).is_some_and(|next| next.starts_with("|-"));
    let is_row =
        |(at, line): &(usize, &&str)| line.starts_with('|') && !line.starts_with("|-") && !is_head(*at);
    let cells = |(_, line): (usize, &&str)| {
        let line = line.trim_matches(['|', ' ']);
        line.split('|').map(|cell| cell.trim().replace('`', "")).collect()
    };
    lines.iter().enumerate().filter(is_row).map(cells).collect()
}

/// Those of the tests `path::name` that do not exist.
pub(crate) fn missing_tests<'t>(tests: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let exists = |test: &str| {
        let Some((file, name)) = test.split_once("::") else { return false };
        let text = fs::read_to_string(path(file)).unwrap_or_default();
        // A test is a function, or a case of a macro.
        let is_test = |line: &str| {
            let line = line.trim_start().trim_start_matches("async ");
            line.starts_with(&format!("fn {name}(")) || line.starts_with(&format!("{name}: "))
        };
        text.lines().any(is_test)
    };
    tests.into_iter().filter(|test| !exists(test)).map(ToOwned::to_owned).collect()
}
