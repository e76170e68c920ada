//! Fuzz targets: properties of every input. A target panics if one does not hold.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a fuzz target fails by panicking"
)]

use orchestra_score::{
    Document, Node, Report, Source, SourceId,
    overrides::{merge, merge_patch, parse_path, parse_property, set},
    placeholder::{self, Reference, Segment, Token, join, tokens},
    yaml,
};
use serde_json::Value as Json;

/// A named target.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[("load", load), ("expand", expand), ("overrides", overrides)];

/// Any input gets a verdict with valid spans, and a valid workload round-trips through a file.
pub fn load(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let report = Document::parse(Source::new("input", text)).check();
    check(&report);
    let Some(workload) = &report.workload else { return };
    let yaml = yaml::to_yaml(workload).expect("a workload can be written");
    let again = Document::parse(Source::new("output", yaml.as_str())).check();
    // Escapes can make the output larger than the limit.
    if again.errors().any(|error| error.code == orchestra_score::Code::LimitExceeded) {
        return;
    }
    assert_eq!(again.workload.as_ref(), Some(workload), "lost on the way:\n{yaml}\n{:?}", again.diagnostics);
    let json = serde_json::to_value(workload).expect("a workload is JSON");
    assert_eq!(Document::from_json(json).check().workload.as_ref(), Some(workload), "lost in JSON");
}

fn check(report: &Report) {
    assert_eq!(report.is_valid(), report.workload.is_some(), "{:?}", report.diagnostics);
    for finding in &report.diagnostics {
        assert!(!finding.message.is_empty() && !finding.hint.is_empty(), "{finding:?}");
        if let Some(span) = finding.span {
            let source = report.source_of(finding).expect("a span is of a source");
            assert!(source.slice(span).is_some(), "{finding:?} is outside its text");
            assert!(source.location(span.start as usize).line >= 1);
        }
    }
}

/// Tokens are the text, and expansion without references is the text without its escapes.
pub fn expand(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut again = String::new();
    let mut references = 0;
    for token in tokens(text) {
        match token {
            Token::Text(text) => again.push_str(text),
            Token::Dollar => again.push_str("$$"),
            Token::Escaped(text) => {
                again.push('$');
                again.push_str(text);
            }
            Token::Reference(reference) => {
                references += 1;
                // Parsed or refused, never a panic.
                let _ = Reference::parse(reference);
                again.push_str("${");
                again.push_str(reference);
                again.push('}');
            }
        }
    }
    assert_eq!(again, text);
    let kept = placeholder::expand(text, |reference| Ok::<_, ()>(Segment::Reference(reference.to_owned())))
        .expect("nothing is refused");
    let found = kept.iter().filter(|segment| matches!(segment, Segment::Reference(_))).count();
    assert_eq!(found, references);
    assert!(join(&kept, Clone::clone).len() <= text.len());
}

/// Property on the first line, then a document and an overrides file, separated by a line of `===`.
pub fn overrides(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (property, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (document, over) = rest.split_once("\n===\n").unwrap_or((rest, ""));
    let mut whole = Document::parse(Source::new("score.yaml", document));
    whole.merge(Source::new("overrides.yaml", over));
    whole.set_property(property);
    whole.set_image("nginx");
    check(&whole.check());

    let read = |text: &str| {
        yaml::parse(&Source::new("input", text), SourceId(0)).0.unwrap_or(Node::from(Json::Null))
    };
    let (document, over) = (read(document), read(over));
    let mut merged = document.clone();
    merge(&mut merged, over.clone());
    let once = merged.to_json();
    merge(&mut merged, over.clone());
    assert_eq!(merged.to_json(), once, "merging twice is merging once");
    merge_patch(&mut merged, over);
    let Ok((path, value)) = parse_property(property) else { return };
    let path = parse_path(path);
    let value = read(value);
    let mut changed = document;
    if set(&mut changed, &path, value.clone()).is_ok() && !matches!(value.to_json(), Json::Null) {
        let appended = path.iter().any(|part| part.parse::<i64>().is_ok());
        let mut at = Some(&changed);
        for part in &path {
            at = at.and_then(|node| node.get(part));
        }
        assert!(appended || at.is_some_and(|node| node.to_json() == value.to_json()), "a set value is there");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regressions.
    #[test]
    fn known_inputs_stay_fixed() {
        for input in ["", "\u{feff}", "a: &a [*a]", "${", "=\n===\n", "a.b=c\na: [\n===\n"] {
            for (_, target) in TARGETS {
                target(input.as_bytes());
            }
        }
    }
}
