//! Lexer.

use crate::syntax::{Issue, Literal};

/// Token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    /// The offset in characters.
    pub(crate) at: usize,
    /// Kind.
    pub(crate) kind: TokenKind,
    /// Source text.
    pub(crate) text: String,
}

/// Kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A name.
    Name(String),
    /// A number, a string, bytes.
    Literal(Literal),
    /// Digits of an integer. Its range depends on a minus before it.
    Int(String),
    /// `+`, `&&`, `(`, `in` and the like.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

const SYMBOLS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ",", ".", "(", ")",
    "[", "]", "{", "}",
];

/// Splits a text into tokens; the last one is `End`.
pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, Issue> {
    let mut lexer = Lexer { text: source.chars().collect(), at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let at = lexer.at;
        let kind = lexer.token()?;
        let end = kind == TokenKind::End;
        let text = if end { "<EOF>".to_owned() } else { lexer.text[at..lexer.at].iter().collect() };
        tokens.push(Token { at, kind, text });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    text: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek(0) {
            if c == '/' && self.peek(1) == Some('/') {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}') {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn token(&mut self) -> Result<TokenKind, Issue> {
        let Some(c) = self.peek(0) else { return Ok(TokenKind::End) };
        if let Some(prefix) = self.string_prefix() {
            return self.string(prefix);
        }
        if c.is_ascii_alphabetic() || c == '_' {
            return Ok(self.name());
        }
        if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|c| c.is_ascii_digit())) {
            return self.number();
        }
        for symbol in SYMBOLS {
            if symbol.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c)) {
                self.at += symbol.len();
                return Ok(TokenKind::Symbol(symbol));
            }
        }
        Err(self.unrecognised(self.at, self.at + 1))
    }

    fn unrecognised(&self, from: usize, to: usize) -> Issue {
        let text: String = self.text[from..to.min(self.text.len())].iter().collect();
        Issue::new(from, format!("Syntax error: token recognition error at: '{text}'"))
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    fn name(&mut self) -> TokenKind {
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        match name.as_str() {
            "true" => TokenKind::Literal(Literal::Bool(true)),
            "false" => TokenKind::Literal(Literal::Bool(false)),
            "null" => TokenKind::Literal(Literal::Null),
            "in" => TokenKind::Symbol("in"),
            _ => TokenKind::Name(name),
        }
    }

    fn number(&mut self) -> Result<TokenKind, Issue> {
        let start = self.at;
        let mut float = false;
        if self.peek(0) == Some('0') && self.peek(1) == Some('x') {
            self.at += 2;
            if self.take_while(|c| c.is_ascii_hexdigit()).is_empty() {
                return Err(self.unrecognised(start, self.at));
            }
        } else {
            self.take_while(|c| c.is_ascii_digit());
            if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
                float = true;
                self.at += 1;
                self.take_while(|c| c.is_ascii_digit());
            }
            let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
            if matches!(self.peek(0), Some('e' | 'E'))
                && self.peek(1 + sign).is_some_and(|c| c.is_ascii_digit())
            {
                float = true;
                self.at += 1 + sign;
                self.take_while(|c| c.is_ascii_digit());
            }
        }
        let digits: String = self.text[start..self.at].iter().collect();
        if float {
            let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| Issue::new(start, "invalid double literal"))?;
            return Ok(TokenKind::Literal(Literal::Double(number)));
        }
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            let number = match digits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            let number = number.map_err(|_| Issue::new(start, "invalid uint literal"))?;
            return Ok(TokenKind::Literal(Literal::Uint(number)));
        }
        Ok(TokenKind::Int(digits))
    }

    /// The letters before the quotes of a string, if a string starts here.
    fn string_prefix(&self) -> Option<(usize, bool, bool)> {
        let (mut raw, mut bytes, mut length) = (false, false, 0);
        loop {
            match self.peek(length)? {
                'r' | 'R' if !raw => raw = true,
                'b' | 'B' if !bytes => bytes = true,
                '"' | '\'' => return Some((length, raw, bytes)),
                _ => return None,
            }
            length += 1;
        }
    }

    fn string(&mut self, (prefix, raw, bytes): (usize, bool, bool)) -> Result<TokenKind, Issue> {
        let start = self.at;
        self.at += prefix;
        let quote = self.peek(0).unwrap_or('"');
        let triple = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let closing = if triple { 3 } else { 1 };
        self.at += closing;
        let mut text = Unescaped { bytes: Vec::new(), as_bytes: bytes };
        loop {
            let Some(c) = self.peek(0) else { return Err(self.unrecognised(start, self.at)) };
            if (0..closing).all(|i| self.peek(i) == Some(quote)) {
                self.at += closing;
                break;
            }
            if !triple && matches!(c, '\n' | '\r') {
                return Err(self.unrecognised(start, self.at + 1));
            }
            self.at += 1;
            if c != '\\' || raw {
                text.character(c);
            } else if self.escape(&mut text).is_none() {
                return Err(self.unrecognised(start, self.at + 1));
            }
        }
        if bytes {
            return Ok(TokenKind::Literal(Literal::Bytes(text.bytes)));
        }
        let text = String::from_utf8(text.bytes).map_err(|_| self.unrecognised(start, self.at))?;
        Ok(TokenKind::Literal(Literal::String(text)))
    }

    fn escape(&mut self, text: &mut Unescaped) -> Option<()> {
        let c = self.peek(0)?;
        let plain = match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '`' | '?' => c,
            'x' | 'X' => return self.code(text, 1, 2, 16),
            'u' if !text.as_bytes => return self.code(text, 1, 4, 16),
            'U' if !text.as_bytes => return self.code(text, 1, 8, 16),
            '0'..='3' => return self.code(text, 0, 3, 8),
            _ => return None,
        };
        self.at += 1;
        text.character(plain);
        Some(())
    }

    fn code(&mut self, text: &mut Unescaped, skip: usize, digits: usize, radix: u32) -> Option<()> {
        self.at += skip;
        let digits: String = (0..digits).map(|i| self.peek(i)).collect::<Option<String>>()?;
        let code = u32::from_str_radix(&digits, radix).ok().filter(|_| !digits.starts_with('+'))?;
        self.at += digits.len();
        if text.as_bytes {
            text.bytes.push(u8::try_from(code).ok()?);
        } else {
            text.character(char::from_u32(code)?);
        }
        Some(())
    }
}

struct Unescaped {
    bytes: Vec<u8>,
    as_bytes: bool,
}

impl Unescaped {
    fn character(&mut self, c: char) {
        self.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
