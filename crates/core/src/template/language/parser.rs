//! From tokens to a tree, by the rules of Go's `text/template/parse`.

use std::rc::Rc;

use super::{
    functions::{Function, function},
    lexer::{Kind, Token, tokens},
    literal,
    tree::{Branch, Command, Node, Operand, Pipe, Tree},
};

/// Why a text is not a template.
#[derive(Debug)]
pub(super) struct ParseFault {
    pub(super) line: usize,
    pub(super) message: String,
}

/// How deep a template may be nested.
const DEPTH: usize = 60;

type Parsed<T> = Result<T, ParseFault>;

/// How a list of nodes ends.
enum Tail {
    End,
    Else,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    variables: Vec<String>,
    ranges: usize,
    depth: usize,
    /// Whether functions of score-k8s are there.
    cluster: bool,
    tree: Tree,
}

/// Parses a template.
pub(super) fn parse(text: &str, cluster: bool) -> Parsed<Tree> {
    let mut parser = Parser {
        tokens: tokens(text),
        at: 0,
        variables: vec!["$".to_owned()],
        ranges: 0,
        depth: 0,
        cluster,
        tree: Tree::default(),
    };
    parser.top()?;
    Ok(parser.tree)
}

impl Parser {
    /// The next token, which is not taken. The last one stays.
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).or(self.tokens.last()).unwrap_or(&END)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len());
        token
    }

    fn skip_space(&mut self) {
        while self.peek().kind == Kind::Space {
            self.next();
        }
    }

    fn peek_non_space(&mut self) -> &Token {
        self.skip_space();
        self.peek()
    }

    fn next_non_space(&mut self) -> Token {
        self.skip_space();
        self.next()
    }

    fn is_keyword(&mut self, word: &str) -> bool {
        let token = self.peek_non_space();
        token.kind == Kind::Keyword && token.text == word
    }

    fn fault<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(ParseFault { line: self.peek().line, message: message.into() })
    }

    fn unexpected<T>(token: &Token, context: &str) -> Parsed<T> {
        let message = match token.kind {
            Kind::Error => token.text.clone(),
            Kind::End => "unexpected end of the template".to_owned(),
            _ => format!("unexpected {:?} in {context}", token.text),
        };
        Err(ParseFault { line: token.line, message })
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Self::unexpected(&token, context) }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH {
            return self.fault(format!("the template is nested deeper than {DEPTH} levels"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

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
                Ok(node) => self.tree.root.push(node),
                Err(tail) => {
                    let word = if matches!(tail, Tail::End) { "end" } else { "else" };
                    return Err(ParseFault { line, message: format!("unexpected {{{{{word}}}}}") });
                }
            }
        }
    }

    fn name(&mut self, context: &str) -> Parsed<String> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Quoted | Kind::Raw => self.unquote(&token),
            _ => Self::unexpected(&token, context),
        }
    }

    fn unquote(&self, token: &Token) -> Parsed<String> {
        literal::unquote(&token.text).map_or_else(|| self.fault("invalid syntax in a quoted text"), Ok)
    }

    fn definition(&mut self) -> Parsed<()> {
        let name = self.name("define clause")?;
        self.expect(Kind::Close, "define clause")?;
        self.define(name)
    }

    /// The body of a definition, which sees no variables of its surroundings.
    fn define(&mut self, name: String) -> Parsed<()> {
        let outer = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let ranges = std::mem::take(&mut self.ranges);
        let (nodes, tail) = self.nested(Self::list)?;
        self.variables = outer;
        self.ranges = ranges;
        if matches!(tail, Tail::Else) {
            return self.fault("unexpected {{else}} in define clause");
        }
        let blank = |nodes: &[Node]| {
            nodes.iter().all(|node| matches!(node, Node::Text(text) if text.trim().is_empty()))
        };
        match self.tree.defined.get(&name) {
            Some(known) if !blank(known) && !blank(&nodes) => {
                self.fault(format!("template {name:?} is defined twice"))
            }
            Some(known) if !blank(known) => Ok(()),
            _ => {
                self.tree.defined.insert(name, Rc::new(nodes));
                Ok(())
            }
        }
    }

    fn list(&mut self) -> Parsed<(Vec<Node>, Tail)> {
        let mut nodes = Vec::new();
        while self.peek_non_space().kind != Kind::End {
            match self.text_or_action()? {
                Ok(node) => nodes.push(node),
                Err(tail) => return Ok((nodes, tail)),
            }
        }
        self.fault("unexpected end of the template; an {{end}} is missing")
    }

    fn text_or_action(&mut self) -> Parsed<Result<Node, Tail>> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(Ok(Node::Text(token.text))),
            Kind::Open => self.action(),
            _ => Self::unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Parsed<Result<Node, Tail>> {
        let token = self.peek_non_space().clone();
        if token.kind == Kind::Keyword && token.text != "nil" {
            self.next();
            return match token.text.as_str() {
                "block" => self.block().map(Ok),
                "break" | "continue" => self.jump(&token).map(Ok),
                "else" => {
                    if !self.is_keyword("if") && !self.is_keyword("with") {
                        self.expect(Kind::Close, "else")?;
                    }
                    Ok(Err(Tail::Else))
                }
                "end" => self.expect(Kind::Close, "end").map(|_| Err(Tail::End)),
                "if" => Ok(Ok(Node::If(self.branch("if")?))),
                "with" => Ok(Ok(Node::With(self.branch("with")?))),
                "range" => Ok(Ok(Node::Range(self.branch("range")?))),
                "template" => self.template(token.line).map(Ok),
                _ => Self::unexpected(&token, "command"),
            };
        }
        Ok(Ok(Node::Action(self.pipeline("command", Kind::Close)?)))
    }

    fn jump(&mut self, token: &Token) -> Parsed<Node> {
        self.expect(Kind::Close, &token.text)?;
        if self.ranges == 0 {
            let message = format!("{{{{{}}}}} outside {{{{range}}}}", token.text);
            return Err(ParseFault { line: token.line, message });
        }
        Ok(if token.text == "break" { Node::Break } else { Node::Continue })
    }

    fn branch(&mut self, context: &str) -> Parsed<Branch> {
        self.nested(|parser| {
            let known = parser.variables.len();
            let pipe = parser.pipeline(context, Kind::Close)?;
            parser.ranges += usize::from(context == "range");
            let (then, tail) = parser.list()?;
            parser.ranges -= usize::from(context == "range");
            let otherwise = match tail {
                Tail::End => None,
                Tail::Else => Some(parser.otherwise(context)?),
            };
            parser.variables.truncate(known);
            Ok(Branch { pipe, then, otherwise })
        })
    }

    fn otherwise(&mut self, context: &str) -> Parsed<Vec<Node>> {
        for (word, node) in [("if", Node::If as fn(Branch) -> Node), ("with", Node::With)] {
            if context == word && self.is_keyword(word) {
                self.next();
                return Ok(vec![node(self.branch(word)?)]);
            }
        }
        // `{{else with}}` after `{{if}}` and the like: the word is no action here.
        if self.is_keyword("if") || self.is_keyword("with") {
            let token = self.next();
            return Self::unexpected(&token, "else");
        }
        match self.list()? {
            (nodes, Tail::End) => Ok(nodes),
            (_, Tail::Else) => self.fault("expected end; found {{else}}"),
        }
    }

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

    fn block(&mut self) -> Parsed<Node> {
        let name = self.name("block clause")?;
        let pipe = self.pipeline("block clause", Kind::Close)?;
        let line = pipe.line;
        self.define(name.clone())?;
        Ok(Node::Template { line, name, pipe: Some(pipe) })
    }

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
                        return self.fault(format!("too many declarations in {context}"));
                    }
                    let kind = self.peek_non_space().kind;
                    if !matches!(kind, Kind::Variable | Kind::Close | Kind::RightParen) {
                        return self.fault("range can only initialize variables");
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
            return self.fault(format!("missing value for {context}"));
        }
        let constant = |command: &Command| {
            let first = &command.first;
            matches!(
                first,
                Operand::Bool(_) | Operand::Dot | Operand::Nil | Operand::Number(_) | Operand::Text(_)
            )
        };
        if pipe.commands.iter().skip(1).any(constant) {
            return self.fault("non executable command in a pipeline");
        }
        Ok(pipe)
    }

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
            None => self.fault("empty command"),
        }
    }

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
                return self.fault("unexpected . after a term");
            }
            _ => operand = Operand::Chain(Box::new(operand), fields),
        }
        Ok(Some(operand))
    }

    fn term(&mut self) -> Parsed<Option<Operand>> {
        let token = self.peek_non_space().clone();
        let operand = match token.kind {
            Kind::Identifier => Operand::Function(self.function(&token.text)?),
            Kind::Dot => Operand::Dot,
            Kind::Keyword if token.text == "nil" => Operand::Nil,
            Kind::Variable => {
                if !self.variables.contains(&token.text) {
                    return self.fault(format!("undefined variable {:?}", token.text));
                }
                Operand::Variable(token.text, Vec::new())
            }
            Kind::Field => Operand::Field(vec![field_name(&token.text)]),
            Kind::Bool => Operand::Bool(token.text == "true"),
            Kind::Char | Kind::Number => match literal::number(&token.text) {
                Some(number) => Operand::Number(number),
                None => return self.fault(format!("illegal number syntax: {:?}", token.text)),
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

    fn function(&self, name: &str) -> Parsed<&'static Function> {
        let known = function(name).filter(|function| self.cluster || !function.only_in_clusters());
        known.map_or_else(|| self.fault(format!("function {name:?} not defined")), Ok)
    }
}

static END: Token = Token { kind: Kind::End, text: String::new(), line: 0 };

fn field_name(text: &str) -> String {
    text.trim_start_matches('.').to_owned()
}
