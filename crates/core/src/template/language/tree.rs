//! A template, parsed.

use std::{collections::BTreeMap, rc::Rc};

/// A template and those that it defines.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) root: Vec<Node>,
    pub(super) defined: BTreeMap<String, Rc<Vec<Node>>>,
}

/// A piece of a template.
#[derive(Debug)]
pub(super) enum Node {
    Text(String),
    /// A pipeline whose value is printed, unless it is assigned.
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

/// A pipeline that decides, and what follows.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) pipe: Pipe,
    pub(super) then: Vec<Node>,
    pub(super) otherwise: Option<Vec<Node>>,
}

/// Commands, each given the value of the one before as its last argument.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) line: usize,
    /// The variables that take the value.
    pub(super) variables: Vec<String>,
    /// Whether they exist already.
    pub(super) assigns: bool,
    pub(super) commands: Vec<Command>,
}

/// What is called, and its arguments. There is always a first operand.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) first: Operand,
    pub(super) arguments: Vec<Operand>,
}

/// A value as it is written.
#[derive(Debug)]
pub(super) enum Operand {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(String),
    /// `.a.b`
    Field(Vec<String>),
    /// `$x.a.b`
    Variable(String, Vec<String>),
    /// The name of a function.
    Function(&'static super::functions::Function),
    /// `( … )`
    Pipe(Box<Pipe>),
    /// `( … ).a.b`
    Chain(Box<Self>, Vec<String>),
}

/// A number whose type depends on where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub(super) int: Option<i64>,
    pub(super) float: Option<f64>,
    /// Whether it is written as a float.
    pub(super) is_float: bool,
}
