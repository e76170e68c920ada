//! JSON pointers (RFC 6901).

use std::fmt;

/// JSON pointer: `/containers/main/files/~1etc~1app.conf`. The root is the empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

impl Pointer {
    /// The whole document.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Pointer from a path of keys.
    pub fn of<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        keys.into_iter().fold(Self::root(), |pointer, key| pointer.key(key))
    }

    /// Child under a key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut child = String::with_capacity(self.0.len() + key.len() + 1);
        child.push_str(&self.0);
        child.push('/');
        for c in key.chars() {
            match c {
                '~' => child.push_str("~0"),
                '/' => child.push_str("~1"),
                other => child.push(other),
            }
        }
        Self(child)
    }

    /// Child at an index.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// Pointer as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Unescaped reference tokens.
    pub fn parts(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(unescape)
    }

    /// Pointer with [`readable`] keys, for messages.
    pub fn readable(&self) -> String {
        readable(&self.0)
    }

    /// Dotted path for messages: `containers.main.image`; the root is "the document".
    pub fn dotted(&self) -> String {
        let parts: Vec<_> = self.parts().collect();
        if parts.is_empty() { "the document".to_owned() } else { parts.join(".") }
    }
}

/// Pointer with quoted keys instead of `~1` and `~0`: `/containers/main/files/"/etc/app.conf"`.
pub fn readable(pointer: &str) -> String {
    let part = |part: &str| {
        if part.contains('~') { format!("\"{}\"", unescape(part)) } else { part.to_owned() }
    };
    pointer.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Path of a value during a walk, without allocation. Only diagnostics build the [`Pointer`], which matters for deep
/// documents with long keys.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The whole document.
    Root,
    /// Under a key.
    Key(&'a Self, &'a str),
    /// At an index.
    Index(&'a Self, usize),
}

impl<'a> Path<'a> {
    /// Child under a key.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Path::Key(self, key)
    }

    /// Child at an index.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        Path::Index(self, index)
    }

    /// Last key; empty at the root and in lists.
    pub fn name(&self) -> &'a str {
        match self {
            Path::Key(_, key) => key,
            _ => "",
        }
    }

    /// True for a variable of a container.
    pub(crate) fn is_variable(&self) -> bool {
        matches!(self, Path::Key(parent, _) if parent.name() == "variables")
    }

    /// JSON pointer of the value.
    pub fn pointer(&self) -> Pointer {
        match self {
            Path::Root => Pointer::root(),
            Path::Key(parent, key) => parent.pointer().key(key),
            Path::Index(parent, index) => parent.pointer().index(*index),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_tildes_round_trip() {
        let pointer = Pointer::root().key("files").key("/etc/a~b").index(0);
        assert_eq!(pointer.as_str(), "/files/~1etc~1a~0b/0");
        assert_eq!(pointer.parts().collect::<Vec<_>>(), ["files", "/etc/a~b", "0"]);
    }

    #[test]
    fn readable_pointers_quote_keys_instead_of_escaping() {
        let pointer = Pointer::of(["containers", "main", "files", "/etc/a~b", "source"]);
        assert_eq!(pointer.readable(), "/containers/main/files/\"/etc/a~b\"/source");
        assert_eq!(Pointer::of(["containers", "main", "image"]).readable(), "/containers/main/image");
        assert_eq!(Pointer::root().readable(), "");
    }

    #[test]
    fn the_root_is_the_empty_string_and_an_empty_key_is_not_the_root() {
        assert_eq!(Pointer::root().as_str(), "");
        assert_eq!(Pointer::root().key("").as_str(), "/");
        assert_eq!(Pointer::root().key("").parts().collect::<Vec<_>>(), [""]);
    }
}
