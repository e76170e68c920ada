//! What stops a template.

/// What is wrong with a call or a value. The sentence never holds a value: it may be secret.
#[derive(Clone, Debug)]
pub(crate) enum Wrong {
    /// It cannot be done.
    Cannot(String),
    /// The template says so itself, with `fail`.
    Failed(String),
}

impl Wrong {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Cannot(message.into())
    }
}

/// What a template may use: bounded, so that none can hang or exhaust the platform.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
}

/// What one step costs, in bytes: an action, a call, a value that is looked at.
pub(super) const STEP: usize = 64;
/// What a template may use: so many bytes of text, or a `STEP`th of it in steps.
const LIMIT: usize = 16 * 1024 * 1024;

impl Default for Budget {
    fn default() -> Self {
        Self { left: LIMIT }
    }
}

impl Budget {
    /// Takes what something costs, or says that there is no more.
    pub(super) fn spend(&mut self, cost: usize) -> Result<(), Wrong> {
        let left = self.left.checked_sub(cost);
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or_else(|| {
            Wrong::new("the template does more than a template may: it loops, or gives too much text")
        })
    }

    /// Takes one step.
    pub(super) fn step(&mut self) -> Result<(), Wrong> {
        self.spend(STEP)
    }

    /// How many steps are left.
    pub(super) fn steps(&self) -> usize {
        self.left / STEP
    }
}
