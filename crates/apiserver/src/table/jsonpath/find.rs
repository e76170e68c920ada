//! Evaluation of a path.

use std::borrow::Cow;

use serde_json::Value;

use super::compare::Operator;
use super::{End, Slice, Step};

/// Values found so far. Only constants of the path are owned.
type Found<'a> = Vec<Cow<'a, Value>>;

/// Values that one search may visit. Unions and descents multiply, so a hostile path could be endless.
const MAX_VISITED: usize = 4_000_000;

/// All values at a path.
pub(super) fn find<'a>(object: &'a Value, steps: &'a [Step]) -> Result<Found<'a>, String> {
    Search { left: MAX_VISITED }.walk(vec![Cow::Borrowed(object)], steps)
}

/// Search with a remaining budget of visits.
struct Search {
    left: usize,
}

impl Search {
    fn visit(&mut self, values: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(values).ok_or("too many values")?;
        Ok(())
    }

    /// Walks all steps, from these values on.
    fn walk<'a>(&mut self, mut found: Found<'a>, steps: &'a [Step]) -> Result<Found<'a>, String> {
        for step in steps {
            self.visit(found.len())?;
            found = self.step(found, step)?;
        }
        Ok(found)
    }

    fn step<'a>(&mut self, found: Found<'a>, step: &'a Step) -> Result<Found<'a>, String> {
        let mut out = Vec::new();
        match step {
            Step::Field(name) => out.extend(found.iter().filter_map(|value| field(value, name))),
            Step::Wildcard => {
                for value in &found {
                    let children = children(value);
                    self.visit(children.len())?;
                    out.extend(children);
                }
            }
            Step::Recursive => {
                for value in found {
                    self.descend(value, &mut out)?;
                }
            }
            Step::Slice(slice) => self.slice(&found, slice, &mut out)?,
            Step::Union(paths) => {
                for path in paths {
                    self.visit(found.len())?;
                    out.extend(self.walk(found.clone(), path)?);
                }
            }
            Step::Filter { left, test } => {
                for value in &found {
                    for item in list(value).ok_or("only a list can be filtered")? {
                        if self.passes(item, left, test.as_ref())? {
                            out.push(Cow::Borrowed(item));
                        }
                    }
                }
            }
            Step::Constant(value) => out.extend(found.iter().map(|_| Cow::Borrowed(value))),
            Step::Text(text) => out.push(Cow::Owned(Value::String(text.clone()))),
            Step::Word(word) => return Err(format!("unrecognized identifier {word}")),
        }
        Ok(out)
    }

    /// Value and all its descendants.
    fn descend<'a>(&mut self, value: Cow<'a, Value>, out: &mut Found<'a>) -> Result<(), String> {
        let inside = match &value {
            Cow::Borrowed(Value::Object(_) | Value::Array(_)) => children(&value),
            text if text.as_str().is_some_and(|text| !text.is_empty()) => {
                out.push(value);
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.visit(inside.len())?;
        if !inside.is_empty() {
            out.push(value);
        }
        inside.into_iter().try_for_each(|child| self.descend(child, out))
    }

    /// Items of lists within a range. An empty range ends the search, as on the real server.
    fn slice<'a>(&mut self, found: &Found<'a>, slice: &Slice, out: &mut Found<'a>) -> Result<(), String> {
        for value in found.iter().filter(|value| !value.is_null()) {
            let items = list(value).ok_or("only a list has an index")?;
            let Some((start, end)) = bounds(slice, items.len())? else { return Ok(()) };
            let step = match slice.step {
                None => 1,
                Some(step) => {
                    usize::try_from(step).ok().filter(|step| *step > 0).ok_or("step must be > 0")?
                }
            };
            self.visit(end - start)?;
            out.extend(items[start..end].iter().step_by(step).map(Cow::Borrowed));
        }
        Ok(())
    }

    /// True if an item passes a filter. Without a comparison, any result or error of the path passes.
    fn passes(
        &mut self,
        item: &Value,
        left: &[Step],
        test: Option<&(Operator, Vec<Step>)>,
    ) -> Result<bool, String> {
        self.visit(1)?;
        let lefts = self.walk(vec![Cow::Borrowed(item)], left);
        let Some((operator, right)) = test else { return Ok(lefts.map_or(true, |found| !found.is_empty())) };
        let Some(left) = only(lefts?)? else { return Ok(false) };
        let Some(right) = only(self.walk(vec![Cow::Borrowed(item)], right)?)? else { return Ok(false) };
        operator.holds(&left, &right)
    }
}

fn field<'a>(value: &Cow<'a, Value>, name: &str) -> Option<Cow<'a, Value>> {
    match value {
        Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
        Cow::Owned(_) => None,
    }
}

/// Direct children of a value: fields, items, or the bytes of a text.
fn children<'a>(value: &Cow<'a, Value>) -> Found<'a> {
    match value {
        Cow::Borrowed(Value::Object(fields)) => fields.values().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::String(text)) | Cow::Owned(Value::String(text)) => {
            text.bytes().map(|byte| Cow::Owned(Value::from(byte))).collect()
        }
        _ => Vec::new(),
    }
}

/// Items of a list; none if the value is not a list.
fn list<'a>(value: &Cow<'a, Value>) -> Option<&'a [Value]> {
    match value {
        Cow::Borrowed(Value::Array(items)) => Some(items),
        _ => None,
    }
}

/// The range in a list of this length; none if it is empty.
fn bounds(slice: &Slice, length: usize) -> Result<Option<(usize, usize)>, String> {
    let from_end = |position: i64| position.saturating_add(i64::try_from(length).unwrap_or(i64::MAX));
    let start = match slice.start.unwrap_or(0) {
        start if start < 0 => from_end(start),
        start => start,
    };
    let end = match slice.end {
        End::OfIndex => start.saturating_add(1),
        End::OfList => from_end(0),
        End::At(end) if end < 0 => from_end(end),
        End::At(end) => end,
    };
    if start == end {
        return Ok(None);
    }
    let out_of_bounds = |index: i64| format!("array index out of bounds: index {index}, length {length}");
    let first = usize::try_from(start).ok().filter(|first| *first < length);
    let last = usize::try_from(end).ok().filter(|last| *last <= length);
    match (first, last) {
        (None, _) => Err(out_of_bounds(start)),
        (_, None) => Err(out_of_bounds(end.saturating_sub(1))),
        (Some(first), Some(last)) if first > last => {
            Err(format!("starting index {first} is greater than ending index {last}"))
        }
        (Some(first), Some(last)) => Ok(Some((first, last))),
    }
}

fn only(mut found: Found<'_>) -> Result<Option<Cow<'_, Value>>, String> {
    if found.len() > 1 {
        return Err("can only compare one element at a time".to_owned());
    }
    Ok(found.pop())
}
