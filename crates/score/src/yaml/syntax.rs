//! Diagnostics of syntax errors: the parser's error, its likely cause and a hint.

use granit_parser::{ErrorKind, ScanError};

use super::{foreign::foreign_text, json};
use crate::{
    code::Code,
    diagnostic::{Diagnostic, backticked},
    pointer::Pointer,
    source::{SourceId, Span},
    suggest::suggest,
};

const TAB_HINT: &str = "indent with spaces; YAML does not allow tabs for indentation";
const NOT_SCORE_HINT: &str =
    "a Score file starts with `apiVersion: score.dev/v1b1`; `orchestra init` writes a sample";
const SPECIAL_CHARACTER_HINT: &str = "quote the value: its first character has a special meaning in YAML";

/// Diagnostic of a syntax error.
pub(super) fn diagnostic(text: &str, id: SourceId, error: &ScanError) -> Diagnostic {
    let at = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
    let language = if is_json(text) { "JSON" } else { "YAML" };
    let Explanation { at, message, hint } = ErrorPosition::new(text, at).explain(error);
    let width = text[at..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
    let narrow = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    let span = Span { source: id, start: narrow(at), end: narrow(at + width) };
    let message = match foreign_text(text) {
        Some(tool) => format!("invalid {language}: this looks like {tool}, not a Score file"),
        None => format!("invalid {language}: {message}"),
    };
    let hint = if foreign_text(text).is_some() { NOT_SCORE_HINT.to_owned() } else { hint };
    Diagnostic::error(Code::InvalidSyntax, Pointer::root(), Some(span), message, hint)
}

/// True for a document that starts as a JSON object.
fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}

/// Message and hint of a syntax error, and the offset to underline.
struct Explanation {
    at: usize,
    message: String,
    hint: String,
}

/// Offset of a syntax error, with its line and a few lines above.
struct ErrorPosition<'t> {
    text: &'t str,
    at: usize,
    line_start: usize,
    line: &'t str,
    above: Vec<&'t str>,
}

impl<'t> ErrorPosition<'t> {
    fn new(text: &'t str, at: usize) -> Self {
        let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        let above = text[..line_start].lines().rev().take(5).collect();
        Self { text, at, line_start, line: &text[line_start..line_end], above }
    }

    fn explain(&self, error: &ScanError) -> Explanation {
        if let Some(at) = self.tab(error.kind()) {
            let message = "tab character in indentation".to_owned();
            return Explanation { at, message, hint: TAB_HINT.to_owned() };
        }
        if error.info().starts_with("mapping values are not allowed")
            && let Some(found) = self.missing_space()
        {
            return found;
        }
        if let Some((message, hint)) = self.slip(error) {
            return Explanation { at: self.at, message, hint };
        }
        let (cause, hint) = self.cause(error.kind());
        let info = error.info();
        let message = match cause {
            Some(cause) if !info.contains(cause) => format!("{info} ({cause})"),
            _ => info,
        };
        Explanation { at: self.at, message, hint: hint.to_owned() }
    }

    /// Offset of a tab that causes the error.
    fn tab(&self, kind: &ErrorKind) -> Option<usize> {
        let indent = &self.line[..self.line.len() - self.line.trim_start().len()];
        let line_end = self.line_start + self.line.len();
        let below = self.text[line_end..].trim_start_matches(['\n', '\r']);
        if let Some(tab) = indent.find('\t') {
            return Some(self.line_start + tab);
        }
        if below.starts_with('\t') {
            return Some(self.text.len() - below.len());
        }
        matches!(
            kind,
            ErrorKind::TabNotAllowed
                | ErrorKind::TabInBlockIndentation
                | ErrorKind::TabInIndentation
                | ErrorKind::TabInPlainScalar
                | ErrorKind::TabAtBlockScalarStart
        )
        // The marker may be at the text before the tab.
        .then(|| self.at + self.text[self.at..].find('\t').unwrap_or(0))
    }

    /// Line `key:value` without a space, which is text: this one or the last one above.
    fn missing_space(&self) -> Option<Explanation> {
        let mut start = self.line_start;
        let mut line = self.line;
        if split_without_space(line).is_none() {
            let above = self.text[..self.line_start].trim_end();
            start = above.rfind('\n').map_or(0, |newline| newline + 1);
            line = &above[start..];
        }
        let (key, value) = split_without_space(line)?;
        let at = start + line.len() - line.trim_start().len();
        let hint = format!("write `{key}: {value}`");
        Some(Explanation { at, message: "missing space after `:`".to_owned(), hint })
    }

