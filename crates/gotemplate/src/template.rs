//! Syntax tree.

use std::collections::BTreeMap;

use crate::functions::Function;

/// Parsed template, with the templates that it defines.
#[derive(Debug, Default)]
pub struct Template {
    pub(crate) root: Vec<Node>,
    pub(crate) defined: BTreeMap<String, Vec<Node>>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(String),
    /// Pipeline whose value is printed, unless it is assigned.
    Action(Pipe),
    If(Branch),
    With(Branch),
    Range(Branch),
    Template {
        line: usize,
        name: String,
        pipe: Option<Pipe>,
    },
    Break,
    Continue,
}

/// Condition or range, with the body and the body of `else`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) then: Vec<Node>,
    pub(crate) otherwise: Option<Vec<Node>>,
}

/// Pipeline: each command gets the value of the previous one as its last argument.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) line: usize,
    /// Variables that are set to the value.
    pub(crate) variables: Vec<String>,
    /// True for `=`, false for `:=`.
    pub(crate) assigns: bool,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) first: Operand,
    pub(crate) arguments: Vec<Operand>,
}

#[derive(Debug)]
pub(crate) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(String),
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a.b`
    Variable(String, Vec<String>),
    Function(&'static Function),
    /// `( … )`
    Pipe(Box<Pipe>),
    /// `( … ).a.b`
    Chain(Box<Self>, Vec<String>),
}

/// Untyped numeric constant, as in Go: the parameter decides its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub(crate) int: Option<i64>,
    pub(crate) float: Option<f64>,
    /// True if it is written as a float.
    pub(crate) is_float: bool,
}
