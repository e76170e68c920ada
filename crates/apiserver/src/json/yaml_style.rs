//! How a text is written in YAML so that every reader takes it for the same text.

use super::yaml_scalar::{Scalar, is_sexagesimal, resolve};

/// The ways to write a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// Line by line after a `|`.
    Literal,
}

/// What is in a text, as far as it decides about the style.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each one is found, or not, on its own")]
struct Traits {
    indicators: bool,
    breaks: bool,
    special: bool,
    leading_blank: bool,
    trailing_space: bool,
    trailing_break: bool,
    break_space: bool,
    space_break: bool,
}

/// Chooses the style of a text.
pub(super) fn style(text: &str) -> Style {
    let traits = Traits::of(text);
    if text.contains('\n') {
        let is_block = !(traits.trailing_space || traits.space_break || traits.special);
        return if is_block { Style::Literal } else { Style::DoubleQuoted };
    }
    if resolve(text) != Scalar::Text || is_sexagesimal(text) {
        return Style::DoubleQuoted;
    }
    let is_edged = traits.leading_blank || traits.trailing_space || traits.trailing_break;
    let needs_escapes = traits.break_space || traits.space_break || traits.special;
    if needs_escapes {
        Style::DoubleQuoted
    } else if is_edged || traits.breaks || traits.indicators {
        Style::SingleQuoted
    } else {
        Style::Plain
    }
}

/// Whether a key is written as `key: `, and not after a `? ` on a line of its own.
pub(super) fn is_simple_key(key: &str) -> bool {
    key.len() <= 128 && !key.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

impl Traits {
    fn of(text: &str) -> Self {
        let mut traits =
            Self { indicators: text.starts_with("---") || text.starts_with("..."), ..Self::default() };
        let mut previous: Option<char> = None;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let next = rest.clone().next();
            let is_last = next.is_none();
            traits.indicators |= is_indicator(c, previous, next);
            traits.special |= !is_printable(c);
            if c == ' ' {
                traits.leading_blank |= previous.is_none();
                traits.trailing_space |= is_last;
                traits.break_space |= previous.is_some_and(is_break);
            } else if is_break(c) {
                traits.breaks = true;
                traits.leading_blank |= previous.is_none();
                traits.trailing_break |= is_last;
                traits.space_break |= previous == Some(' ');
            }
            previous = Some(c);
        }
        traits
    }
}

fn is_indicator(c: char, previous: Option<char>, next: Option<char>) -> bool {
    let is_before_blank = next.is_none_or(|next| matches!(next, ' ' | '\t'));
    match (c, previous) {
        (':', _) | ('?' | '-', None) => is_before_blank,
        ('#', Some(previous)) => matches!(previous, ' ' | '\t' | '\0') || is_break(previous),
        (
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
            None,
        ) => true,
        _ => false,
    }
}

/// Other breaks than this one count as not printable, since readers do not agree about them.
fn is_break(c: char) -> bool {
    c == '\n'
}

/// Everything beyond the first plane counts as not printable.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{fffd}')
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// The column after which a text goes on in the next line, at its next space.
const WIDTH: usize = 80;

/// A text on its way out.
pub(super) struct Ink<'out> {
    out: &'out mut String,
    column: usize,
    /// How deep further lines stand; none if there must not be any.
    indent: Option<usize>,
}

impl<'out> Ink<'out> {
    /// Goes on where the text ends so far.
    pub(super) fn new(out: &'out mut String, indent: Option<usize>) -> Self {
        let line = out.rfind('\n').map_or(0, |at| at + 1);
        let column = out[line..].chars().count();
        Self { out, column, indent }
    }

    /// Writes a text as it is.
    pub(super) fn plain(&mut self, text: &str) {
        self.fold(text, Self::push);
    }

    /// Writes a text in single quotes.
    pub(super) fn single_quoted(&mut self, text: &str) {
        self.push('\'');
        self.fold(text, |ink, c| {
            if c == '\'' {
                ink.push(c);
            }
            ink.push(c);
        });
        self.push('\'');
    }

    /// Writes a text in double quotes, with escapes.
    pub(super) fn double_quoted(&mut self, text: &str) {
        self.push('"');
        let mut was_space = true;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let next = rest.clone().next();
            if c == ' ' && !was_space && next.is_some() && self.next_line() {
                if next == Some(' ') {
                    self.push('\\');
                }
            } else {
                self.escaped(c);
            }
            was_space = c == ' ';
        }
        self.push('"');
    }

    /// Writes a text; a single space inside of it may become the end of a line.
    fn fold(&mut self, text: &str, mut write: impl FnMut(&mut Self, char)) {
        let mut was_space = true;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let is_single = !was_space && rest.clone().next().is_some_and(|next| next != ' ');
            if !(c == ' ' && is_single && self.next_line()) {
                write(self, c);
            }
            was_space = c == ' ';
        }
    }

    /// Begins a new line if this one is long enough.
    fn next_line(&mut self) -> bool {
        match self.indent {
            Some(indent) if self.column > WIDTH => {
                self.out.push('\n');
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.column = indent;
                true
            }
            _ => false,
        }
    }

    fn push(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn escaped(&mut self, c: char) {
        if is_printable(c) && !is_break(c) && !matches!(c, '"' | '\\') {
            return self.push(c);
        }
        let escape = match c {
            '\0' => "0".to_owned(),
            '\x07' => "a".to_owned(),
            '\x08' => "b".to_owned(),
            '\t' => "t".to_owned(),
            '\n' => "n".to_owned(),
            '\x0b' => "v".to_owned(),
            '\x0c' => "f".to_owned(),
            '\r' => "r".to_owned(),
            '\x1b' => "e".to_owned(),
            '"' | '\\' => c.to_string(),
            '\u{85}' => "N".to_owned(),
            '\u{a0}' => "_".to_owned(),
            '\u{2028}' => "L".to_owned(),
            '\u{2029}' => "P".to_owned(),
            '\0'..='\u{ff}' => format!("x{:02X}", u32::from(c)),
            '\0'..='\u{ffff}' => format!("u{:04X}", u32::from(c)),
            _ => format!("U{:08X}", u32::from(c)),
        };
        self.push('\\');
        escape.chars().for_each(|c| self.push(c));
    }
}

/// Writes a text line by line, each one `indent` deep.
pub(super) fn literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    if text.starts_with(|c| c == ' ' || is_break(c)) {
        out.push('2');
    }
    let mut ends = text.chars().rev();
    match (ends.next().is_some_and(is_break), ends.next().is_none_or(is_break)) {
        (false, _) => out.push('-'),
        (true, true) => out.push('+'),
        (true, false) => {}
    }
    out.push('\n');
    let mut is_line_start = true;
    for c in text.chars() {
        if is_break(c) {
            is_line_start = true;
        } else if is_line_start {
            out.extend(std::iter::repeat_n(' ', indent));
            is_line_start = false;
        }
        out.push(c);
    }
}
