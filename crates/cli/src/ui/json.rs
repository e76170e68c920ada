//! Diagnostics as JSON.

use std::io::{self, Write};

use orchestra_score::{Diagnostic, Report};
use serde::Serialize;

use crate::cmd::documents::CheckedFile;

#[derive(Serialize)]
struct Output<'a> {
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
    /// Override that line and column refer to, if not to the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
}

/// Writes one JSON document for all files.
pub(crate) fn write(out: &mut impl Write, files: &[CheckedFile]) -> io::Result<()> {
    let files = files
        .iter()
        .map(|CheckedFile { file, report }| Checked {
            file,
            valid: report.is_valid(),
            spec_version: report.spec_version.map(|version| version.to_string()),
            errors: report.errors().map(|finding| self::finding(report, finding)).collect(),
            warnings: report.warnings().map(|finding| self::finding(report, finding)).collect(),
        })
        .collect();
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &Output { files })?;
    writeln!(out)?;
    out.flush()
}

fn finding<'a>(report: &'a Report, diagnostic: &'a Diagnostic) -> Finding<'a> {
    let source = report.source_of(diagnostic);
    let location = report.location(diagnostic);
    let is_override = diagnostic.span.is_some_and(|span| span.source.0 != 0);
    Finding {
        path: diagnostic.pointer.as_str(),
        message: &diagnostic.message,
        code: diagnostic.code.name(),
        line: location.map(|location| location.line),
        column: location.map(|location| location.column),
        hint: &diagnostic.hint,
        source: source.filter(|_| is_override).map(|source| source.name.as_str()),
    }
}
