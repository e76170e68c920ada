//! A template, carried out by the rules of Go's `text/template`.

use super::{
    fault::Wrong,
    format::type_name,
    functions::{Call, Function, Parameter},
    machine::Machine,
    tree::{Branch, Command, Node, Operand, Pipe, Tree},
    value::{MapKind, Value},
};

/// How deep templates, branches and parentheses may be nested when they are carried out.
const DEPTH: usize = 120;

type Ran<T> = Result<T, Wrong>;

/// How a list of nodes ended.
#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

/// A run of one template.
pub(super) struct Execution<'a> {
    machine: &'a mut Machine,
    tree: &'a Tree,
    variables: Vec<(String, Value)>,
    depth: usize,
    /// The line that is being carried out.
    pub(super) line: usize,
    /// The text so far.
    pub(super) out: String,
}

impl<'a> Execution<'a> {
    pub(super) fn new(machine: &'a mut Machine, tree: &'a Tree, root: &Value) -> Self {
        let variables = vec![("$".to_owned(), root.clone())];
        Self { machine, tree, variables, depth: 0, line: 1, out: String::new() }
    }

    pub(super) fn run(&mut self, root: &Value) -> Ran<()> {
        self.walk(root, &self.tree.root).map(|_| ())
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Ran<T>) -> Ran<T> {
        self.machine.budget.step()?;
        if self.depth >= DEPTH {
            return Err(Wrong::new(format!("templates are nested deeper than {DEPTH} levels")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn write(&mut self, text: &str) -> Ran<()> {
        self.machine.budget.spend(text.len())?;
        self.out.push_str(text);
        Ok(())
    }

    fn walk(&mut self, dot: &Value, nodes: &'a [Node]) -> Ran<Flow> {
        self.deeper(|run| {
            for node in nodes {
                let flow = run.node(dot, node)?;
                if flow != Flow::On {
                    return Ok(flow);
                }
            }
            Ok(Flow::On)
        })
    }

    fn node(&mut self, dot: &Value, node: &'a Node) -> Ran<Flow> {
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Action(pipe) => {
                let value = self.pipeline(dot, pipe)?;
                if pipe.variables.is_empty() {
                    let text = if value.is_nil() {
                        "<no value>".to_owned()
                    } else {
                        self.machine.display(&value)?
                    };
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
        Ok(Flow::On)
    }

    /// Variables that are declared inside end with it.
    fn scoped<T>(&mut self, inner: impl FnOnce(&mut Self) -> Ran<T>) -> Ran<T> {
        let known = self.variables.len();
        let result = inner(self);
        self.variables.truncate(known);
        result
    }

    fn branch(&mut self, dot: &Value, branch: &'a Branch, with: bool) -> Ran<Flow> {
        let value = self.pipeline(dot, &branch.pipe)?;
        if self.machine.truth(&value) {
            self.walk(if with { &value } else { dot }, &branch.then)
        } else if let Some(otherwise) = &branch.otherwise {
            self.walk(dot, otherwise)
        } else {
            Ok(Flow::On)
        }
    }

    fn range(&mut self, dot: &Value, branch: &'a Branch) -> Ran<Flow> {
        let value = self.pipeline(dot, &branch.pipe)?;
        let line = branch.pipe.line;
        let items: Box<dyn Iterator<Item = (Value, Value)>> = match &value {
            Value::Missing | Value::Nil => Box::new(std::iter::empty()),
            Value::List(_, at) => {
                let list = self.machine.heap.list(*at);
                self.machine.budget.spend(list.len() * size_of::<Value>())?;
                let items: Vec<Value> = list.as_ref().clone();
                Box::new((0i64..).map(Value::Int).zip(items))
            }
            Value::Map(_, at) => {
                let entries = self.machine.heap.map(*at);
                let items: Vec<_> =
                    entries.iter().map(|(key, value)| (Value::text(key), value.clone())).collect();
                self.machine.budget.spend(items.len() * size_of::<Value>())?;
                Box::new(items.into_iter())
            }
            Value::Int(count) | Value::Int64(count) => {
                if branch.pipe.variables.len() > 1 {
                    return Err(Wrong::new("a number gives one variable to range, not two"));
                }
                let number = if matches!(value, Value::Int(_)) { Value::Int } else { Value::Int64 };
                Box::new((0..*count).map(move |at| (Value::Missing, number(at))))
            }
            other => {
                self.line = line;
                let name = type_name(&self.machine.heap, other);
                return Err(Wrong::new(format!("range cannot iterate over a value of type {name}")));
            }
        };
        let mut any = false;
        for (key, item) in items {
            any = true;
            self.line = line;
            self.iteration(branch, key, &item)?;
            let known = self.variables.len();
            let flow = self.walk(&item, &branch.then)?;
            self.variables.truncate(known);
            if flow == Flow::Break {
                break;
            }
        }
        match &branch.otherwise {
            Some(otherwise) if !any => self.walk(dot, otherwise),
            _ => Ok(Flow::On),
        }
    }

    /// Gives the variables of a range their values for one round.
    fn iteration(&mut self, branch: &Branch, key: Value, item: &Value) -> Ran<()> {
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

    fn template(&mut self, dot: &Value, line: usize, name: &str, pipe: Option<&'a Pipe>) -> Ran<()> {
        self.line = line;
        let Some(nodes) = self.tree.defined.get(name) else {
            return Err(Wrong::new(format!("template {name:?} is not defined")));
        };
        let dot = pipe.map_or(Ok(Value::Missing), |pipe| self.pipeline(dot, pipe))?;
        let outer = std::mem::replace(&mut self.variables, vec![("$".to_owned(), dot.clone())]);
        let result = self.walk(&dot, nodes);
        self.variables = outer;
        result.map(|_| ())
    }

    fn assign(&mut self, name: &str, value: Value) -> Ran<()> {
        let slot = self.variables.iter_mut().rev().find(|(known, _)| known == name);
        slot.map(|slot| slot.1 = value).ok_or_else(|| Wrong::new(format!("undefined variable {name}")))
    }

    fn pipeline(&mut self, dot: &Value, pipe: &'a Pipe) -> Ran<Value> {
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

    fn command(&mut self, dot: &Value, command: &'a Command, last: Option<Value>) -> Ran<Value> {
        let has_arguments = !command.arguments.is_empty() || last.is_some();
        let no_arguments = || {
            if has_arguments {
                Err(Wrong::new("something that is not a function is given an argument"))
            } else {
                Ok(())
            }
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
            Operand::Nil => Err(Wrong::new("nil is not a command")),
            constant => {
                no_arguments()?;
                self.operand(dot, constant)
            }
        }
    }

    /// The value of an operand that stands alone.
    fn operand(&mut self, dot: &Value, operand: &'a Operand) -> Ran<Value> {
        match operand {
            Operand::Dot => Ok(dot.clone()),
            Operand::Nil => Err(Wrong::new("nil has no fields")),
            Operand::Bool(flag) => Ok(Value::Bool(*flag)),
            Operand::Number(number) => match (number.is_float, number.float, number.int) {
                (true, Some(float), _) => Ok(Value::Float(float)),
                (_, _, Some(int)) => Ok(Value::Int(int)),
                _ => Err(Wrong::new("a number is too large")),
            },
            Operand::Text(text) => Ok(Value::text(text)),
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

    fn variable(&self, name: &str) -> Ran<Value> {
        let found = self.variables.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| Wrong::new(format!("undefined variable {name}")))
    }

    fn fields(&mut self, mut value: Value, names: &[String], has_arguments: bool) -> Ran<Value> {
        for (at, name) in names.iter().enumerate() {
            value = self.field(&value, name, has_arguments && at + 1 == names.len())?;
        }
        Ok(value)
    }

    fn field(&mut self, value: &Value, name: &str, has_arguments: bool) -> Ran<Value> {
        let found = match value {
            Value::Missing => return Ok(Value::Missing),
            Value::Nil => return Err(Wrong::new(format!("there is nothing to take .{name} of"))),
            Value::Map(_, at) => self.machine.heap.map(*at).get(name).cloned().unwrap_or(Value::Missing),
            Value::Record(at) => {
                let record = self.machine.heap.record(*at);
                let field = record.fields.iter().find(|field| field.name == name);
                let field = field.ok_or_else(|| {
                    Wrong::new(format!("there is no field {name} in type {}", record.type_name))
                })?;
                field.value.clone()
            }
            other => {
                let type_name = type_name(&self.machine.heap, other);
                return Err(Wrong::new(format!("there is no field {name} in type {type_name}")));
            }
        };
        if has_arguments {
            return Err(Wrong::new(format!("{name} is not a method but has arguments")));
        }
        Ok(found)
    }

    fn call(
        &mut self,
        dot: &Value,
        function: &'static Function,
        arguments: &'a [Operand],
        last: Option<Value>,
    ) -> Ran<Value> {
        self.machine.budget.step()?;
        let count = arguments.len() + usize::from(last.is_some());
        if !function.takes(count) {
            return Err(Wrong::new(format!("wrong number of args for {}: {count}", function.name)));
        }
        if let Call::Decides { until } = function.call {
            let mut value = Value::Missing;
            for argument in arguments {
                value = self.argument(dot, function, Parameter::Raw, argument)?;
                if self.machine.truth(&value) == until {
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
            Call::Plain(call) => call(self.machine, &values).map_err(|wrong| match wrong {
                Wrong::Cannot(message) => Wrong::Cannot(format!("{}: {message}", function.name)),
                failed @ Wrong::Failed(_) => failed,
            }),
            Call::Decides { .. } => Ok(Value::Missing),
        }
    }

    fn argument(
        &mut self,
        dot: &Value,
        function: &Function,
        wanted: Parameter,
        operand: &'a Operand,
    ) -> Ran<Value> {
        let expected = |what: &str| Err(Wrong::new(format!("{}: expected {what}", function.name)));
        match (operand, wanted) {
            (Operand::Nil, Parameter::Any) => Ok(Value::Nil),
            (Operand::Nil, Parameter::Raw) => Ok(Value::Missing),
            (Operand::Nil, Parameter::Map) => Ok(Value::Map(MapKind::Any, None)),
            (Operand::Nil, _) => expected("a value, not nil"),
            (Operand::Number(number), Parameter::Int) => {
                number.int.map_or_else(|| expected("an integer"), |int| Ok(Value::Int(int)))
            }
            (Operand::Number(number), Parameter::Float) => {
                number.float.map_or_else(|| expected("a number"), |float| Ok(Value::Float(float)))
            }
            _ => {
                let value = self.operand(dot, operand)?;
                self.conform(function, wanted, value)
            }
        }
    }

    /// The value as a parameter of this type takes it.
    fn conform(&self, function: &Function, wanted: Parameter, value: Value) -> Ran<Value> {
        let fits = match wanted {
            Parameter::Any => return Ok(value.or_nil()),
            Parameter::Raw => return Ok(value),
            Parameter::Map if matches!(value, Value::Missing) => return Ok(Value::Map(MapKind::Any, None)),
            Parameter::Map => matches!(value, Value::Map(MapKind::Any, _)),
            Parameter::Text => matches!(value, Value::Text(_)),
            Parameter::Int => matches!(value, Value::Int(_)),
            Parameter::Float => matches!(value, Value::Float(_)),
            Parameter::Bool => matches!(value, Value::Bool(_)),
        };
        if fits {
            return Ok(value);
        }
        let got = if value.is_nil() { "nothing".to_owned() } else { type_name(&self.machine.heap, &value) };
        Err(Wrong::new(format!("{}: expected {}, got {got}", function.name, wanted.name())))
    }
}
