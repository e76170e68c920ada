//! The functions that templates call, by name.

use super::{arithmetic, builtin, collection, fault::Wrong, machine::Machine, text, value::Value};

/// A function.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// The last stands for any number of arguments, if it is variadic.
    parameters: &'static [Parameter],
    variadic: bool,
    pub(super) call: Call,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parameter {
    /// Any value, nil for none.
    Any,
    /// Any value as it is.
    Raw,
    Text,
    Int,
    Float,
    Bool,
    Map,
}

/// How a function is carried out.
#[derive(Debug)]
pub(super) enum Call {
    /// `and` and `or`: arguments are looked at until one is so.
    Decides {
        until: bool,
    },
    Plain(Body),
}

/// The body of a function; its arguments have the number and types that it asks for.
pub(super) type Body = fn(&mut Machine, &[Value]) -> Result<Value, Wrong>;

impl Parameter {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Any | Self::Raw => "a value",
            Self::Text => "string",
            Self::Int => "int",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::Map => "map[string]interface {}",
        }
    }
}

impl Function {
    /// A function of so many arguments.
    pub(super) const fn fixed(name: &'static str, parameters: &'static [Parameter], body: Body) -> Self {
        Self { name, parameters, variadic: false, call: Call::Plain(body) }
    }

    /// A function whose last parameter takes any number of arguments.
    pub(super) const fn variadic(name: &'static str, parameters: &'static [Parameter], body: Body) -> Self {
        Self { name, parameters, variadic: true, call: Call::Plain(body) }
    }

    /// `and` or `or`.
    pub(super) const fn deciding(name: &'static str, until: bool) -> Self {
        let parameters = &[Parameter::Raw, Parameter::Raw];
        Self { name, parameters, variadic: true, call: Call::Decides { until } }
    }

    /// Whether it can be called with so many arguments.
    pub(super) fn takes(&self, count: usize) -> bool {
        if self.variadic { count + 1 >= self.parameters.len() } else { count == self.parameters.len() }
    }

    /// What an argument must be.
    pub(super) fn parameter(&self, at: usize) -> Parameter {
        self.parameters.get(at).or(self.parameters.last()).copied().unwrap_or(Parameter::Any)
    }

    /// Whether only templates of score-k8s have it.
    pub(super) fn only_in_clusters(&self) -> bool {
        self.name == "encodeSecretRef"
    }
}

/// The function of a name.
pub(super) fn function(name: &str) -> Option<&'static Function> {
    [builtin::FUNCTIONS, text::FUNCTIONS, collection::FUNCTIONS, arithmetic::FUNCTIONS]
        .into_iter()
        .flatten()
        .find(|function| function.name == name)
}
