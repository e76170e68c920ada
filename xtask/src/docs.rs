//! Tests of the documentation: paths and links exist, and examples work.

#![cfg(test)]

use std::{collections::BTreeSet, fs, path::Path};

use orchestra_score::{Code, Document, Report, Severity, Source};

use crate::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Fenced blocks of a page with their languages.
fn fences(page: &str) -> Vec<(String, String)> {
    let mut fences = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => fences.extend(open.take()),
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    fences
}

fn check(text: &str) -> Report {
    Document::parse(Source::new("example.yaml", text)).check()
}

/// Codes that the language alone does not report: they concern files, options and the platform, which have their own tests.
const WITHOUT_EXAMPLE: &[Code] =
    &[Code::UnreadableFile, Code::NotText, Code::InvalidOverride, Code::UnknownAnnotation];

#[test]
fn every_code_has_a_page_whose_example_shows_it_and_whose_remedy_works() {
    for code in Code::ALL {
        let path = format!("docs/errors/{code}.md");
        let page = read(&path);
        assert!(page.starts_with(&format!("# {code}\n")), "{path} must begin with its code");
        for heading in ["\n## Example\n", "\n## What to do\n"] {
            assert!(page.contains(heading), "{path} has no {heading}");
        }
        let examples: Vec<_> = fences(&page).into_iter().filter(|(language, _)| language == "yaml").collect();
        let mut examples = examples.iter();
        if !WITHOUT_EXAMPLE.contains(code) {
            let (_, example) = examples.next().unwrap_or_else(|| panic!("{path} has no example"));
            let report = check(example);
            assert!(report.diagnostics.iter().any(|d| d.code == *code), "{path}: {:?}", report.diagnostics);
        }
        for (_, remedy) in examples {
            let report = check(remedy);
            assert!(report.diagnostics.is_empty(), "{path}: {:?}", report.diagnostics);
        }
    }
}

#[test]
fn every_page_shows_the_message_of_its_example() {
    for code in Code::ALL.iter().filter(|code| !WITHOUT_EXAMPLE.contains(code)) {
        let fences = fences(&read(&format!("docs/errors/{code}.md")));
        let block =
            |wanted: &str| fences.iter().find(|(language, _)| language == wanted).map(|(_, text)| text);
        let shown = block("text").unwrap_or_else(|| panic!("docs/errors/{code}.md shows no message"));
        let report = check(block("yaml").unwrap());
        let messages: Vec<_> =
            report.diagnostics.iter().filter(|d| d.code == *code).map(|d| d.message.as_str()).collect();
        assert!(messages.contains(&shown.trim_end()), "docs/errors/{code}.md: {messages:?}");
    }
}

#[test]
fn the_index_of_codes_is_complete_and_every_page_is_a_code() {
    let index = read("docs/errors/README.md");
    for code in Code::ALL {
        let row = index.lines().find(|line| line.contains(&format!("[{code}]({code}.md)")));
        let row = row.unwrap_or_else(|| panic!("docs/errors/README.md has no row for {code}"));
        assert!(row.contains(code.summary()), "{row}\ndoes not say: {}", code.summary());
    }
    let known: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    for entry in fs::read_dir(root().join("docs/errors")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || known.contains(&name), "{name} is the page of no code");
    }
}

#[test]
fn the_index_has_the_severity_of_every_code() {
    let index = read("docs/errors/README.md");
    for code in Code::ALL.iter().filter(|code| !WITHOUT_EXAMPLE.contains(code)) {
        let page = read(&format!("docs/errors/{code}.md"));
        let example = fences(&page).into_iter().find(|(language, _)| language == "yaml").unwrap().1;
        let severity = check(&example).diagnostics.iter().find(|d| d.code == *code).unwrap().severity;
        let word = if severity == Severity::Error { "error" } else { "warning" };
        let row = index.lines().find(|line| line.contains(&format!("[{code}]("))).unwrap();
        assert!(row.split('|').nth(2).unwrap().contains(word), "{row}");
    }
}

