//! What a run of templates works with.

use super::{
    execute::Execution,
    fault::{Budget, STEP, Wrong},
    parser,
    value::{Heap, Value},
};
use crate::template::random::Draws;

/// The values, the bounds and the random texts of a run.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) heap: Heap,
    pub(crate) budget: Budget,
    pub(crate) draws: Draws,
}

/// Why a template gave nothing.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not a template.
    Parse { line: usize, message: String },
    /// It could not be carried out.
    Execute { line: usize, message: String },
    /// It says so itself.
    Failed { line: usize, text: String },
}

impl Machine {
    /// A machine that draws from a seed.
    pub(crate) fn new(seed: &[u8]) -> Self {
        Self { heap: Heap::default(), budget: Budget::default(), draws: Draws::new(seed) }
    }

    /// The text that a template gives. `cluster` says whether it is one of score-k8s, which has a function more.
    pub(crate) fn render(&mut self, text: &str, root: &Value, cluster: bool) -> Result<String, Fault> {
        self.budget = Budget::default();
        let tree = parser::parse(text.trim(), cluster)
            .map_err(|fault| Fault::Parse { line: fault.line, message: fault.message })?;
        let mut execution = Execution::new(self, &tree, root);
        match execution.run(root) {
            Ok(()) => Ok(execution.out),
            Err(Wrong::Cannot(message)) => Err(Fault::Execute { line: execution.line, message }),
            Err(Wrong::Failed(text)) => Err(Fault::Failed { line: execution.line, text }),
        }
    }

    /// Takes what it costs to look at a whole value.
    pub(super) fn weigh(&mut self, value: &Value) -> Result<(), Wrong> {
        let size = self.heap.size(value, 0, self.budget.steps())?;
        self.budget.spend(size * STEP)
    }

    /// Takes what a text costs.
    pub(super) fn text(&mut self, text: String) -> Result<Value, Wrong> {
        self.budget.spend(text.len())?;
        Ok(Value::text(text))
    }

    /// Whether a value counts as true in `if`.
    pub(super) fn truth(&self, value: &Value) -> bool {
        match value {
            Value::Missing | Value::Nil => false,
            Value::Bool(flag) => *flag,
            Value::Int(int) | Value::Int64(int) => *int != 0,
            Value::Uint(int) => *int != 0,
            Value::Byte(byte) => *byte != 0,
            Value::Float(float) => *float != 0.0,
            Value::Text(text) | Value::Protocol(text) => !text.is_empty(),
            Value::List(_, at) => !self.heap.list(*at).is_empty(),
            Value::Map(_, at) => !self.heap.map(*at).is_empty(),
            Value::Time(_) | Value::Record(_) => true,
        }
    }

    /// Whether two values are the same, type and all (`reflect.DeepEqual`).
    pub(super) fn same(&mut self, a: &Value, b: &Value) -> Result<bool, Wrong> {
        self.weigh(a)?;
        self.weigh(b)?;
        Ok(same(&self.heap, a, b))
    }
}

fn same(heap: &Heap, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Missing | Value::Nil, Value::Missing | Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint(a), Value::Uint(b)) => a == b,
        (Value::Byte(a), Value::Byte(b)) => a == b,
        #[expect(clippy::float_cmp, reason = "equal is equal")]
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Text(a), Value::Text(b)) | (Value::Protocol(a), Value::Protocol(b)) => a == b,
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::List(kind_a, a), Value::List(kind_b, b)) => {
            let (a, b) = (heap.list(*a), heap.list(*b));
            kind_a == kind_b && a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(heap, a, b))
        }
        (Value::Map(kind_a, a), Value::Map(kind_b, b)) => {
            let nil = a.is_none() == b.is_none();
            let (a, b) = (heap.map(*a), heap.map(*b));
            nil && kind_a == kind_b
                && a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(heap, a, b)))
        }
        (Value::Record(a), Value::Record(b)) => {
            let (a, b) = (heap.record(*a), heap.record(*b));
            a.type_name == b.type_name
                && a.fields.iter().zip(&b.fields).all(|(a, b)| same(heap, &a.value, &b.value))
        }
        _ => false,
    }
}
