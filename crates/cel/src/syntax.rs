//! Syntax tree of an expression, with positions in its text.

use orchestra_re2::Regex;

/// A node of the tree.
#[derive(Debug)]
pub(crate) struct Expr {
    /// The number of the node, unique in its tree.
    pub(crate) id: usize,
    /// Position: the offset in characters of its operator, dot or parenthesis, or of its start.
    pub(crate) at: usize,
    /// Height of the tree below this node.
    pub(crate) depth: usize,
    /// Kind.
    pub(crate) kind: Kind,
}

/// Kind of a node.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A constant.
    Literal(Literal),
    /// A variable; the checker turns names of types into literals.
    Ident(String),
    /// `operand.field`
    Select { operand: Box<Expr>, field: String },
    /// `has(operand.field)`
    Has { operand: Box<Expr>, field: String },
    /// A call of a function or an operator.
    Call(Call),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a: b}`
    Map(Vec<(Expr, Expr)>),
    /// `a && b && c`
    And(Vec<Expr>),
    /// `a || b || c`
    Or(Vec<Expr>),
    /// A macro that walks over a list or the keys of a map.
    Fold(Box<Fold>),
    /// `list.sum()`, where an empty list is worth the zero of its type.
    Sum { list: Box<Expr>, zero: Literal },
}

/// A call of a function or an operator.
#[derive(Debug)]
pub(crate) struct Call {
    /// The name, `_+_` and the like for operators.
    pub(crate) function: String,
    /// Receiver before the dot.
    pub(crate) target: Option<Box<Expr>>,
    /// Arguments.
    pub(crate) args: Vec<Expr>,
    /// The compiled pattern, if it is a constant.
    pub(crate) pattern: Option<Regex>,
}

/// A macro that walks over a list or the keys of a map.
#[derive(Debug)]
pub(crate) struct Fold {
    /// Result.
    pub(crate) walk: Walk,
    /// List or map.
    pub(crate) range: Expr,
    /// The variable for an item.
    pub(crate) item: String,
    /// The condition of `map` with three arguments.
    pub(crate) when: Option<Expr>,
    /// The predicate or the result for an item.
    pub(crate) body: Expr,
}

/// Result of a macro.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Walk {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
    SortBy,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// Nanoseconds; only as the zero of a sum.
    Duration(i64),
    /// A type as a value, by its name at run time.
    Type(&'static str),
}

impl Expr {
    /// The nodes directly below.
    pub(crate) fn children(&self) -> Vec<&Self> {
        match &self.kind {
            Kind::Literal(_) | Kind::Ident(_) => Vec::new(),
            Kind::Select { operand, .. } | Kind::Has { operand, .. } => vec![operand],
            Kind::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
            Kind::List(items) | Kind::And(items) | Kind::Or(items) => items.iter().collect(),
            Kind::Map(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
            Kind::Fold(fold) => [&fold.range].into_iter().chain(&fold.when).chain([&fold.body]).collect(),
            Kind::Sum { list, .. } => vec![list],
        }
    }

    /// `a.b.c` as one name, if it is nothing but names.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Ident(name) => Some(name.clone()),
            Kind::Select { operand, field } => Some(format!("{}.{field}", operand.qualified_name()?)),
            _ => None,
        }
    }

    /// The text, if this is a constant string.
    pub(crate) fn constant_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Literal(Literal::String(text)) => Some(text),
            _ => None,
        }
    }
}

/// Error in an expression, with its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Issue {
    /// The offset in characters.
    pub(crate) at: usize,
    /// Message.
    pub(crate) message: String,
}

impl Issue {
    /// Error at an offset.
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// A feature of the real server that this one does not have.
    pub(crate) fn unsupported(at: usize, feature: &str) -> Self {
        Self::new(
            at,
            format!("the embedded API does not evaluate {feature}; the rule is refused rather than ignored"),
        )
    }
}

/// Number of issues in a message.
const MAX_SHOWN: usize = 100;
/// Maximum length of a quoted line, in bytes.
const MAX_LINE: usize = 16_384;

/// Shows issues as the real server does: position, message, the line, and a caret below it.
pub(crate) fn shown(issues: &[Issue], source: &str) -> String {
    let mut first = issues[..issues.len().min(MAX_SHOWN)].to_vec();
    first.sort_by_key(|issue| issue.at);
    let mut blocks: Vec<String> = first.iter().map(|issue| block(issue, source)).collect();
    if issues.len() > MAX_SHOWN {
        blocks.push(format!("{} more errors were truncated", issues.len() - MAX_SHOWN));
    }
    blocks.join("\n")
}

fn block(issue: &Issue, source: &str) -> String {
    let (mut line, mut column) = (0, 0);
    for c in source.chars().take(issue.at) {
        if c == '\n' {
            line += 1;
            column = 0;
        } else {
            column += 1;
        }
    }
    let headline = format!("ERROR: <input>:{}:{}: {}", line + 1, column + 1, issue.message);
    let text = source.split('\n').nth(line).unwrap_or_default().replace('\t', " ");
    if text.len() > MAX_LINE {
        return headline;
    }
    let mark = |c: Option<char>, narrow: char, wide: char| {
        if c.is_some_and(|c| c.len_utf8() > 1) { wide } else { narrow }
    };
    let mut below: String = text.chars().take(column).map(|c| mark(Some(c), '.', '\u{ff0e}')).collect();
    below.push(mark(text.chars().nth(column), '^', '\u{ff3e}'));
    format!("{headline}\n | {text}\n | {below}")
}
