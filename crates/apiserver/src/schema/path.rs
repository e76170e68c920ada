//! Path of a value in an object. It lives on the stack while an object is walked and becomes text only for an error.

use std::fmt::Write as _;

/// Path in an object.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root(&'a str),
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl Path<'_> {
    /// Root; its text is `prefix`.
    pub(crate) fn root(prefix: &str) -> Path<'_> {
        Path { parent: None, step: Step::Root(prefix) }
    }

    /// A declared field.
    pub(crate) fn field<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// An entry of a map.
    pub(crate) fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// An item of a list.
    pub(crate) fn index(&self, index: usize) -> Path<'_> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// True for the root.
    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// `spec.ports[0].name`, `spec.labels.app`: entries of maps look like fields, with a leading dot even at the root.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    /// `spec.ports[0].name`, `spec.labels[app]`; `<nil>` for the object itself.
    pub(crate) fn bracketed(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        if out.is_empty() { "<nil>".to_owned() } else { out }
    }

    fn write(&self, out: &mut String, brackets: bool) {
        if let Some(parent) = self.parent {
            parent.write(out, brackets);
        }
        // Writing to a String cannot fail.
        let _ = match self.step {
            Step::Root(prefix) => write!(out, "{prefix}"),
            Step::Field(name) if out.is_empty() => write!(out, "{name}"),
            Step::Field(name) => write!(out, ".{name}"),
            Step::Key(key) if brackets => write!(out, "[{key}]"),
            Step::Key(key) => write!(out, ".{key}"),
            Step::Index(index) => write!(out, "[{index}]"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_two_notations() {
        let root = Path::root("");
        let spec = root.field("spec");
        let ports = spec.field("ports");
        let first = ports.index(0);
        let label = first.key("a/b");
        assert_eq!(label.dotted(), "spec.ports[0].a/b");
        assert_eq!(label.bracketed(), "spec.ports[0][a/b]");
        assert_eq!(root.key("a").dotted(), ".a");
        assert_eq!(root.bracketed(), "<nil>");
        assert_eq!(Path::root("x.default").index(1).bracketed(), "x.default[1]");
    }
}
