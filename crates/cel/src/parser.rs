//! Parser: operators by precedence; macros (`has`, `all`, `map`, …) are expanded at once.

use crate::lexer::{Token, TokenKind, tokens};
use crate::syntax::{Call, Expr, Fold, Issue, Kind, Literal, Walk};

/// Maximum depth of an expression, so that no walk runs out of stack.
const MAX_DEPTH: usize = 100;
/// Maximum length of an expression, in characters.
const MAX_LENGTH: usize = 100_000;

/// Reserved words, beside the literals and `in`.
pub(crate) const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Macros of the real server that are refused here, by name and number of arguments.
const REFUSED_MACROS: &[(&str, &[usize])] = &[
    ("all", &[3]),
    ("exists", &[3]),
    ("exists_one", &[3]),
    ("existsOne", &[3]),
    ("transformList", &[3, 4]),
    ("transformMap", &[3, 4]),
    ("transformMapEntry", &[3, 4]),
    ("optMap", &[2]),
    ("optFlatMap", &[2]),
];

/// Parses an expression.
pub(crate) fn parse(source: &str) -> Result<Expr, Issue> {
    if source.chars().count() > MAX_LENGTH {
        return Err(Issue::new(0, format!("expression code point size exceeds limit: {MAX_LENGTH}")));
    }
    let mut parser = Parser { tokens: tokens(source)?, next: 0, nodes: 0, nesting: 0 };
    let expr = parser.expression()?;
    match parser.peek().kind {
        TokenKind::End => Ok(expr),
        _ => Err(parser.trailing()),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    nodes: usize,
    nesting: usize,
}

/// The binary operators: symbol, precedence, name.
const BINARY: &[(&str, u8, &str)] = &[
    ("<", 3, "_<_"),
    ("<=", 3, "_<=_"),
    (">", 3, "_>_"),
    (">=", 3, "_>=_"),
    ("==", 3, "_==_"),
    ("!=", 3, "_!=_"),
    ("in", 3, "@in"),
    ("+", 4, "_+_"),
    ("-", 4, "_-_"),
    ("*", 5, "_*_"),
    ("/", 5, "_/_"),
    ("%", 5, "_%_"),
];

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek().kind, TokenKind::Symbol(found) if found == symbol)
    }

    fn accept(&mut self, symbol: &str) -> Option<usize> {
        let at = self.peek().at;
        self.is(symbol).then(|| {
            self.next += 1;
            at
        })
    }

    fn expect(&mut self, symbol: &str) -> Result<usize, Issue> {
        let at = self.peek().at;
        self.accept(symbol).ok_or_else(|| match self.peek().kind {
            TokenKind::End if symbol != ":" => {
                Issue::new(at, format!("Syntax error: missing '{symbol}' at '<EOF>'"))
            }
            _ => self.unexpected(&format!("'{symbol}'")),
        })
    }

    /// Error for tokens after the end of the expression.
    fn trailing(&self) -> Issue {
        let found = self.peek();
        let last = matches!(self.tokens.get(self.next + 1), Some(Token { kind: TokenKind::End, .. }));
        let what = if last { "extraneous" } else { "mismatched" };
        Issue::new(found.at, format!("Syntax error: {what} input '{}' expecting <EOF>", found.text))
    }

    fn unexpected(&self, expected: &str) -> Issue {
        let found = self.peek();
        Issue::new(found.at, format!("Syntax error: mismatched input '{}' expecting {expected}", found.text))
    }

    fn node(&mut self, at: usize, kind: Kind) -> Result<Expr, Issue> {
        let mut expr = Expr { id: self.nodes, at, depth: 1, kind };
        self.nodes += 1;
        expr.depth += expr.children().iter().map(|child| child.depth).max().unwrap_or(0);
        if expr.depth > MAX_DEPTH {
            return Err(Self::too_deep(at));
        }
        Ok(expr)
    }

    fn too_deep(at: usize) -> Issue {
        Issue::new(at, format!("expression recursion limit exceeded: {MAX_DEPTH}"))
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Expr>) -> Result<Expr, Issue> {
        self.node(at, Kind::Call(Call { function: function.to_owned(), target: None, args, pattern: None }))
    }

    fn expression(&mut self) -> Result<Expr, Issue> {
        self.nesting += 1;
        if self.nesting > MAX_DEPTH {
            return Err(Self::too_deep(self.peek().at));
        }
        let condition = self.logical("||")?;
        let result = match self.accept("?") {
            None => condition,
            Some(at) => {
                let then = self.logical("||")?;
                self.expect(":")?;
                let otherwise = self.expression()?;
                self.call(at, "_?_:_", vec![condition, then, otherwise])?
            }
        };
        self.nesting -= 1;
        Ok(result)
    }

    /// A chain of `||`, or of the `&&` between them.
    fn logical(&mut self, symbol: &'static str) -> Result<Expr, Issue> {
        let or = symbol == "||";
        let term = |parser: &mut Self| if or { parser.logical("&&") } else { parser.binary(3) };
        let first = term(self)?;
        if !self.is(symbol) {
            return Ok(first);
        }
        let at = self.peek().at;
        let mut terms = vec![first];
        while self.accept(symbol).is_some() {
            terms.push(term(self)?);
        }
        self.node(at, if or { Kind::Or(terms) } else { Kind::And(terms) })
    }

    fn binary(&mut self, lowest: u8) -> Result<Expr, Issue> {
        let mut left = self.unary()?;
        loop {
            let token = self.peek();
            let operator = match token.kind {
                TokenKind::Symbol(symbol) => {
                    BINARY.iter().find(|(s, level, _)| *s == symbol && *level >= lowest)
                }
                _ => None,
            };
            let Some((_, level, function)) = operator else { return Ok(left) };
            let at = token.at;
            self.next += 1;
            let right = self.binary(level + 1)?;
            left = self.call(at, function, vec![left, right])?;
        }
    }

    fn unary(&mut self) -> Result<Expr, Issue> {
        let (at, start) = (self.peek().at, self.next);
        let symbol = if self.is("!") { "!" } else { "-" };
        while self.accept(symbol).is_some() {}
        let count = self.next - start;
        // A minus directly before a number is part of it.
        if symbol == "-"
            && count > 0
            && matches!(self.peek().kind, TokenKind::Int(_) | TokenKind::Literal(Literal::Double(_)))
        {
            self.next -= 1;
            let operand = self.member()?;
            return if count % 2 == 1 { Ok(operand) } else { self.call(at, "-_", vec![operand]) };
        }
        let operand = self.member()?;
        match (symbol, count % 2) {
            ("!", 1) => self.call(at, "!_", vec![operand]),
            ("-", 1) => self.call(at, "-_", vec![operand]),
            _ => Ok(operand),
        }
    }

    fn member(&mut self) -> Result<Expr, Issue> {
        let mut operand = self.primary()?;
        loop {
            if let Some(at) = self.accept(".") {
                if self.is("?") {
                    return Err(Issue::unsupported(at, "optional field selection (.?)"));
                }
                let field = self.name()?;
                operand = match self.accept("(") {
                    Some(open) => self.member_call(operand, &field, open)?,
                    None => self.node(at, Kind::Select { operand: Box::new(operand), field })?,
                };
            } else if let Some(at) = self.accept("[") {
                if self.is("?") {
                    return Err(Issue::unsupported(at, "optional indexing ([?])"));
                }
                let index = self.expression()?;
                self.expect("]")?;
                operand = self.call(at, "_[_]", vec![operand, index])?;
            } else if self.is("{") && operand.qualified_name().is_some() {
                let name = operand.qualified_name().unwrap_or_default();
                return Err(Issue::new(
                    self.peek().at,
                    format!("undeclared reference to '{name}' (in container '')"),
                ));
            } else {
                return Ok(operand);
            }
        }
    }

    fn name(&mut self) -> Result<String, Issue> {
        match &self.peek().kind {
            TokenKind::Name(name) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("IDENTIFIER")),
        }
    }

    fn primary(&mut self) -> Result<Expr, Issue> {
        let Token { at, kind, .. } = self.peek().clone();
        self.next += 1;
        match kind {
            TokenKind::Literal(literal) => self.node(at, Kind::Literal(literal)),
            TokenKind::Int(digits) => self.integer(at, "", &digits),
            TokenKind::Symbol("-") => match self.peek().kind.clone() {
                TokenKind::Int(digits) => {
                    self.next += 1;
                    self.integer(at, "-", &digits)
                }
                TokenKind::Literal(Literal::Double(number)) => {
                    self.next += 1;
                    self.node(at, Kind::Literal(Literal::Double(-number)))
                }
                _ => Err(self.unexpected("a number")),
            },
            TokenKind::Name(name) => match self.accept("(") {
                Some(open) => self.global_call(&name, open),
                None if RESERVED.contains(&name.as_str()) => {
                    Err(Issue::new(at, format!("reserved identifier: {name}")))
                }
                None => self.node(at, Kind::Ident(name)),
            },
            TokenKind::Symbol("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Symbol("[") => {
                let items = self.arguments("]")?;
                self.node(at, Kind::List(items))
            }
            TokenKind::Symbol("{") => self.map(at),
            TokenKind::Symbol(".") => Err(Issue::unsupported(at, "names with a leading dot")),
            _ => {
                self.next -= 1;
                Err(self.unexpected(
                    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, \
                     IDENTIFIER}",
                ))
            }
        }
    }

    fn integer(&mut self, at: usize, sign: &str, digits: &str) -> Result<Expr, Issue> {
        let number = match digits.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(&format!("{sign}{hex}"), 16),
            None => format!("{sign}{digits}").parse(),
        };
        let number = number.map_err(|_| Issue::new(at, "invalid int literal"))?;
        self.node(at, Kind::Literal(Literal::Int(number)))
    }

    /// Expressions up to a closing symbol; a comma may end a list, but not the arguments of a call.
    fn arguments(&mut self, closing: &str) -> Result<Vec<Expr>, Issue> {
        let mut args = Vec::new();
        while !(self.is(closing) && (args.is_empty() || closing == "]")) {
            if self.is("?") {
                return Err(Issue::unsupported(self.peek().at, "optional items (?)"));
            }
            args.push(self.expression()?);
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect(closing)?;
        Ok(args)
    }

    fn map(&mut self, at: usize) -> Result<Expr, Issue> {
        let mut entries = Vec::new();
        while !self.is("}") {
            if self.is("?") {
                return Err(Issue::unsupported(self.peek().at, "optional entries (?)"));
            }
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect("}")?;
        self.node(at, Kind::Map(entries))
    }

    fn global_call(&mut self, function: &str, open: usize) -> Result<Expr, Issue> {
        let mut args = self.arguments(")")?;
        if function == "has" && args.len() == 1 {
            let arg = args.remove(0);
            let at = arg.at;
            let Kind::Select { operand, field } = arg.kind else {
                return Err(Issue::new(at, "invalid argument to has() macro"));
            };
            return self.node(open, Kind::Has { operand, field });
        }
        self.call(open, function, args)
    }

    fn member_call(&mut self, target: Expr, function: &str, open: usize) -> Result<Expr, Issue> {
        let mut args = self.arguments(")")?;
        if REFUSED_MACROS.iter().any(|(name, counts)| *name == function && counts.contains(&args.len())) {
            return Err(Issue::unsupported(open, &format!("'{function}' with {} arguments", args.len())));
        }
        let walk = match (function, args.len()) {
            ("all", 2) => Walk::All,
            ("exists", 2) => Walk::Exists,
            ("exists_one", 2) => Walk::ExistsOne,
            ("filter", 2) => Walk::Filter,
            ("map", 2 | 3) => Walk::Map,
            ("sortBy", 2) => Walk::SortBy,
            _ => {
                let target = Some(Box::new(target));
                return self.node(
                    open,
                    Kind::Call(Call { function: function.to_owned(), target, args, pattern: None }),
                );
            }
        };
        let item = match &args[0].kind {
            Kind::Ident(name) => name.clone(),
            _ => {
                return Err(Issue::new(
                    args[0].at,
                    if walk == Walk::Filter || walk == Walk::Map || walk == Walk::SortBy {
                        "argument is not an identifier"
                    } else {
                        "argument must be a simple name"
                    },
                ));
            }
        };
        let body = args.pop();
        let when = if args.len() == 2 { args.pop() } else { None };
        match body {
            Some(body) => {
                self.node(open, Kind::Fold(Box::new(Fold { walk, range: target, item, when, body })))
            }
            None => Err(self.unexpected("IDENTIFIER")),
        }
    }
}