    /// True for a line of a block string that is indented less than its first line.
    fn is_in_block(&self) -> bool {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = indent(self.line);
        let mut above =
            self.text[..self.line_start].lines().rev().take(200).filter(|line| !line.trim().is_empty());
        let mut has_text = false;
        let opens = above.find(|line| {
            has_text |= indent(line) > own;
            indent(line) <= own
        });
        has_text && opens.is_some_and(|line| indent(line) < own && ends_with_block_indicator(line))
    }

    /// Message and hint of a well-known slip.
    fn slip(&self, error: &ScanError) -> Option<(String, String)> {
        let found = |message: &str, hint: &str| Some((message.to_owned(), hint.to_owned()));
        let info = error.info();
        if ["<<<<<<< ", "=======", ">>>>>>> "].iter().any(|marker| self.line.starts_with(marker)) {
            return found("merge conflict marker", "resolve the merge conflict, and remove its markers");
        }
        match error.kind() {
            ErrorKind::UnknownAnchor => return Some(self.unknown_anchor()),
            ErrorKind::UnexpectedCharacter { .. } => {
                let c = self.text[self.at..].chars().next()?;
                let shown = if c == '`' { "backtick".to_owned() } else { format!("`{c}`") };
                return found(&format!("unexpected character {shown}"), SPECIAL_CHARACTER_HINT);
            }
            _ => {}
        }
        if is_json(self.text) && json::comment(self.line).is_some() {
            return found("comments are not allowed in JSON", "remove the comment, or write YAML with `#`");
        }
        if self.is_in_block() {
            return found(
                "wrong indentation of a block string",
                "indent all lines of the text as much as its first line",
            );
        }
        if info.contains("hexadecimal") || info.contains("escape") {
            return self.escape();
        }
        if info.starts_with("unclosed bracket") && is_json(self.text) {
            return found(&info, "add the bracket that closes the one opened here");
        }
        let next = self.text[self.at..].chars().next().unwrap_or('\n');
        if info.contains("trailing content after") {
            let before = &self.line[..self.at - self.line_start];
            let is_item = before.matches(['[', '{']).count() > before.matches([']', '}']).count();
            if matches!(next, '"' | '\'') && (is_item || is_json(self.text)) {
                return found("missing comma", "add a comma before this item");
            }
            return self.inner_quote().or_else(|| self.text_after_quote());
        }
        if self.follows_block_indicator() {
            return found(
                "text of a block string is not indented",
                "indent the lines after `|` or `>` more than the line above",
            );
        }
        None
    }

    fn unknown_anchor(&self) -> (String, String) {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name_at = |text: &'t str| text.split(|c| !is_name(c)).next().unwrap_or_default();
        let name = name_at(self.text[self.at..].trim_start_matches('*'));
        let known = self.text[..self.at].match_indices('&').map(|(at, _)| name_at(&self.text[at + 1..]));
        let hint = match suggest(name, known.filter(|known| !known.is_empty())) {
            Some(similar) => format!("did you mean `*{similar}`?"),
            None => format!("define it above as `&{name}`; for literal text quote the value: \"*{name}\""),
        };
        (format!("unknown anchor {}", backticked(name)), hint)
    }

    /// Invalid escape sequence in double quotes, often a path of Windows.
    fn escape(&self) -> Option<(String, String)> {
        let inside = self.text[self.at..].trim_start_matches('"').lines().next()?;
        let mut chars = inside.chars();
        let c = loop {
            if chars.next()? == '\\' {
                let digits = |count| {
                    chars.as_str().chars().skip(1).take(count).filter(char::is_ascii_hexdigit).count()
                        == count
                };
                match chars.clone().next()? {
                    'x' if digits(2) => {}
                    'u' if digits(4) => {}
                    'U' if digits(8) => {}
                    c if "0abt\tnvfre \"/\\N_LP".contains(c) => {}
                    c => break c,
                }
                chars.next();
            }
        };
        let value = inside.split('"').next().unwrap_or_default();
        let hint = if value.contains('\'') {
            "write `\\\\` for a backslash".to_owned()
        } else {
            format!("use single quotes: '{value}'")
        };
        Some((format!("invalid escape sequence `\\{c}`"), hint))
    }

