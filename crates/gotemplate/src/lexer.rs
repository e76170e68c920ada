//! Lexer, by the rules of Go's `text/template/parse`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Invalid input; the text is the error message.
    Error,
    /// Text outside of actions.
    Text,
    /// `{{`
    Open,
    /// `}}`
    Close,
    /// White space inside an action.
    Space,
    /// `=`
    Assign,
    /// `:=`
    Declare,
    /// `|`
    Pipe,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `true` or `false`.
    Bool,
    /// Character constant.
    Char,
    /// Other character, such as a comma.
    Sign,
    /// `.`
    Dot,
    /// `.name`
    Field,
    /// `$name`
    Variable,
    /// Name of a function.
    Identifier,
    /// `if`, `end`, `nil` and others.
    Keyword,
    Number,
    /// String in double quotes.
    Quoted,
    /// String in backquotes.
    Raw,
    /// End of the input.
    End,
}

/// Token with the line where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) line: usize,
}

const KEYWORDS: [&str; 11] =
    ["block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template", "with"];

/// Tokens of a text; the last one is [`Kind::End`] or [`Kind::Error`].
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, start: 0, line: 1, parens: 0, tokens: Vec::new() };
    if let Err(message) = lexer.run() {
        lexer.tokens.push(Token { kind: Kind::Error, text: message, line: lexer.line });
    }
    lexer.tokens
}

struct Lexer<'text> {
    text: &'text str,
    at: usize,
    start: usize,
    /// Line of `start`.
    line: usize,
    parens: usize,
    tokens: Vec<Token>,
}

