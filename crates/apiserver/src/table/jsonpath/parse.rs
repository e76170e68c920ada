//! Parser of a path.
//!
//! The text is that of a template, so it may end early (`.a} and {.b`): the rest must be well-formed as well, but only
//! the first path counts.

use serde_json::{Value, json};

use super::compare::Operator;
use super::unquote::unquoted;
use super::{End, Slice, Step};

/// Nested filters.
const MAX_FILTER_DEPTH: usize = 32;

/// The steps of a path.
pub(super) fn steps(path: &str) -> Result<Vec<Step>, String> {
    nested(path, 0)
}

fn nested(path: &str, depth: usize) -> Result<Vec<Step>, String> {
    if depth > MAX_FILTER_DEPTH {
        return Err("too many filters inside filters".to_owned());
    }
    let template = format!("{{{path}}}");
    let mut first = None;
    let mut rest = template.as_str();
    while let Some((_, path)) = rest.split_once('{') {
        let mut parser = Parser { rest: path, depth, steps: Vec::new() };
        parser.path()?;
        rest = parser.rest;
        first.get_or_insert(parser.steps);
    }
    Ok(first.unwrap_or_default())
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    steps: Vec<Step>,
}

impl<'a> Parser<'a> {
    /// Up to and with the brace that closes the path.
    fn path(&mut self) -> Result<(), String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(());
            }
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                self.filter()?;
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                self.rest = rest;
                self.recursive()?;
                continue;
            }
            match self.rest.chars().next() {
                None | Some('\r' | '\n') => return Err("unclosed action".to_owned()),
                Some(' ' | '@' | '$') => self.rest = &self.rest[1..],
                Some('[') => self.array()?,
                Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
                Some('.') => {
                    self.rest = &self.rest[1..];
                    self.field();
                }
                Some(first) if first == '+' || first == '-' || first.is_numeric() => self.number()?,
                Some(first) if is_word(first) => self.word(),
                Some(other) => return Err(format!("unrecognized character in action: {other:?}")),
            }
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn field(&mut self) {
        let mut escaped = false;
        let end = self.rest.char_indices().find(|(_, letter)| {
            if escaped {
                escaped = false;
                return false;
            }
            escaped = *letter == '\\';
            ends_name(*letter)
        });
        let name = self.take(end.map_or(self.rest.len(), |(position, _)| position));
        self.steps.push(if name == "*" { Step::Wildcard } else { Step::Field(name.replace('\\', "")) });
    }

    fn word(&mut self) {
        let word = self.take(self.rest.find(ends_name).unwrap_or(self.rest.len()));
        self.steps.push(match word {
            "true" => Step::Constant(json!(true)),
            "false" => Step::Constant(json!(false)),
            _ => Step::Word(word.to_owned()),
        });
    }

    fn number(&mut self) -> Result<(), String> {
        let unsigned = self.rest.strip_prefix(['+', '-']).unwrap_or(self.rest);
        let digits =
            unsigned.find(|letter: char| letter != '.' && !letter.is_numeric()).unwrap_or(unsigned.len());
        let text = self.take(self.rest.len() - unsigned.len() + digits);
        let integer = text.parse::<i64>().ok().map(Value::from);
        let float = || text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Value::from);
        let number = integer.or_else(float).ok_or_else(|| format!("cannot parse number {text}"))?;
        self.steps.push(Step::Constant(number));
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let mut before = quote;
        let end = self.rest.char_indices().skip(1).find(|(_, letter)| {
            let closes = *letter == '\n' || *letter == quote && before != '\\';
            before = *letter;
            closes
        });
        match end {
            Some((position, letter)) if letter == quote => {
                let text = self.take(position + 1);
                let text =
                    unquoted(text).ok_or_else(|| format!("unquote string {text} error invalid syntax"))?;
                self.steps.push(Step::Text(text));
                Ok(())
            }
            _ => Err("unterminated quoted string".to_owned()),
        }
    }

    fn recursive(&mut self) -> Result<(), String> {
        if self.steps.last() == Some(&Step::Recursive) {
            return Err("invalid multiple recursive descent".to_owned());
        }
        self.steps.push(Step::Recursive);
        if self.rest.starts_with(is_word) {
            self.field();
        }
        Ok(())
    }

    /// `[…]` without a filter.
    fn array(&mut self) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).filter(|end| self.rest[*end..].starts_with(']'));
        let text = self.take(end.ok_or("unterminated array")? + 1);
        let inside = match &text[1..text.len() - 1] {
            "*" => ":",
            inside => inside,
        };
        if inside.contains(',') {
            let paths =
                inside.split(',').map(|one| nested(&format!("[{}]", one.trim_matches(' ')), self.depth + 1));
            self.steps.push(Step::Union(paths.collect::<Result<_, _>>()?));
        } else if let Some(name) = quoted_name(inside) {
            self.steps.extend(nested(&format!(".{name}"), self.depth + 1)?);
        } else {
            self.steps.push(Step::Slice(slice(inside)?));
        }
        Ok(())
    }

    /// `[?(…)]`, after its start.
    fn filter(&mut self) -> Result<(), String> {
        let (mut quote, mut closed, mut before) = (None, false, '(');
        let mut end = None;
        for (position, letter) in self.rest.char_indices() {
            match (letter, quote) {
                ('\n', _) => break,
                ('"' | '\'', None) => quote = Some(letter),
                ('"' | '\'', Some(open)) if before != '\\' && letter == open => closed = true,
                (')', _) if quote.is_some() == closed => {
                    end = Some(position);
                    break;
                }
                _ => {}
            }
            before = letter;
        }
        let text = self.take(end.ok_or("unterminated filter")?);
        self.rest = self.rest.strip_prefix(")]").ok_or("unclosed array expect ]")?;
        let step = match comparison(text) {
            None => Step::Filter { left: nested(text, self.depth + 1)?, test: None },
            Some((left, operator, right)) => Step::Filter {
                left: nested(left, self.depth + 1)?,
                test: Some((Operator::of(operator), nested(right, self.depth + 1)?)),
            },
        };
        self.steps.push(step);
        Ok(())
    }
}

/// Splits a filter at its operator: the first run of operator characters with operands on both sides.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let operator_letters = ['!', '<', '>', '='];
    let start = text.find(operator_letters).filter(|start| *start > 0)?;
    let (left, rest) = text.split_at(start);
    let length = rest.find(|letter| !operator_letters.contains(&letter)).unwrap_or(rest.len() - 1);
    let (operator, right) = rest.split_at(length);
    (!operator.is_empty()).then_some((left, operator, right))
}

/// Text in single quotes.
fn quoted_name(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.strip_suffix('\'').filter(|name| !name.contains('\''))
}

/// An index, or a range with up to two colons.
fn slice(text: &str) -> Result<Slice, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let well_formed =
        |part: &&str| part.strip_prefix('-').unwrap_or(part).bytes().all(|digit| digit.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(well_formed) {
        return Err(format!("invalid array index {text}"));
    }
    let number = |part: Option<&&str>| match part {
        None | Some(&"") => Ok(None),
        Some(part) => part.parse().map(Some).map_err(|_| format!("array index {part} is not a number")),
    };
    let end = match (parts.len(), number(parts.get(1))?) {
        (1, _) => End::OfIndex,
        (_, None) => End::OfList,
        (_, Some(end)) => End::At(end),
    };
    Ok(Slice { start: number(parts.first())?, end, step: number(parts.get(2))? })
}

/// True if a name ends before this character.
fn ends_name(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}
