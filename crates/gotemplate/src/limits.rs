//! Limits of a render.

use crate::error::EvalError;

/// Limits of a render, so that no template hangs the process or exhausts its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text that a render may produce, intermediate values included. A step (an action, a call, a visited value)
    /// counts as 64 bytes.
    pub bytes: usize,
    /// Values that may be converted to JSON at once.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 * 1024 * 1024, values: 250_000 }
    }
}

/// Cost of one step, in bytes.
pub(crate) const STEP: usize = 64;

/// Rest of [`Limits::bytes`] during a render.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { left: limits.bytes }
    }

    /// Takes a cost; fails if the budget is exhausted.
    pub(crate) fn spend(&mut self, cost: usize) -> Result<(), EvalError> {
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or_else(|| {
            EvalError::new("template limit exceeded: endless loop or recursion, or too much output")
        })
    }

    /// Takes the cost of one step.
    pub(crate) fn step(&mut self) -> Result<(), EvalError> {
        self.spend(STEP)
    }

    /// Number of steps left.
    pub(crate) fn steps(&self) -> usize {
        self.left / STEP
    }
}
