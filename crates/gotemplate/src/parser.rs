//! Parser, by the rules of Go's `text/template/parse`. Functions name their counterpart there, usually a method
//! of `Tree`.

use crate::{
    error::{Error, ErrorKind},
    functions::{Function, builtin},
    lexer::{Kind, Token, tokens},
    literal,
    template::{Branch, Command, Node, Operand, Pipe, Template},
};

/// Maximum nesting of blocks and parentheses: the parser recurses.
const MAX_DEPTH: usize = 60;

/// Token after the last one.
static END: Token = Token { kind: Kind::End, text: String::new(), line: 0 };

type Parsed<T> = Result<T, Error>;

/// End of a list of nodes.
#[derive(Clone, Copy)]
enum Tail {
    End,
    Else,
}

/// Text or action: a node, or the end of the list. In Go the latter are nodes, too (`endNode`, `elseNode`).
enum Item {
    Node(Node),
    Tail(Tail),
}

/// State of a parse: Go's `Tree`.
struct Parser {
    tokens: Vec<Token>,
    /// Index of the next token.
    at: usize,
    /// Variables in scope.
    variables: Vec<String>,
    /// Number of enclosing `{{range}}`: Go's `rangeDepth`.
    ranges: usize,
    /// Number of enclosing blocks and parentheses.
    depth: usize,
    /// Functions of the host.
    functions: &'static [Function],
    template: Template,
}

impl Template {
    /// Parses a template that may call the built-in functions and those of the host.
    pub fn parse(text: &str, functions: &'static [Function]) -> Result<Self, Error> {
        let mut parser = Parser {
            tokens: tokens(text),
            at: 0,
            variables: vec!["$".to_owned()],
            ranges: 0,
            depth: 0,
            functions,
            template: Self::default(),
        };
        parser.top()?;
        Ok(parser.template)
    }
}

/// Parse error on a line.
fn parse_error<T>(line: usize, message: impl Into<String>) -> Parsed<T> {
    Err(Error { line, kind: ErrorKind::Parse, message: message.into() })
}

