//! Parser of label selectors.

use std::collections::BTreeSet;

use super::labels::{Operator, Requirement};
use crate::metadata::qualified_name;

/// Token of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'text> {
    Word(&'text str),
    Sign(&'text str),
    End,
}

impl<'text> Token<'text> {
    /// The token as a message shows it.
    fn text(self) -> &'text str {
        match self {
            Self::Word(text) | Self::Sign(text) => text,
            Self::End => "",
        }
    }
}

/// Reads the requirements of a selector, in their order.
pub(super) fn parse(selector: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { rest: selector };
    let mut requirements = Vec::new();
    match parser.peek() {
        Token::End => return Ok(requirements),
        Token::Word(_) | Token::Sign("!") => {}
        Token::Sign(sign) => {
            return Err(format!("found '{sign}', expected: !, identifier, or 'end of string'"));
        }
    }
    loop {
        let requirement =
            parser.requirement().map_err(|problem| format!("unable to parse requirement: {problem}"))?;
        requirements.push(requirement);
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Sign(",") => {}
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
        }
        match parser.peek() {
            Token::Word(_) | Token::Sign("!") => {}
            other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
        }
    }
}

struct Parser<'text> {
    rest: &'text str,
}

impl<'text> Parser<'text> {
    fn peek(&self) -> Token<'text> {
        Self { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'text> {
        let text = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let word_end = |bytes: &[u8]| bytes.iter().position(|byte| b"=!(),>< \t\r\n\0".contains(byte));
        let (is_sign, length) = match text.as_bytes() {
            [] | [0, ..] => {
                self.rest = "";
                return Token::End;
            }
            [b'=' | b'!', b'=', ..] => (true, 2),
            [b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<', ..] => (true, 1),
            bytes => (false, word_end(bytes).unwrap_or(bytes.len())),
        };
        let (token, rest) = text.split_at(length);
        // A null character ends a token, and is dropped.
        self.rest = rest.strip_prefix('\0').unwrap_or(rest);
        if is_sign { Token::Sign(token) } else { Token::Word(token) }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let is_negated = token == Token::Sign("!");
        if is_negated {
            token = self.next();
        }
        let Token::Word(key) = token else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        let wrong = qualified_name(key);
        if !wrong.is_empty() {
            return Err(format!("<nil>: Invalid value: {key:?}: {}", wrong.join("; ")));
        }
        let key = key.to_owned();
        if is_negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let (operator, values) = match self.next() {
            Token::Word("in") => (Operator::In, self.values()?),
            Token::Word("notin") => (Operator::NotIn, self.values()?),
            Token::Sign("=" | "==") => (Operator::In, self.value()?),
            Token::Sign("!=") => (Operator::NotIn, self.value()?),
            Token::Sign(">") => (Operator::GreaterThan, self.value()?),
            Token::Sign("<") => (Operator::LessThan, self.value()?),
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        };
        Requirement::new(key, operator, values)
    }

    /// Single value after an operator; may be empty.
    fn value(&mut self) -> Result<Vec<String>, String> {
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(vec![String::new()]);
        }
        match self.next() {
            Token::Word(value) => Ok(vec![value.to_owned()]),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// Values in parentheses; each may be empty.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Sign("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        match self.peek() {
            Token::Word(_) | Token::Sign(",") => {}
            Token::Sign(")") => {
                self.next();
                return Ok(vec![String::new()]);
            }
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        let mut values = BTreeSet::new();
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value);
                    match self.peek() {
                        Token::Sign("," | ")") => {}
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Sign(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Sign("," | ")")) {
                        values.insert("");
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
            if self.peek() == Token::Sign(")") {
                self.next();
                return Ok(values.into_iter().map(str::to_owned).collect());
            }
        }
    }
}
