//! Diagnostics for people: source lines with carets, codes and hints.

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use orchestra_score::{Diagnostic, Report, Severity, Source, Span};

use super::{is_control, printable};
use crate::cmd::documents::CheckedFile;

/// Findings shown of one file; the first ones often explain the rest.
const MAX_SHOWN: usize = 50;
/// Longest line, in bytes, that is passed to the renderer; minified JSON has longer ones.
const MAX_LINE: usize = 4096;
/// Bytes shown of a longer line: about the width of a terminal.
const EXCERPT: usize = 120;

/// Output stream with or without colour.
pub(crate) struct Screen {
    renderer: Renderer,
}

impl Screen {
    /// Standard output, in colour if it is a terminal, unless `NO_COLOR` or `TERM=dumb` is set.
    pub(crate) fn stdout() -> Self {
        Self::on(io::stdout().is_terminal())
    }

    /// Standard error, in the same way.
    pub(crate) fn stderr() -> Self {
        Self::on(io::stderr().is_terminal())
    }

    fn on(is_terminal: bool) -> Self {
        let colour = is_terminal
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { renderer: if colour { Renderer::styled() } else { Renderer::plain() } }
    }

    /// Findings of one file.
    pub(crate) fn findings(&self, out: &mut impl Write, file: &CheckedFile) -> io::Result<()> {
        let findings = &file.report.diagnostics;
        for finding in shown(findings) {
            writeln!(out, "{}\n", self.finding(&file.report, finding))?;
        }
        if findings.len() > MAX_SHOWN {
            let more = findings.len() - MAX_SHOWN;
            writeln!(out, "… and {more} more in {}; `-o json` lists more\n", printable(&file.file))?;
        }
        Ok(())
    }

    fn finding(&self, report: &Report, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(printable(&diagnostic.message)).id(diagnostic.code.name());
        let help = Level::HELP.message(printable(&diagnostic.hint));
        let group = match report.source_of(diagnostic).zip(diagnostic.span) {
            Some((source, span)) => {
                let window = Window::around(source, span);
                // The renderer would count a byte order mark as a column.
                let text = window.text.trim_start_matches('\u{feff}');
                let mark = window.text.len() - text.len();
                let marked = window.span.start.saturating_sub(mark)..window.span.end.saturating_sub(mark);
                let annotation = AnnotationKind::Primary.span(marked);
                let snippet =
                    Snippet::source(without_controls(text)).line_start(window.line).annotation(annotation);
                let name = printable(&source.name);
                if window.is_whole {
                    title.element(snippet.path(name)).element(help)
                } else {
                    // The renderer would count columns from the start of the excerpt.
                    let at = source.location(span.start as usize);
                    let origin = Origin::path(name).line(at.line).char_column(at.column);
                    title.element(origin).element(snippet).element(help)
                }
            }
            None if diagnostic.pointer.as_str().is_empty() => title.element(help),
            None => title
                .element(Level::NOTE.message(format!("at {}", printable(&diagnostic.pointer.readable()))))
                .element(help),
        };
        self.renderer.render(&[group])
    }

    /// One line for each file, and a total for several.
    pub(crate) fn summary(out: &mut impl Write, files: &[CheckedFile]) -> io::Result<()> {
        let count = |report: &Report| (report.errors().count(), report.warnings().count());
        if let [CheckedFile { file, report }] = files {
            return writeln!(out, "{}: {}", printable(file), outcome(report, count(report)));
        }
        for CheckedFile { file, report } in files {
            writeln!(out, "{}: {}", printable(file), outcome(report, count(report)))?;
        }
        let valid = files.iter().filter(|file| file.report.is_valid()).count();
        writeln!(out, "{} files: {valid} valid, {} invalid", files.len(), files.len() - valid)
    }
}

/// Findings to show, in the order of the text. If there are too many, errors take precedence over warnings.
fn shown(findings: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut by_weight: Vec<(usize, &Diagnostic)> = findings.iter().enumerate().collect();
    by_weight.sort_by_key(|(_, finding)| finding.severity);
    by_weight.truncate(MAX_SHOWN);
    by_weight.sort_by_key(|(index, _)| *index);
    by_weight.into_iter().map(|(_, finding)| finding).collect()
}