#[test]
fn the_page_about_limits_has_the_limits_of_the_code() {
    use orchestra_score::{diagnostic::Findings, yaml::limits};
    let page = read("docs/errors/LIMIT_EXCEEDED.md");
    for limit in [
        limits::BYTES,
        limits::VALUES,
        limits::DEPTH,
        limits::KEY,
        Document::MAX_BYTES,
        Document::MAX_PROPERTIES,
        Findings::MAX,
    ] {
        assert!(page.contains(&format!("| {limit}")), "{limit} is not on the page");
    }
}

/// Paths in backticks that look like paths of the project.
fn named_paths(page: &str) -> Vec<String> {
    let is_path = |text: &&str| {
        text.contains('/')
            && !text.contains(['<', '*', ' ', '$', '{', ':'])
            && !text.starts_with(['/', '-', '~', '.'])
            || matches!(
                *text,
                "Cargo.toml"
                    | "README.md"
                    | "CONTRIBUTING.md"
                    | "CHANGELOG.md"
                    | ".ci/run"
                    | ".ci/soak"
                    | ".cargo/config.toml"
            )
    };
    page.split('`').skip(1).step_by(2).filter(is_path).map(str::to_owned).collect()
}

#[test]
fn architecture_answers_where_things_are_with_paths_that_exist() {
    let page = read("ARCHITECTURE.md");
    let questions = page.lines().filter(|line| line.starts_with("| ") && line.contains('?')).count();
    assert!(questions >= 10, "only {questions} questions of the form \"where do I find…\"");
    let paths = named_paths(&page);
    assert!(paths.len() >= 10, "{paths:?}");
    for path in paths {
        assert!(root().join(&path).exists(), "ARCHITECTURE.md names {path}, which does not exist");
    }
    assert!(page.lines().count() <= 120, "ARCHITECTURE.md is longer than two pages");
}

/// Rows of the table "Where do I find…": the paths of the answer, and the identifiers in backticks beside them.
fn answers(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains('?'));
    let answer = |row: &str| {
        let place = row.split('|').nth(2).unwrap();
        let is_identifier = |text: &&str| text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
        let identifiers = place.split('`').skip(1).step_by(2).filter(is_identifier).map(str::to_owned);
        (named_paths(place), identifiers.collect())
    };
    rows.map(answer).collect()
}

/// True if a Rust file defines an identifier; for `Type::method`, the method.
fn defines(text: &str, identifier: &str) -> bool {
    let name = identifier.rsplit("::").next().unwrap();
    ["fn", "const", "struct", "enum", "trait", "type", "mod"].iter().any(|keyword| {
        let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        text.split(&format!("{keyword} {name}")).skip(1).any(is_end)
    })
}

#[test]
fn architecture_names_identifiers_that_a_file_of_the_same_row_defines() {
    let mut checked = 0;
    for (paths, identifiers) in answers(&read("ARCHITECTURE.md")) {
        let files = paths.iter().filter(|path| root().join(path).is_file());
        let texts: Vec<String> = files.map(|path| read(path)).collect();
        for identifier in identifiers {
            let is_defined = texts.iter().any(|text| defines(text, &identifier));
            assert!(is_defined, "ARCHITECTURE.md names `{identifier}`, which none of {paths:?} defines");
            checked += 1;
        }
    }
    assert!(checked >= 4, "only {checked} identifiers");
}

/// Anchors of the headings of a page, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn links_between_pages_are_valid() {
    fn pages(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() && name != "target" && name != ".git" {
                pages(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    pages(&root(), &mut found);
    assert!(found.len() > 30);
    for page in found {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            if target.contains("://") {
                continue;
            }
            let target = if target.is_empty() { page.clone() } else { page.parent().unwrap().join(target) };
            assert!(target.exists(), "{} links to {link}", page.display());
            if !heading.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let known = anchors(&fs::read_to_string(&target).unwrap());
                assert!(known.contains(heading), "{} links to {link}, which is no heading", page.display());
            }
        }
    }
}
