//! Execution of a template, by the rules of Go's `text/template`.

use crate::{
    error::EvalError,
    format::type_name,
    functions::{Call, Function, Parameter},
    interpreter::Interpreter,
    template::{Branch, Command, Node, Operand, Pipe, Template},
    value::{MapKind, Value},
};

/// Maximum nesting of templates, branches and parentheses: the execution recurses.
const MAX_DEPTH: usize = 120;

type Eval<T> = Result<T, EvalError>;

/// Control flow after a node.
#[derive(PartialEq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// Execution of one template.
pub(crate) struct Execution<'a> {
    interp: &'a mut Interpreter,
    template: &'a Template,
    variables: Vec<(String, Value)>,
    depth: usize,
    /// Line of the current action.
    pub(crate) line: usize,
    /// Output so far.
    pub(crate) out: String,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(interp: &'a mut Interpreter, template: &'a Template, root: &Value) -> Self {
        let variables = vec![("$".to_owned(), root.clone())];
        Self { interp, template, variables, depth: 0, line: 1, out: String::new() }
    }

    pub(crate) fn run(&mut self, root: &Value) -> Eval<()> {
        self.walk(root, &self.template.root).map(|_| ())
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Eval<T>) -> Eval<T> {
        self.interp.budget.step()?;
        if self.depth >= MAX_DEPTH {
            return Err(EvalError::new(format!("exceeded maximum template depth ({MAX_DEPTH})")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn write(&mut self, text: &str) -> Eval<()> {
        self.interp.budget.spend(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    fn walk(&mut self, dot: &Value, nodes: &'a [Node]) -> Eval<Flow> {
        self.deeper(|run| {
            for node in nodes {
                let flow = run.node(dot, node)?;
                if flow != Flow::Next {
                    return Ok(flow);
                }
            }
            Ok(Flow::Next)
        })
    }

    fn node(&mut self, dot: &Value, node: &'a Node) -> Eval<Flow> {
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Action(pipe) => {
                let value = self.pipeline(dot, pipe)?;
                if pipe.variables.is_empty() {
                    let text =
                        if value.is_nil() { "<no value>".to_owned() } else { self.interp.display(&value)? };
                    self.write(&text)?;
                }
            }
            Node::If(branch) => return self.scoped(|run| run.branch(dot, branch, false)),
            Node::With(branch) => return self.scoped(|run| run.branch(dot, branch, true)),
            Node::Range(branch) => return self.scoped(|run| run.range(dot, branch)),
            Node::Template { line, name, pipe } => self.template(dot, *line, name, pipe.as_ref())?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    /// Runs with a variable scope of its own.
    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> Eval<T>) -> Eval<T> {
        let outer = self.variables.len();
        let result = inner(self);
        self.variables.truncate(outer);
        result
    }

    fn branch(&mut self, dot: &Value, branch: &'a Branch, with: bool) -> Eval<Flow> {
        let value = self.pipeline(dot, &branch.pipe)?;
        if self.interp.truth(&value) {
            self.walk(if with { &value } else { dot }, &branch.then)
        } else if let Some(otherwise) = &branch.otherwise {
            self.walk(dot, otherwise)
        } else {
            Ok(Flow::Next)
        }
    }

    fn range(&mut self, dot: &Value, branch: &'a Branch) -> Eval<Flow> {
        let value = self.pipeline(dot, &branch.pipe)?;
        let line = branch.pipe.line;
        let items: Box<dyn Iterator<Item = (Value, Value)>> = match &value {
            Value::Missing | Value::Nil => Box::new(std::iter::empty()),
            Value::List(_, at) => {
                let list = self.interp.heap.list(*at);
                self.interp.budget.spend(list.len() * size_of::<Value>())?;
                let items: Vec<Value> = list.as_ref().clone();
                Box::new((0i64..).map(Value::Int).zip(items))
            }
            Value::Map(_, at) => {
                let entries = self.interp.heap.map(*at);
                let items: Vec<_> =
                    entries.iter().map(|(key, value)| (Value::string(key), value.clone())).collect();
                self.interp.budget.spend(items.len() * size_of::<Value>())?;
                Box::new(items.into_iter())
            }
            Value::Int(count) | Value::Int64(count) => {
                if branch.pipe.variables.len() > 1 {
                    return Err(EvalError::new(
                        "can't use an integer to iterate over more than one variable",
                    ));
                }
                let number = if matches!(value, Value::Int(_)) { Value::Int } else { Value::Int64 };
                Box::new((0..*count).map(move |at| (Value::Missing, number(at))))
            }
            other => {
                self.line = line;
                let name = type_name(&self.interp.heap, other);
                return Err(EvalError::new(format!("range can't iterate over a value of type {name}")));
            }
        };
        let mut is_empty = true;
        for (key, item) in items {
            is_empty = false;
            self.line = line;
            self.iteration(branch, key, &item)?;
            let outer = self.variables.len();
            let flow = self.walk(&item, &branch.then)?;
            self.variables.truncate(outer);
            if flow == Flow::Break {
                break;
            }
        }
        match &branch.otherwise {
            Some(otherwise) if is_empty => self.walk(dot, otherwise),
            _ => Ok(Flow::Next),
        }
    }

    /// Sets the variables of a range for one iteration.
    fn iteration(&mut self, branch: &Branch, key: Value, item: &Value) -> Eval<()> {
        let names = &branch.pipe.variables;
        let values = if names.len() > 1 { vec![key, item.clone()] } else { vec![item.clone()] };
        if branch.pipe.assigns {
            return names.iter().zip(values).try_for_each(|(name, value)| self.assign(name, value));
        }
        let start = self.variables.len().saturating_sub(names.len());
        for (slot, value) in self.variables.iter_mut().skip(start).zip(values) {
            slot.1 = value;
        }
        Ok(())
    }

    fn template(&mut self, dot: &Value, line: usize, name: &str, pipe: Option<&'a Pipe>) -> Eval<()> {
        self.line = line;
        let Some(nodes) = self.template.defined.get(name) else {
            return Err(EvalError::new(format!("template {name:?} not defined")));
        };
        let dot = pipe.map_or(Ok(Value::Missing), |pipe| self.pipeline(dot, pipe))?;
        let outer = std::mem::replace(&mut self.variables, vec![("$".to_owned(), dot.clone())]);
        let result = self.walk(&dot, nodes);
        self.variables = outer;
        result.map(|_| ())
    }

    fn assign(&mut self, name: &str, value: Value) -> Eval<()> {
        let slot = self.variables.iter_mut().rev().find(|(variable, _)| variable == name);
        slot.map(|slot| slot.1 = value).ok_or_else(|| EvalError::new(format!("undefined variable {name}")))
    }

    fn pipeline(&mut self, dot: &Value, pipe: &'a Pipe) -> Eval<Value> {
        self.deeper(|run| {
            run.line = pipe.line;
            let mut last = None;
            for command in &pipe.commands {
                let value = run.command(dot, command, last)?;
                last = Some(if value.is_nil() { Value::Missing } else { value });
            }
            let value = last.unwrap_or(Value::Missing);
            for name in &pipe.variables {
                if pipe.assigns {
                    run.assign(name, value.clone())?;
                } else {
                    run.variables.push((name.clone(), value.clone()));
                }
            }
            Ok(value)
        })
    }

    fn command(&mut self, dot: &Value, command: &'a Command, last: Option<Value>) -> Eval<Value> {
        let has_arguments = !command.arguments.is_empty() || last.is_some();
        let no_arguments = || {
            if has_arguments { Err(EvalError::new("can't give argument to non-function")) } else { Ok(()) }
        };
        match &command.first {
            Operand::Field(names) => self.fields(dot.clone(), names, has_arguments),
            Operand::Variable(name, names) => {
                let value = self.variable(name)?;
                if names.is_empty() {
                    no_arguments()?;
                }
                self.fields(value, names, has_arguments)
            }
            Operand::Chain(operand, names) => {
                let value = self.operand(dot, operand)?;
                self.fields(value, names, has_arguments)
            }
            Operand::Function(function) => self.call(dot, function, &command.arguments, last),
            Operand::Nil => Err(EvalError::new("nil is not a command")),
            constant => {
                no_arguments()?;
                self.operand(dot, constant)
            }
        }
    }

    /// Value of an operand without arguments.
    fn operand(&mut self, dot: &Value, operand: &'a Operand) -> Eval<Value> {
        match operand {
            Operand::Dot => Ok(dot.clone()),
            Operand::Nil => Err(EvalError::new("nil is not a value here")),
            Operand::Bool(flag) => Ok(Value::Bool(*flag)),
            Operand::Number(number) => match (number.is_float, number.float, number.int) {
                (true, Some(float), _) => Ok(Value::Float(float)),
                (_, _, Some(int)) => Ok(Value::Int(int)),
                _ => Err(EvalError::new("integer overflow")),
            },
            Operand::Text(text) => Ok(Value::string(text)),
            Operand::Field(names) => self.fields(dot.clone(), names, false),
            Operand::Variable(name, names) => {
                let value = self.variable(name)?;
                self.fields(value, names, false)
            }
            Operand::Function(function) => self.call(dot, function, &[], None),
            Operand::Pipe(pipe) => self.pipeline(dot, pipe),
            Operand::Chain(operand, names) => {
                let value = self.operand(dot, operand)?;
                self.fields(value, names, false)
            }
        }
    }

    fn variable(&self, name: &str) -> Eval<Value> {
        let found = self.variables.iter().rev().find(|(variable, _)| variable == name);
        found
            .map(|(_, value)| value.clone())
            .ok_or_else(|| EvalError::new(format!("undefined variable {name}")))
    }

    fn fields(&mut self, mut value: Value, names: &[String], has_arguments: bool) -> Eval<Value> {
        for (at, name) in names.iter().enumerate() {
            value = self.field(&value, name, has_arguments && at + 1 == names.len())?;
        }
        Ok(value)
    }

    fn field(&mut self, value: &Value, name: &str, has_arguments: bool) -> Eval<Value> {
        let found = match value {
            Value::Missing => return Ok(Value::Missing),
            Value::Nil => return Err(EvalError::new(format!("nil value; can't evaluate field {name}"))),
            Value::Map(_, at) => self.interp.heap.map(*at).get(name).cloned().unwrap_or(Value::Missing),
            Value::Record(at) => {
                let record = self.interp.heap.record(*at);
                let field = record.fields.iter().find(|field| field.name == name);
                let field = field.ok_or_else(|| {
                    EvalError::new(format!("can't evaluate field {name} in type {}", record.type_name))
                })?;
                field.value.clone()
            }
            other => {
                let type_name = type_name(&self.interp.heap, other);
                return Err(EvalError::new(format!("can't evaluate field {name} in type {type_name}")));
            }
        };
        if has_arguments {
            return Err(EvalError::new(format!("{name} is not a method but has arguments")));
        }
        Ok(found)
    }

    fn call(
        &mut self,
        dot: &Value,
        function: &'static Function,
        arguments: &'a [Operand],
        last: Option<Value>,
    ) -> Eval<Value> {
        self.interp.budget.step()?;
        let count = arguments.len() + usize::from(last.is_some());
        if !function.accepts(count) {
            return Err(EvalError::new(format!(
                "wrong number of args for {}: want {} got {count}",
                function.name,
                function.arity()
            )));
        }
        if let Call::ShortCircuit { stop } = function.call {
            let mut value = Value::Missing;
            for argument in arguments {
                value = self.argument(dot, function, Parameter::Raw, argument)?;
                if self.interp.truth(&value) == stop {
                    return Ok(value);
                }
            }
            return Ok(last.unwrap_or(value));
        }
        let mut values = Vec::with_capacity(count);
        for (at, argument) in arguments.iter().enumerate() {
            values.push(self.argument(dot, function, function.parameter(at), argument)?);
        }
        if let Some(last) = last {
            values.push(self.conform(function, function.parameter(count - 1), last)?);
        }
        match function.call {
            Call::Plain(call) => call(self.interp, &values).map_err(|error| match error {
                EvalError::Message(message) => {
                    EvalError::Message(format!("error calling {}: {message}", function.name))
                }
                fail @ EvalError::Fail(_) => fail,
            }),
            Call::ShortCircuit { .. } => Ok(Value::Missing),
        }
    }

    fn argument(
        &mut self,
        dot: &Value,
        function: &Function,
        parameter: Parameter,
        operand: &'a Operand,
    ) -> Eval<Value> {
        let expected = |what: &str| Err(EvalError::new(format!("{}: expected {what}", function.name)));
        match (operand, parameter) {
            (Operand::Nil, Parameter::Any) => Ok(Value::Nil),
            (Operand::Nil, Parameter::Raw) => Ok(Value::Missing),
            (Operand::Nil, Parameter::Map) => Ok(Value::Map(MapKind::Any, None)),
            (Operand::Nil, _) => expected("a value, got nil"),
            (Operand::Number(number), Parameter::Int) => {
                number.int.map_or_else(|| expected("integer"), |int| Ok(Value::Int(int)))
            }
            (Operand::Number(number), Parameter::Float) => {
                number.float.map_or_else(|| expected("float"), |float| Ok(Value::Float(float)))
            }
            _ => {
                let value = self.operand(dot, operand)?;
                self.conform(function, parameter, value)
            }
        }
    }

    /// Value as an argument of this type.
    fn conform(&self, function: &Function, parameter: Parameter, value: Value) -> Eval<Value> {
        let fits = match parameter {
            Parameter::Any => return Ok(value.or_nil()),
            Parameter::Raw => return Ok(value),
            Parameter::Map if matches!(value, Value::Missing) => return Ok(Value::Map(MapKind::Any, None)),
            Parameter::Map => matches!(value, Value::Map(MapKind::Any, _)),
            Parameter::Str => matches!(value, Value::Str(_)),
            Parameter::Int => matches!(value, Value::Int(_)),
            Parameter::Float => matches!(value, Value::Float(_)),
            Parameter::Bool => matches!(value, Value::Bool(_)),
        };
        if fits {
            return Ok(value);
        }
        let got = if value.is_nil() { "nil".to_owned() } else { type_name(&self.interp.heap, &value) };
        Err(EvalError::new(format!("{}: expected {}, got {got}", function.name, parameter.name())))
    }
}