fn outcome(report: &Report, (errors, warnings): (usize, usize)) -> String {
    let plural = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let mut parts = Vec::new();
    if errors == 0 {
        parts.push(match report.spec_version {
            Some(version) => format!("valid (Score spec {version} or later)"),
            None => "valid".to_owned(),
        });
    } else {
        parts.push(format!("invalid, {}", plural(errors, "error")));
    }
    if warnings > 0 {
        parts.push(plural(warnings, "warning"));
    }
    parts.join(", ")
}

/// Line of a span, or an excerpt of it.
struct Window<'s> {
    text: &'s str,
    line: usize,
    span: std::ops::Range<usize>,
    is_whole: bool,
}

impl<'s> Window<'s> {
    /// First line of the span; of a long line, the excerpt around it.
    fn around(source: &'s Source, span: Span) -> Self {
        let text = source.text.as_str();
        let start = floor(text, span.start as usize);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let line_end =
            line_start.max(start) + text[line_start.max(start)..line_end].trim_end_matches('\r').len();
        let (from, to) = if line_end - line_start <= MAX_LINE {
            (line_start, line_end)
        } else {
            let from = floor(text, start.saturating_sub(EXCERPT / 4).max(line_start));
            (from, floor(text, (from + EXCERPT).min(line_end)))
        };
        let end = floor(text, span.end as usize).clamp(start, to.max(start));
        Self {
            text: &text[from..to],
            line: source.line(start),
            span: start - from..end - from,
            is_whole: from == line_start,
        }
    }
}

/// Line with terminal control characters replaced by others of the same length in bytes, which keeps spans valid. (The
/// renderer replaces ASCII control characters itself.)
fn without_controls(line: &str) -> Cow<'_, str> {
    if !line.chars().any(|c| is_control(c) && !c.is_ascii()) {
        return line.into();
    }
    line.chars()
        .map(|c| match c.len_utf8() {
            2 if is_control(c) => '\u{b7}',
            3 if is_control(c) => '\u{2426}',
            _ => c,
        })
        .collect::<String>()
        .into()
}

/// Start of the character at an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use orchestra_score::SourceId;

    fn window(text: &str, start: u32, end: u32) -> (String, usize, String) {
        let source = Source::new("x", text);
        let window = Window::around(&source, Span { source: SourceId(0), start, end });
        (window.text.to_owned(), window.line, window.text[window.span.clone()].to_owned())
    }

    #[test]
    fn a_window_is_the_line_of_the_span() {
        let text = "a\nb\ncc\nd\n";
        assert_eq!(window(text, 4, 6), ("cc".to_owned(), 3, "cc".to_owned()));
        assert_eq!(window(text, 0, 1), ("a".to_owned(), 1, "a".to_owned()));
        assert_eq!(window("", 0, 0), (String::new(), 1, String::new()));
        assert_eq!(window("a\n", 2, 2), (String::new(), 2, String::new()));
    }

    #[test]
    fn a_span_over_lines_is_shown_by_its_first() {
        assert_eq!(window("a: |\n  b\n  c\n", 3, 12), ("a: |".to_owned(), 1, "|".to_owned()));
    }

    #[test]
    fn errors_are_shown_even_after_many_warnings() {
        let pointer = orchestra_score::Pointer::root;
        let code = orchestra_score::Code::ResourceHigh;
        let mut findings: Vec<_> =
            (0..2 * MAX_SHOWN).map(|_| Diagnostic::warning(code, pointer(), None, "w", "h")).collect();
        findings.push(Diagnostic::error(code, pointer(), None, "e", "h"));
        let shown = shown(&findings);
        assert_eq!(shown.len(), MAX_SHOWN);
        assert!(shown.last().unwrap().is_error());
    }

    #[test]
    fn a_line_excludes_its_line_ending() {
        assert_eq!(window("a: b\r\nc\r\n", 3, 4), ("a: b".to_owned(), 1, "b".to_owned()));
    }

    #[test]
    fn a_long_line_is_cut_around_the_span() {
        let text = format!("{}NEEDLE{}", "é".repeat(5000), "x".repeat(5000));
        let (shown, line, marked) = window(&text, 10_000, 10_006);
        assert!(shown.len() <= EXCERPT, "{}", shown.len());
        assert_eq!((line, marked.as_str()), (1, "NEEDLE"));
    }
}