    /// Quote inside a quoted value: `'it's'`.
    fn inner_quote(&self) -> Option<(String, String)> {
        let value = self.line.split_once(": ").map_or(self.line, |(_, value)| value);
        let value = value.trim_start().trim_start_matches("- ").trim();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let inner = value.strip_prefix(quote)?.strip_suffix(quote).filter(|inner| inner.contains(quote))?;
        let (escaped, other) = if quote == '\'' { ("''", '"') } else { ("\\\"", '\'') };
        let fixed = inner.replace(quote, escaped);
        let hint = if inner.contains([other, '\\']) {
            format!("write {quote}{fixed}{quote}")
        } else {
            format!("write {quote}{fixed}{quote}, or {other}{inner}{other}")
        };
        Some(("quote inside a quoted value".to_owned(), hint))
    }

    /// Text after a quoted value: `"x" y`.
    fn text_after_quote(&self) -> Option<(String, String)> {
        let value = self.line.split_once(": ").map_or(self.line, |(_, value)| value);
        let value = value.trim_start().trim_start_matches("- ").trim();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let other = if quote == '"' { '\'' } else { '"' };
        let hint = if value.contains([other, '\\']) {
            "quote the whole value".to_owned()
        } else {
            format!("quote the whole value: {other}{value}{other}")
        };
        Some(("text after a quoted value".to_owned(), hint))
    }

    /// True for a line after `key: |` that is not indented more.
    fn follows_block_indicator(&self) -> bool {
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
        self.above
            .iter()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|above| ends_with_block_indicator(above) && indent(self.line) <= indent(above))
    }

    /// Likely cause, unless the error of the parser is clear, and a hint.
    fn cause(&self, kind: &ErrorKind) -> (Option<&'static str>, &'static str) {
        let line = self.line;
        let value = line.split_once(": ").map_or("", |(_, value)| value.trim());
        let lines = || self.above.iter().chain([&line]);
        let count = |c: char| lines().map(|line| line.matches(c).count()).sum::<usize>();
        let previous = self.above.iter().find(|line| !line.trim().is_empty()).map_or("", |line| line.trim());
        let unclosed = |line: &str| line.matches('"').count() % 2 == 1 || line.matches('\'').count() % 2 == 1;
        let in_flow = |line: &str| line.find("${").is_some_and(|at| line[..at].contains(['{', '[']));
        if matches!(kind, ErrorKind::UnclosedQuotedScalar) {
            (None, "close the quotes")
        } else if matches!(kind, ErrorKind::InvalidQuotedScalarIndent) {
            (
                Some("unclosed quote"),
                "close the quotes; if the text goes on over several lines, indent them more than its key",
            )
        } else if in_flow(line) || in_flow(previous) {
            (Some("unquoted placeholder inside `{…}` or `[…]`"), "quote the placeholder: \"${…}\"")
        } else if line.contains("{{") || line.contains("{%") {
            (Some("unrendered template"), "render the Helm or Go template first, and validate the result")
        } else if self.text.trim_start().starts_with(['{', '[']) {
            (None, "check the commas, quotes and brackets of this line and the one above")
        } else if count('[') > count(']') || count('{') > count('}') {
            (Some("unclosed bracket"), "close the bracket that is opened here or above")
        } else if unclosed(line) || unclosed(previous) {
            (Some("unclosed quote"), "close the quotes")
        } else if value.contains(": ") || value.ends_with(':') {
            (None, "quote the value: it contains a colon followed by a space")
        } else if value.starts_with(['@', '`', '%', '&', '*', '!', '|', '>', ',']) {
            (None, SPECIAL_CHARACTER_HINT)
        } else if !previous.is_empty() && !previous.contains(':') && !previous.starts_with(['-', '#']) {
            (Some("missing `:` after a key"), "check the line above: a key ends with `: `")
        } else {
            (
                Some("wrong indentation, or missing `:` after a key"),
                "check the indentation of this line and the one above, and that every key ends with `: `",
            )
        }
    }
}

/// Key and value of a line such as `image:nginx`.
fn split_without_space(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim().split_once(':')?;
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.len() > 1
        && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let is_value = value.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '"' | '\''))
        && !value.contains(": ")
        && !value.ends_with(':');
    (is_key && is_value).then_some((key, value))
}

/// True for a line such as `content: |`.
fn ends_with_block_indicator(line: &str) -> bool {
    let last = line.trim_end().rsplit([' ', '\t']).next().unwrap_or_default();
    matches!(last, "|" | ">" | "|-" | ">-" | "|+" | ">+")
}
