//! Right to run programs on this machine, which the platform decides.

use futures_util::stream::BoxStream;

/// Decision whether programs of a namespace may run.
pub trait ProgramAccess: Send + Sync {
    /// Sentence that refuses to run anything new of a namespace; none if it may run.
    fn refusal(&self, namespace: &str) -> Option<String>;

    /// An item at the start, and after each change of rights.
    fn changes(&self) -> BoxStream<'static, ()>;
}
