//! JSON patch: operations on an object, in order, all or nothing.

use serde_json::Value;

use super::{
    Checks, PatchError, Patched,
    operation::{self, Operation},
};
use crate::json::{MAX_DEPTH, encode};

/// Operations in one patch.
const MAX_OPERATIONS: usize = 10_000;
/// Total bytes that the `copy` operations of a patch may create.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// Array items that a patch may shift, and values that it may visit.
const MAX_WORK: usize = 50_000_000;

/// Applies a JSON patch to an object.
pub(crate) fn json_patch(document: &Value, patch: &[u8], checks: Checks) -> Result<Patched, PatchError> {
    let (operations, notes) = operation::read(patch, checks)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::too_many_operations(operations.len(), MAX_OPERATIONS));
    }
    let mut patching = Patching { document: document.clone(), copied: 0, work: 0 };
    for operation in operations {
        patching.apply(operation).ok_or_else(PatchError::rejected)?;
    }
    let value = patching.document;
    if value.is_object() { Ok(Patched { value, notes }) } else { Err(PatchError::no_object(&value)) }
}

/// Document being patched. Errors have no message, since no response has one.
struct Patching {
    document: Value,
    copied: usize,
    work: usize,
}

impl Patching {
    fn apply(&mut self, operation: Operation) -> Option<()> {
        let Operation { op, path, from, value } = operation;
        match op?.as_str() {
            "test" => self.test(&path?, value.as_ref()),
            "add" => self.add(&path?, value.unwrap_or(Value::Null)),
            "remove" => self.remove(&path?).map(drop),
            "replace" => self.replace(&path?, value),
            "move" => {
                let value = self.remove(&from?)?;
                self.add(&path?, value)
            }
            "copy" => {
                let value = self.copy(&from?)?;
                self.add(&path?, value)
            }
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        let levels = path.matches('/').count() + self.height(&value)?;
        let (parent, key) = self.parent(path)?;
        let pushed = match parent {
            Value::Object(map) => {
                map.insert(key, value);
                0
            }
            Value::Array(list) => {
                let at = if key == "-" { list.len() } else { index(&key, list.len() + 1)? };
                list.insert(at, value);
                list.len() - at
            }
            _ => return None,
        };
        self.spend(pushed)?;
        (levels <= MAX_DEPTH).then_some(())
    }

    fn remove(&mut self, path: &str) -> Option<Value> {
        let (parent, key) = self.parent(path)?;
        match parent {
            Value::Object(map) => map.remove(&key),
            Value::Array(list) => {
                let at = index(&key, list.len())?;
                let value = list.remove(at);
                let pushed = list.len() - at;
                self.spend(pushed)?;
                Some(value)
            }
            _ => None,
        }
    }

    /// Sets a value. A field of an object may be absent, an item of an array may not.
    fn replace(&mut self, path: &str, value: Option<Value>) -> Option<()> {
        if path.is_empty() {
            self.document = value.filter(|value| value.is_object() || value.is_array())?;
            return Some(());
        }
        let value = value.unwrap_or(Value::Null);
        let levels = path.matches('/').count() + self.height(&value)?;
        let (parent, key) = self.parent(path)?;
        match parent {
            Value::Object(map) => {
                map.insert(key, value);
            }
            Value::Array(list) => {
                let at = index(&key, list.len())?;
                list[at] = value;
            }
            _ => return None,
        }
        (levels <= MAX_DEPTH).then_some(())
    }

    /// Copy of a value; null for an absent field.
    fn copy(&mut self, from: &str) -> Option<Value> {
        let value = self.get(from)?.clone();
        self.copied += encode(&value).len();
        (self.copied <= MAX_COPIED).then_some(value)
    }

    fn test(&mut self, path: &str, expected: Option<&Value>) -> Option<()> {
        let found = if path.is_empty() { &self.document } else { self.get(path)? };
        (found == expected.unwrap_or(&Value::Null)).then_some(())
    }

    /// Value at a path; null for an absent field.
    fn get(&mut self, path: &str) -> Option<&Value> {
        let (parent, key) = self.parent(path)?;
        match parent {
            Value::Object(map) => Some(map.get(&key).unwrap_or(&Value::Null)),
            Value::Array(list) => list.get(index(&key, list.len())?),
            _ => None,
        }
    }

    /// Object or array that contains the target of a path, and its key there. Text before the first `/` is ignored.
    fn parent(&mut self, path: &str) -> Option<(&mut Value, String)> {
        let mut keys = path.split('/').skip(1).map(unescaped);
        let mut key = keys.next()?;
        let mut parent = &mut self.document;
        for next in keys {
            parent = match parent {
                Value::Object(map) => map.get_mut(&key)?,
                Value::Array(list) => {
                    let at = index(&key, list.len())?;
                    list.get_mut(at)?
                }
                _ => return None,
            };
            key = next;
        }
        Some((parent, key))
    }

    /// Levels of nesting in a value.
    fn height(&mut self, value: &Value) -> Option<usize> {
        self.spend(1)?;
        match value {
            Value::Array(list) => self.tallest(list).map(|height| height + 1),
            Value::Object(map) => self.tallest(map.values()).map(|height| height + 1),
            _ => Some(0),
        }
    }

    fn tallest<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) -> Option<usize> {
        values.into_iter().try_fold(0, |tallest, value| Some(self.height(value)?.max(tallest)))
    }

    fn spend(&mut self, work: usize) -> Option<()> {
        self.work += work;
        (self.work <= MAX_WORK).then_some(())
    }
}

/// Index in an array of this length; a negative one counts from the end.
fn index(key: &str, places: usize) -> Option<usize> {
    let index: isize = key.parse().ok()?;
    let index = if index < 0 { places.checked_sub(index.unsigned_abs())? } else { index.unsigned_abs() };
    (index < places).then_some(index)
}

/// Part of a path, with `~1` for `/` and `~0` for `~`.
fn unescaped(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('~') {
        text.push_str(&rest[..at]);
        let (c, length) = match rest.as_bytes().get(at + 1) {
            Some(b'0') => ('~', 2),
            Some(b'1') => ('/', 2),
            _ => ('~', 1),
        };
        text.push(c);
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    text
}
