//! Text files of other tools that are passed as Score files by mistake.

/// Lines that are inspected: the kind of a file shows at its start.
const MAX_LINES: usize = 200;

/// The kind of a text that is no Score file: "a Dockerfile".
pub(crate) fn foreign_text(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = || text.lines().take(MAX_LINES);
    if lines().any(|line| line.starts_with("apiVersion") || line.starts_with("containers:")) {
        return None;
    }
    if is_dockerfile(lines()) {
        return Some("a Dockerfile");
    }
    is_markdown(lines()).then_some("a Markdown file")
}

/// True if the first instruction is one of those that start a Dockerfile.
fn is_dockerfile<'t>(mut lines: impl Iterator<Item = &'t str>) -> bool {
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut words = first.unwrap_or_default().split_whitespace();
    matches!(words.next(), Some("FROM" | "ARG")) && words.next().is_some()
}

/// True for a heading followed by an empty line, or for two marks of Markdown.
fn is_markdown<'t>(lines: impl Iterator<Item = &'t str>) -> bool {
    let lines: Vec<&str> = lines.skip_while(|line| line.trim().is_empty()).collect();
    let is_heading = |line: &str| line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
    let Some((first, rest)) = lines.split_first() else { return false };
    let is_mark = |line: &&str| line.starts_with("## ") || line.starts_with("```") || line.contains("](");
    is_heading(first)
        && (rest.first().is_some_and(|second| second.trim().is_empty()) || rest.iter().any(is_mark))
        && rest.iter().any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dockerfiles_and_markdown_are_recognised() {
        for (text, kind) in [
            ("FROM python:3.12\nCOPY . .\n", Some("a Dockerfile")),
            ("# syntax=docker/dockerfile:1\nARG V=1\nFROM x:$V\n", Some("a Dockerfile")),
            ("# Shop\n\nAn online shop.\n", Some("a Markdown file")),
            ("# Shop\nRun:\n```\nmake\n```\n", Some("a Markdown file")),
            ("# comment\nhello\n", None),
            ("# comment\n\napiVersion score.dev/v1b1\n", None),
            ("hello\n", None),
        ] {
            assert_eq!(foreign_text(text), kind, "{text}");
        }
    }
}