type Step = Result<(), String>;

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn accept(&mut self, set: &str) -> bool {
        let accepted = self.peek().is_some_and(|c| set.contains(c));
        if accepted {
            self.next();
        }
        accepted
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
    }

    fn emit(&mut self, kind: Kind) {
        let text = self.text.get(self.start..self.at).unwrap_or_default().to_owned();
        self.push(kind, text);
    }

    fn push(&mut self, kind: Kind, text: String) {
        self.tokens.push(Token { kind, text, line: self.line });
        self.skip();
    }

    /// Skips the input up to the current position.
    fn skip(&mut self) {
        let passed = self.text.get(self.start..self.at).unwrap_or_default();
        self.line += passed.matches('\n').count();
        self.start = self.at;
    }

    fn run(&mut self) -> Step {
        loop {
            let Some(open) = self.rest().find("{{") else {
                self.at = self.text.len();
                if self.at > self.start {
                    self.emit(Kind::Text);
                }
                self.emit(Kind::End);
                return Ok(());
            };
            self.at += open;
            let trims = has_left_trim(&self.rest()[2..]);
            let before = self.text.get(self.start..self.at).unwrap_or_default();
            let kept = if trims { before.trim_end_matches(is_space) } else { before }.to_owned();
            if kept.is_empty() {
                self.skip();
            } else {
                self.push(Kind::Text, kept);
            }
            self.at += 2;
            if self.rest().get(usize::from(trims) * 2..).is_some_and(|rest| rest.starts_with("/*")) {
                self.comment(trims)?;
                continue;
            }
            self.emit(Kind::Open);
            if trims {
                self.at += 2;
                self.skip();
            }
            self.parens = 0;
            self.action()?;
        }
    }

    fn comment(&mut self, trims: bool) -> Step {
        self.at += if trims { 4 } else { 2 };
        let end = self.rest().find("*/").ok_or("unclosed comment")?;
        self.at += end + 2;
        let (width, trims) = self.right_delimiter().ok_or("comment ends before closing delimiter")?;
        self.at += width;
        if trims {
            self.skip_while(is_space);
        }
        self.skip();
        Ok(())
    }

    /// Width of the closing delimiter at this position, and whether it trims the text after it.
    fn right_delimiter(&self) -> Option<(usize, bool)> {
        let rest = self.rest();
        let trims = rest.starts_with(is_space) && rest.get(1..).is_some_and(|rest| rest.starts_with("-}}"));
        if trims { Some((4, true)) } else { rest.starts_with("}}").then_some((2, false)) }
    }

    /// Lexes up to the closing delimiter.
    fn action(&mut self) -> Step {
        loop {
            if let Some((width, trims)) = self.right_delimiter() {
                if self.parens > 0 {
                    return Err("unclosed left paren".to_owned());
                }
                self.at += width;
                self.push(Kind::Close, "}}".to_owned());
                if trims {
                    self.skip_while(is_space);
                    self.skip();
                }
                return Ok(());
            }
            self.inside()?;
        }
    }

    fn inside(&mut self) -> Step {
        let Some(c) = self.next() else { return Err("unclosed action".to_owned()) };
        match c {
            c if is_space(c) => {
                // A space before `-}}` is part of the delimiter.
                while self.peek().is_some_and(is_space) && self.right_delimiter().is_none() {
                    self.next();
                }
                self.emit(Kind::Space);
            }
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return Err("expected :=".to_owned());
                }
                self.emit(Kind::Declare);
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted('"', Kind::Quoted, "unterminated quoted string")?,
            '\'' => self.quoted('\'', Kind::Char, "unterminated character constant")?,
            '`' => {
                let end = self.rest().find('`').ok_or("unterminated raw quoted string")?;
                self.at += end + 1;
                self.emit(Kind::Raw);
            }
            '$' => self.name(Kind::Variable)?,
            '.' if !self.peek().is_some_and(|c| c.is_ascii_digit()) => self.name(Kind::Field)?,
            '.' | '+' | '-' | '0'..='9' => {
                self.at = self.start;
                self.number()?;
            }
            '(' => {
                self.emit(Kind::LeftParen);
                self.parens += 1;
            }
            ')' => {
                self.emit(Kind::RightParen);
                self.parens = self.parens.checked_sub(1).ok_or("unexpected right paren")?;
            }
            c if is_word(c) => {
                self.skip_while(is_word);
                self.terminated()?;
                let word = self.text.get(self.start..self.at).unwrap_or_default();
                let kind = match word {
                    "true" | "false" => Kind::Bool,
                    word if KEYWORDS.contains(&word) => Kind::Keyword,
                    _ => Kind::Identifier,
                };
                self.emit(kind);
            }
            c if c.is_ascii_graphic() => self.emit(Kind::Sign),
            _ => return Err("unrecognized character in action".to_owned()),
        }
        Ok(())
    }

    fn quoted(&mut self, quote: char, kind: Kind, unterminated: &str) -> Step {
        loop {
            match self.next() {
                Some('\\') => {
                    if self.next().is_none_or(|c| c == '\n') {
                        return Err(unterminated.to_owned());
                    }
                }
                None | Some('\n') => return Err(unterminated.to_owned()),
                Some(c) if c == quote => break,
                Some(_) => {}
            }
        }
        self.emit(kind);
        Ok(())
    }

    /// Field or variable; a single `.` or `$` is a token of its own.
    fn name(&mut self, kind: Kind) -> Step {
        if self.is_terminated() {
            self.emit(if kind == Kind::Field { Kind::Dot } else { kind });
            return Ok(());
        }
        self.skip_while(is_word);
        self.terminated()?;
        self.emit(kind);
        Ok(())
    }

    fn is_terminated(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(c) => is_space(c) || self.rest().starts_with("}}"),
        }
    }

    fn terminated(&self) -> Step {
        if self.is_terminated() { Ok(()) } else { Err("bad character after name".to_owned()) }
    }

    fn number(&mut self) -> Step {
        let bad = |lexer: &Self| {
            format!("bad number syntax: {:?}", lexer.text.get(lexer.start..lexer.at).unwrap_or_default())
        };
        // Complex numbers (`1+2i`) are not supported.
        if !self.scan_number() || self.peek().is_some_and(|c| matches!(c, '+' | '-')) {
            return Err(bad(self));
        }
        self.emit(Kind::Number);
        Ok(())
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.skip_while(|c| digits.contains(c));
        if self.accept(".") {
            self.skip_while(|c| digits.contains(c));
        }
        if digits.len() == 11 && self.accept("eE") {
            self.accept("+-");
            self.skip_while(|c| "0123456789_".contains(c));
        }
        if digits.len() == 23 && self.accept("pP") {
            self.accept("+-");
            self.skip_while(|c| "0123456789_".contains(c));
        }
        if self.peek().is_some_and(is_word) {
            self.next();
            return false;
        }
        true
    }
}

/// True if `- ` follows, which trims the text before.
fn has_left_trim(rest: &str) -> bool {
    rest.starts_with('-') && rest.get(1..).is_some_and(|rest| rest.starts_with(is_space))
}
