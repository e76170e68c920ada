//! Findings for people: the lines they are about, with carets, codes and hints.

use std::io::{self, IsTerminal, Write};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use orchestra_score::{Diagnostic, Report, Severity, Source, Span};

use crate::cmd::validate::Verdict;

/// More findings than this in one file are counted, not shown: nobody reads them, and the first ones often
/// explain the rest.
const SHOWN: usize = 50;
/// The longest line that is shown whole; minified JSON is not.
const WIDTH: usize = 200;

/// Where and how to show things.
pub(crate) struct Screen {
    renderer: Renderer,
}

impl Screen {
    /// Standard output, in colour if it is a terminal and nobody minds.
    pub(crate) fn stdout() -> Self {
        let colour = io::stdout().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { renderer: if colour { Renderer::styled() } else { Renderer::plain() } }
    }

    /// Everything about one file.
    pub(crate) fn findings(&self, out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
        let findings = &verdict.report.diagnostics;
        for finding in findings.iter().take(SHOWN) {
            writeln!(out, "{}\n", self.finding(&verdict.report, finding))?;
        }
        if findings.len() > SHOWN {
            let more = findings.len() - SHOWN;
            writeln!(out, "… and {more} more in {}; `-o json` lists them all\n", verdict.file)?;
        }
        Ok(())
    }

    fn finding(&self, report: &Report, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.name());
        let help = Level::HELP.message(diagnostic.hint.as_str());
        let group = match report.source_of(diagnostic).zip(diagnostic.span) {
            Some((source, span)) => {
                let window = Window::around(source, span);
                title
                    .element(
                        Snippet::source(window.text)
                            .path(source.name.as_str())
                            .line_start(window.line)
                            .annotation(AnnotationKind::Primary.span(window.span)),
                    )
                    .element(help)
            }
            None if diagnostic.pointer.as_str().is_empty() => title.element(help),
            None => title.element(Level::NOTE.message(format!("at {}", diagnostic.pointer))).element(help),
        };
        self.renderer.render(&[group])
    }

    /// One line about each valid file, and one about all of them.
    pub(crate) fn summary(out: &mut impl Write, verdicts: &[Verdict]) -> io::Result<()> {
        let count = |report: &Report| (report.errors().count(), report.warnings().count());
        if let [Verdict { file, report }] = verdicts {
            return writeln!(out, "{file}: {}", outcome(report, count(report)));
        }
        for Verdict { file, report } in verdicts {
            writeln!(out, "{file}: {}", outcome(report, count(report)))?;
        }
        let valid = verdicts.iter().filter(|verdict| verdict.report.is_valid()).count();
        writeln!(out, "{} files: {valid} valid, {} invalid", verdicts.len(), verdicts.len() - valid)
    }
}

fn outcome(report: &Report, (errors, warnings): (usize, usize)) -> String {
    let plural = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    };
    let mut parts = Vec::new();
    if errors == 0 {
        parts.push("valid".to_owned());
        if let Some(version) = report.spec_version {
            parts.push(format!("needs Score {version}"));
        }
    } else {
        parts.push(format!("invalid, {}", plural(errors, "error")));
    }
    if warnings > 0 {
        parts.push(plural(warnings, "warning"));
    }
    parts.join(", ")
}

/// The line of a span, or what can be shown of it.
struct Window<'s> {
    text: &'s str,
    line: usize,
    span: std::ops::Range<usize>,
}

impl<'s> Window<'s> {
    /// A span over several lines is shown by its first, a long line by the part around the span.
    fn around(source: &'s Source, span: Span) -> Self {
        let text = source.text.as_str();
        let start = floor(text, span.start as usize);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
        let (from, to) = if line_end - line_start <= WIDTH {
            (line_start, line_end)
        } else {
            let from = floor(text, start.saturating_sub(WIDTH / 4).max(line_start));
            (from, floor(text, (from + WIDTH).min(line_end)))
        };
        let end = floor(text, span.end as usize).clamp(start, to.max(start));
        Self { text: &text[from..to], line: source.location(start).line, span: start - from..end - from }
    }
}

/// The start of the character at an offset.
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
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}NEEDLE{}", "é".repeat(5000), "x".repeat(5000));
        let (shown, line, marked) = window(&text, 10_000, 10_006);
        assert!(shown.len() <= WIDTH, "{}", shown.len());
        assert_eq!((line, marked.as_str()), (1, "NEEDLE"));
    }
}
