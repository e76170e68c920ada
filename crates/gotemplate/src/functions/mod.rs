//! Functions by name.

mod arithmetic;
mod builtin;
mod collection;
mod escape;
mod strings;

use crate::{error::EvalError, interpreter::Interpreter, value::Value};

/// Function that templates can call.
#[derive(Debug)]
pub struct Function {
    pub(crate) name: &'static str,
    /// The last one repeats if the function is variadic.
    parameters: &'static [Parameter],
    variadic: bool,
    pub(crate) call: Call,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Parameter {
    /// `interface{}`: any value; a missing one becomes nil.
    Any,
    /// `reflect.Value`: any value; a missing one stays missing.
    Raw,
    /// `string`.
    Str,
    /// `int`.
    Int,
    /// `float64`.
    Float,
    /// `bool`.
    Bool,
    /// `map[string]interface{}`.
    Map,
}

#[derive(Debug)]
pub(crate) enum Call {
    /// `and` and `or`: evaluates arguments until the truth of one equals `stop`.
    ShortCircuit {
        stop: bool,
    },
    Plain(Body),
}

/// Body of a function. Number and types of the arguments are checked before the call.
pub type Body = fn(&mut Interpreter, &[Value]) -> Result<Value, EvalError>;

impl Parameter {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any | Self::Raw => "a value",
            Self::Str => "string",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::Map => "map[string]interface {}",
        }
    }
}

impl Function {
    /// Function with exactly these parameters.
    pub const fn fixed(name: &'static str, parameters: &'static [Parameter], body: Body) -> Self {
        Self { name, parameters, variadic: false, call: Call::Plain(body) }
    }

    /// Function whose last parameter takes any number of arguments.
    pub const fn variadic(name: &'static str, parameters: &'static [Parameter], body: Body) -> Self {
        Self { name, parameters, variadic: true, call: Call::Plain(body) }
    }

    const fn short_circuit(name: &'static str, stop: bool) -> Self {
        let parameters = &[Parameter::Raw, Parameter::Raw];
        Self { name, parameters, variadic: true, call: Call::ShortCircuit { stop } }
    }

    /// True if the function accepts this number of arguments.
    pub(crate) fn accepts(&self, count: usize) -> bool {
        if self.variadic { count + 1 >= self.parameters.len() } else { count == self.parameters.len() }
    }

    /// Accepted number of arguments, as in Go's message.
    pub(crate) fn arity(&self) -> String {
        let count = self.parameters.len();
        if self.variadic { format!("at least {}", count.saturating_sub(1)) } else { count.to_string() }
    }

    pub(crate) fn parameter(&self, at: usize) -> Parameter {
        self.parameters.get(at).or(self.parameters.last()).copied().unwrap_or(Parameter::Any)
    }
}

/// Built-in function with this name.
pub(crate) fn builtin(name: &str) -> Option<&'static Function> {
    [builtin::FUNCTIONS, strings::FUNCTIONS, collection::FUNCTIONS, arithmetic::FUNCTIONS]
        .into_iter()
        .flatten()
        .find(|function| function.name == name)
}
