//! Text that looks like a placeholder, but is used as written: unterminated, or in the syntax of another tool.

/// Such text.
pub(super) struct Lookalike<'t> {
    /// The text.
    pub(super) written: &'t str,
    /// Reference in it, such as `resources.db.host`.
    pub(super) reference: &'t str,
    /// True for `${` without `}`.
    pub(super) is_unterminated: bool,
}

impl Lookalike<'_> {
    /// Message and hint.
    pub(super) fn describe(&self) -> (String, String) {
        let shown = crate::diagnostic::quoted(self.written);
        let message = if self.is_unterminated {
            format!("unterminated placeholder {shown}: missing `}}`")
        } else {
            format!("not a placeholder: {shown} is used as written")
        };
        (message, format!("write `${{{}}}`", self.reference))
    }
}

/// Lookalikes in a literal part of a string, where a dollar sign is only at the start.
pub(super) fn lookalikes(literal: &str) -> impl Iterator<Item = Lookalike<'_>> {
    let dollar = ["${", "$(", "$"].into_iter().find(|open| literal.starts_with(open));
    let at_start = dollar.and_then(|open| lookalike(literal, open));
    let templates = literal.match_indices("{{").filter_map(|(at, open)| lookalike(&literal[at..], open));
    let braces = literal.match_indices('{').filter_map(move |(at, open)| {
        let is_single = !literal[..at].ends_with(['{', '$']);
        lookalike(&literal[at..], open).filter(|_| is_single)
    });
    at_start.into_iter().chain(templates).chain(braces)
}

fn lookalike<'t>(text: &'t str, open: &str) -> Option<Lookalike<'t>> {
    let inside = text.strip_prefix(open)?;
    let inside = if open == "$" { inside } else { inside.trim_start() };
    let reference = reference_at_start(inside)?;
    let rest = &inside[reference.len()..];
    let rest = match open {
        "{{" => rest.trim_start().strip_prefix("}}")?,
        "{" => rest.strip_prefix('}')?,
        "$(" => rest.trim_start().strip_prefix(')')?,
        _ => rest,
    };
    Some(Lookalike { written: &text[..text.len() - rest.len()], reference, is_unterminated: open == "${" })
}

/// Reference at the start of a text.
pub(super) fn reference_at_start(text: &str) -> Option<&str> {
    if !text.starts_with("resources.") && !text.starts_with("metadata.") {
        return None;
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    Some(text[..end].trim_end_matches(['.', '-']))
}