impl Parser {
    /// `peek`: next token, not consumed. At the end, the last one.
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).or(self.tokens.last()).unwrap_or(&END)
    }

    /// `next`: consumes a token.
    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    /// Consumes spaces.
    fn skip_space(&mut self) {
        while self.peek().kind == Kind::Space {
            self.next();
        }
    }

    /// `peekNonSpace`.
    fn peek_non_space(&mut self) -> &Token {
        self.skip_space();
        self.peek()
    }

    /// `nextNonSpace`.
    fn next_non_space(&mut self) -> Token {
        self.skip_space();
        self.next()
    }

    /// True if the next token other than a space is this keyword.
    fn is_keyword(&mut self, word: &str) -> bool {
        let token = self.peek_non_space();
        token.kind == Kind::Keyword && token.text == word
    }

    /// `errorf`: an error at the next token.
    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        parse_error(self.peek().line, message)
    }

    /// `unexpected`.
    fn unexpected<T>(token: &Token, context: &str) -> Parsed<T> {
        let message = match token.kind {
            Kind::Error => token.text.clone(),
            Kind::End => "unexpected EOF".to_owned(),
            _ => format!("unexpected {:?} in {context}", token.text),
        };
        parse_error(token.line, message)
    }

    /// `expect`.
    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Self::unexpected(&token, context) }
    }

    /// Enters a block or parenthesis, up to [`MAX_DEPTH`]. Go bounds only the depth of parentheses (`maxStackDepth`).
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.error(format!("template is nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// `parse`: the whole template.
    fn top(&mut self) -> Parsed<()> {
        loop {
            match self.peek().kind {
                Kind::End => return Ok(()),
                Kind::Open => {
                    let before = self.at;
                    self.next();
                    if self.is_keyword("define") {
                        self.next();
                        self.definition()?;
                        continue;
                    }
                    self.at = before;
                }
                _ => {}
            }
            let line = self.peek().line;
            match self.text_or_action()? {
                Item::Node(node) => self.template.root.push(node),
                Item::Tail(Tail::End) => return parse_error(line, "unexpected {{end}}"),
                Item::Tail(Tail::Else) => return parse_error(line, "unexpected {{else}}"),
            }
        }
    }

    /// `parseTemplateName`: the string after `define`, `template` and `block`.
    fn name(&mut self, context: &str) -> Parsed<String> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Quoted | Kind::Raw => self.unquote(&token),
            _ => Self::unexpected(&token, context),
        }
    }

    /// `strconv.Unquote`.
    fn unquote(&self, token: &Token) -> Parsed<String> {
        literal::unquote(&token.text).map_or_else(|| self.error("invalid syntax in string"), Ok)
    }

    /// `parseDefinition`: `{{define "name"}}`, after its keyword.
    fn definition(&mut self) -> Parsed<()> {
        let name = self.name("define clause")?;
        self.expect(Kind::Close, "define clause")?;
        self.define(name)
    }

    /// Body of a definition, and `add`: the first definition that is not blank counts, a second one is an error. Variables
    /// outside of it are not in scope.
    fn define(&mut self, name: String) -> Parsed<()> {
        let outer = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let ranges = std::mem::take(&mut self.ranges);
        let (nodes, tail) = self.nested(Self::list)?;
        self.variables = outer;
        self.ranges = ranges;
        if matches!(tail, Tail::Else) {
            return self.error("unexpected {{else}} in define clause");
        }
        let blank = |nodes: &[Node]| {
            nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
        };
        match self.template.defined.get(&name) {
            Some(previous) if !blank(previous) && !blank(&nodes) => {
                self.error(format!("multiple definition of template {name:?}"))
            }
            Some(previous) if !blank(previous) => Ok(()),
            _ => {
                self.template.defined.insert(name, nodes);
                Ok(())
            }
        }
    }

    /// `itemList`: nodes up to `{{end}}` or `{{else}}`.
    fn list(&mut self) -> Parsed<(Vec<Node>, Tail)> {
        let mut nodes = Vec::new();
        while self.peek_non_space().kind != Kind::End {
            match self.text_or_action()? {
                Item::Node(node) => nodes.push(node),
                Item::Tail(tail) => return Ok((nodes, tail)),
            }
        }
        self.error("unexpected EOF: {{end}} is missing")
    }

    /// `textOrAction`.
    fn text_or_action(&mut self) -> Parsed<Item> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text(token.text))),
            Kind::Open => self.action(),
            _ => Self::unexpected(&token, "input"),
        }
    }

    /// `action`, and `elseControl` and `endControl`.
    fn action(&mut self) -> Parsed<Item> {
        let token = self.peek_non_space().clone();
        if token.kind == Kind::Keyword && token.text != "nil" {
            self.next();
            return Ok(Item::Node(match token.text.as_str() {
                "block" => self.block()?,
                "break" | "continue" => self.jump(&token)?,
                "else" => {
                    if !self.is_keyword("if") && !self.is_keyword("with") {
                        self.expect(Kind::Close, "else")?;
                    }
                    return Ok(Item::Tail(Tail::Else));
                }
                "end" => {
                    self.expect(Kind::Close, "end")?;
                    return Ok(Item::Tail(Tail::End));
                }
                "if" => Node::If(self.branch("if")?),
                "with" => Node::With(self.branch("with")?),
                "range" => Node::Range(self.branch("range")?),
                "template" => self.template(token.line)?,
                _ => return Self::unexpected(&token, "command"),
            }));
        }
        Ok(Item::Node(Node::Action(self.pipeline("command", Kind::Close)?)))
    }

    /// `breakControl` and `continueControl`.
    fn jump(&mut self, token: &Token) -> Parsed<Node> {
        self.expect(Kind::Close, &token.text)?;
        if self.ranges == 0 {
            let message = format!("{{{{{}}}}} outside {{{{range}}}}", token.text);
            return parse_error(token.line, message);
        }
        Ok(if token.text == "break" { Node::Break } else { Node::Continue })
    }

    /// `parseControl`: `if`, `with` and `range`, after the keyword.
    fn branch(&mut self, context: &str) -> Parsed<Branch> {
        self.nested(|parser| {
            let outer = parser.variables.len();
            let pipe = parser.pipeline(context, Kind::Close)?;
            parser.ranges += usize::from(context == "range");
            let (then, tail) = parser.list()?;
            parser.ranges -= usize::from(context == "range");
            let otherwise = match tail {
                Tail::End => None,
                Tail::Else => Some(parser.otherwise(context)?),
            };
            parser.variables.truncate(outer);
            Ok(Branch { pipe, then, otherwise })
        })
    }

    /// The part of `parseControl` after `{{else}}`: a list, or one nested branch for `{{else if}}` and `{{else with}}`.
    fn otherwise(&mut self, context: &str) -> Parsed<Vec<Node>> {
        for (word, node) in [("if", Node::If as fn(Branch) -> Node), ("with", Node::With)] {
            if context == word && self.is_keyword(word) {
                self.next();
                return Ok(vec![node(self.branch(word)?)]);
            }
        }
        // `{{else with}}` after `{{if}}`, and `{{else if}}` after `{{with}}`, are errors.
        if self.is_keyword("if") || self.is_keyword("with") {
            let token = self.next();
            return Self::unexpected(&token, "else");
        }
        match self.list()? {
            (nodes, Tail::End) => Ok(nodes),
            (_, Tail::Else) => self.error("expected end; found {{else}}"),
        }
    }

    /// `templateControl`.
    fn template(&mut self, line: usize) -> Parsed<Node> {
        let name = self.name("template clause")?;
        let pipe = if self.peek_non_space().kind == Kind::Close {
            self.next();
            None
        } else {
            Some(self.pipeline("template clause", Kind::Close)?)
        };
        Ok(Node::Template { line, name, pipe })
    }

    /// `blockControl`: a definition and its use.
    fn block(&mut self) -> Parsed<Node> {
        let name = self.name("block clause")?;
        let pipe = self.pipeline("block clause", Kind::Close)?;
        let line = pipe.line;
        self.define(name.clone())?;
        Ok(Node::Template { line, name, pipe: Some(pipe) })
    }

    /// `pipeline`, and `checkPipeline`.
    fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let line = self.peek_non_space().line;
        let mut pipe = Pipe { line, variables: Vec::new(), assigns: false, commands: Vec::new() };
        while self.peek_non_space().kind == Kind::Variable {
            let before = self.at;
            let variable = self.next();
            let next = self.peek_non_space().clone();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    pipe.assigns = next.kind == Kind::Assign;
                    self.next();
                    self.variables.push(variable.text.clone());
                    pipe.variables.push(variable.text);
                    break;
                }
                Kind::Sign if next.text == "," => {
                    self.next();
                    self.variables.push(variable.text.clone());
                    pipe.variables.push(variable.text);
                    if context != "range" || pipe.variables.len() > 1 {
                        return self.error(format!("too many declarations in {context}"));
                    }
                    let kind = self.peek_non_space().kind;
                    if !matches!(kind, Kind::Variable | Kind::Close | Kind::RightParen) {
                        return self.error("range can only initialize variables");
                    }
                }
                _ => {
                    self.at = before;
                    break;
                }
            }
        }
        loop {
            let token = self.peek_non_space().clone();
            match token.kind {
                kind if kind == end => {
                    self.next();
                    break;
                }
                Kind::Bool
                | Kind::Char
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Raw
                | Kind::Quoted
                | Kind::Variable
                | Kind::LeftParen => pipe.commands.push(self.command()?),
                Kind::Keyword if token.text == "nil" => pipe.commands.push(self.command()?),
                _ => return Self::unexpected(&token, context),
            }
        }
        if pipe.commands.is_empty() {
            return self.error(format!("missing value for {context}"));
        }
        let constant = |command: &Command| {
            let first = &command.first;
            matches!(
                first,
                Operand::Bool(_) | Operand::Dot | Operand::Nil | Operand::Number(_) | Operand::Text(_)
            )
        };
        if pipe.commands.iter().skip(1).any(constant) {
            return self.error("non executable command in pipeline");
        }
        Ok(pipe)
    }

    /// `command`.
    fn command(&mut self) -> Parsed<Command> {
        let mut operands = Vec::new();
        loop {
            self.skip_space();
            operands.extend(self.nested(Self::operand)?);
            let token = self.peek().clone();
            match token.kind {
                Kind::Space => {
                    self.next();
                }
                Kind::Close | Kind::RightParen => break,
                Kind::Pipe => {
                    self.next();
                    break;
                }
                _ => return Self::unexpected(&token, "operand"),
            }
        }
        let mut operands = operands.into_iter();
        match operands.next() {
            Some(first) => Ok(Command { first, arguments: operands.collect() }),
            None => self.error("empty command"),
        }
    }

    /// `operand`: a term with fields.
    fn operand(&mut self) -> Parsed<Option<Operand>> {
        let Some(mut operand) = self.term()? else { return Ok(None) };
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(field_name(&self.next().text));
        }
        if fields.is_empty() {
            return Ok(Some(operand));
        }
        match &mut operand {
            Operand::Field(own) | Operand::Variable(_, own) => own.extend(fields),
            Operand::Bool(_) | Operand::Text(_) | Operand::Number(_) | Operand::Nil | Operand::Dot => {
                return self.error("unexpected . after term");
            }
            _ => operand = Operand::Chain(Box::new(operand), fields),
        }
        Ok(Some(operand))
    }

    /// `term`.
    fn term(&mut self) -> Parsed<Option<Operand>> {
        let token = self.peek_non_space().clone();
        let operand = match token.kind {
            Kind::Identifier => Operand::Function(self.function(&token.text)?),
            Kind::Dot => Operand::Dot,
            Kind::Keyword if token.text == "nil" => Operand::Nil,
            Kind::Variable => {
                if !self.variables.contains(&token.text) {
                    return self.error(format!("undefined variable {:?}", token.text));
                }
                Operand::Variable(token.text, Vec::new())
            }
            Kind::Field => Operand::Field(vec![field_name(&token.text)]),
            Kind::Bool => Operand::Bool(token.text == "true"),
            Kind::Char | Kind::Number => match literal::number(&token.text) {
                Some(number) => Operand::Number(number),
                None => return self.error(format!("illegal number syntax: {:?}", token.text)),
            },
            Kind::LeftParen => {
                self.next();
                let pipe = self.pipeline("parenthesized pipeline", Kind::RightParen)?;
                return Ok(Some(Operand::Pipe(Box::new(pipe))));
            }
            Kind::Quoted | Kind::Raw => Operand::Text(self.unquote(&token)?),
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(operand))
    }

    /// `hasFunction`, and the function.
    fn function(&self, name: &str) -> Parsed<&'static Function> {
        let found = self.functions.iter().find(|function| function.name == name).or_else(|| builtin(name));
        found.map_or_else(|| self.error(format!("function {name:?} not defined")), Ok)
    }
}

/// Name of a field, without the point.
fn field_name(text: &str) -> String {
    text.trim_start_matches('.').to_owned()
}
