//! Findings for programs.

use std::io::{self, Write};

use orchestra_score::{Diagnostic, Report};
use serde::Serialize;

use crate::cmd::documents::Verdict;

#[derive(Serialize)]
struct Answer<'a> {
    files: Vec<Checked<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    file: &'a str,
    valid: bool,
    spec_version: Option<String>,
    errors: Vec<Finding<'a>>,
    warnings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Finding<'a> {
    path: &'a str,
    message: &'a str,
    code: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    hint: &'a str,
    /// The text that line and column refer to, where it is not the file itself but an override.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
}

/// Writes one JSON document about all files.
pub(crate) fn write(out: &mut impl Write, verdicts: &[Verdict]) -> io::Result<()> {
    let files = verdicts
        .iter()
        .map(|Verdict { file, report }| Checked {
            file,
            valid: report.is_valid(),
            spec_version: report.spec_version.map(|version| version.to_string()),
            errors: report.errors().map(|finding| self::finding(report, finding)).collect(),
            warnings: report.warnings().map(|finding| self::finding(report, finding)).collect(),
        })
        .collect();
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &Answer { files })?;
    writeln!(out)?;
    out.flush()
}

fn finding<'a>(report: &'a Report, diagnostic: &'a Diagnostic) -> Finding<'a> {
    let source = report.source_of(diagnostic);
    let location = report.location(diagnostic);
    let elsewhere = diagnostic.span.is_some_and(|span| span.source.0 != 0);
    Finding {
        path: diagnostic.pointer.as_str(),
        message: &diagnostic.message,
        code: diagnostic.code.name(),
        line: location.map(|location| location.line),
        column: location.map(|location| location.column),
        hint: &diagnostic.hint,
        source: source.filter(|_| elsewhere).map(|source| source.name.as_str()),
    }
}
