//! Interpreter of templates.

use crate::{
    error::{Error, ErrorKind, EvalError},
    execute::Execution,
    limits::{Budget, Limits, STEP},
    random::SeededRandom,
    template::Template,
    value::{Heap, Value},
};

/// Interpreter of several templates that share values and random numbers.
#[derive(Debug)]
pub struct Interpreter {
    /// Lists, maps and records.
    pub heap: Heap,
    pub(crate) budget: Budget,
    pub(crate) random: SeededRandom,
    limits: Limits,
}

impl Interpreter {
    /// Interpreter with the default [`Limits`].
    pub fn new(seed: &[u8]) -> Self {
        Self::with_limits(seed, Limits::default())
    }

    /// Interpreter with these limits. Each render gets the whole of [`Limits::bytes`].
    pub fn with_limits(seed: &[u8], limits: Limits) -> Self {
        Self {
            heap: Heap::new(limits.values),
            budget: Budget::new(limits),
            random: SeededRandom::new(seed),
            limits,
        }
    }

    /// Output of a template, with `root` as its dot.
    pub fn render(&mut self, template: &Template, root: &Value) -> Result<String, Error> {
        self.budget = Budget::new(self.limits);
        let mut execution = Execution::new(self, template, root);
        let (kind, message) = match execution.run(root) {
            Ok(()) => return Ok(execution.out),
            Err(EvalError::Message(message)) => (ErrorKind::Execute, message),
            Err(EvalError::Fail(message)) => (ErrorKind::Fail, message),
        };
        Err(Error { line: execution.line, kind, message })
    }

    /// Strings that `randAlphaNum`, `randAlpha` and `randNumeric` returned so far, in order. They may be secret.
    pub fn random_strings(&self) -> &[String] {
        &self.random.strings
    }

    /// String value, charged to the budget.
    pub fn string(&mut self, text: String) -> Result<Value, EvalError> {
        self.budget.spend(text.len())?;
        Ok(Value::string(text))
    }

    /// Takes the cost of visiting a whole value.
    pub(crate) fn weigh(&mut self, value: &Value) -> Result<(), EvalError> {
        let size = self.heap.size(value, 0, self.budget.steps())?;
        self.budget.spend(size * STEP)
    }

    /// Truth of a value, as in `if`.
    pub(crate) fn truth(&self, value: &Value) -> bool {
        match value {
            Value::Missing | Value::Nil => false,
            Value::Bool(flag) => *flag,
            Value::Int(int) | Value::Int64(int) => *int != 0,
            Value::Uint(int) => *int != 0,
            Value::Byte(byte) => *byte != 0,
            Value::Float(float) => *float != 0.0,
            Value::Str(text) | Value::Named(_, text) => !text.is_empty(),
            Value::List(_, at) => !self.heap.list(*at).is_empty(),
            Value::Map(_, at) => !self.heap.map(*at).is_empty(),
            Value::Time(_) | Value::Record(_) => true,
        }
    }

    /// Equality of values and their types (`reflect.DeepEqual`).
    pub(crate) fn deep_equal(&mut self, a: &Value, b: &Value) -> Result<bool, EvalError> {
        self.weigh(a)?;
        self.weigh(b)?;
        Ok(deep_equal(&self.heap, a, b))
    }
}

fn deep_equal(heap: &Heap, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Missing | Value::Nil, Value::Missing | Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint(a), Value::Uint(b)) => a == b,
        (Value::Byte(a), Value::Byte(b)) => a == b,
        #[expect(clippy::float_cmp, reason = "Go compares exactly")]
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Named(type_a, a), Value::Named(type_b, b)) => type_a == type_b && a == b,
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::List(kind_a, a), Value::List(kind_b, b)) => {
            let (a, b) = (heap.list(*a), heap.list(*b));
            let mut pairs = a.iter().zip(b.iter());
            kind_a == kind_b && a.len() == b.len() && pairs.all(|(a, b)| deep_equal(heap, a, b))
        }
        (Value::Map(kind_a, a), Value::Map(kind_b, b)) => {
            let nil = a.is_none() == b.is_none();
            let (a, b) = (heap.map(*a), heap.map(*b));
            nil && kind_a == kind_b
                && a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| deep_equal(heap, a, b)))
        }
        (Value::Record(a), Value::Record(b)) => {
            let (a, b) = (heap.record(*a), heap.record(*b));
            a.type_name == b.type_name
                && a.fields.iter().zip(&b.fields).all(|(a, b)| deep_equal(heap, &a.value, &b.value))
        }
        _ => false,
    }
}
