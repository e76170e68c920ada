//! Sprig's functions on lists and maps.

use std::collections::BTreeMap;

use super::{
    Function,
    Parameter::{Any, Map, Str},
    arithmetic::int64,
    builtin::is_empty,
};
use crate::{
    error::EvalError,
    format::type_name,
    interpreter::Interpreter,
    limits::STEP,
    value::{ListKind, MAX_VALUE_DEPTH, MapKind, Value},
};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::variadic("list", &[Any], |interp, args| interp.list(args.to_vec())),
    Function::variadic("tuple", &[Any], |interp, args| interp.list(args.to_vec())),
    Function::fixed("append", &[Any, Any], |interp, args| {
        let mut items = interp.items(&args[0])?;
        items.push(args[1].clone());
        interp.list(items)
    }),
    Function::fixed("prepend", &[Any, Any], |interp, args| {
        let mut items = interp.items(&args[0])?;
        items.insert(0, args[1].clone());
        interp.list(items)
    }),
    Function::variadic("concat", &[Any], |interp, args| {
        let mut items = Vec::new();
        for list in args {
            items.extend(interp.items(list)?);
        }
        interp.list(items)
    }),
    Function::fixed("first", &[Any], |interp, args| {
        Ok(interp.items(&args[0])?.into_iter().next().unwrap_or(Value::Nil))
    }),
    Function::fixed("last", &[Any], |interp, args| Ok(interp.items(&args[0])?.pop().unwrap_or(Value::Nil))),
    Function::fixed("rest", &[Any], |interp, args| {
        let items = interp.items(&args[0])?;
        interp.list(items.into_iter().skip(1).collect())
    }),
    Function::fixed("initial", &[Any], |interp, args| {
        let mut items = interp.items(&args[0])?;
        items.pop();
        interp.list(items)
    }),
    Function::fixed("reverse", &[Any], |interp, args| {
        let mut items = interp.items(&args[0])?;
        items.reverse();
        interp.list(items)
    }),
    Function::fixed("has", &[Any, Any], |interp, args| {
        if args[1].is_nil() {
            return Ok(Value::Bool(false));
        }
        let items = interp.items(&args[1])?;
        interp.contains(&items, &args[0]).map(Value::Bool)
    }),
    Function::fixed("uniq", &[Any], |interp, args| {
        let items = interp.items(&args[0])?;
        let kept = interp.distinct(items)?;
        interp.list(kept)
    }),
    Function::variadic("without", &[Any, Any], |interp, args| {
        let mut kept = Vec::new();
        for item in interp.items(&args[0])? {
            if !interp.contains(&args[1..], &item)? {
                kept.push(item);
            }
        }
        interp.list(kept)
    }),
    Function::fixed("compact", &[Any], |interp, args| {
        let mut items = interp.items(&args[0])?;
        items.retain(|item| !is_empty(interp, item));
        interp.list(items)
    }),
    Function::variadic("slice", &[Any, Any], slice),
    Function::fixed("sortAlpha", &[Any], |interp, args| {
        let mut items = interp.print_items(&args[0])?;
        items.sort();
        interp.string_list(&items)
    }),
    Function::variadic("dict", &[Any], dict),
    Function::fixed("get", &[Map, Str], |interp, args| {
        Ok(interp.entry(&args[0], args[1].as_str()).unwrap_or_else(|| Value::string("")))
    }),
    Function::fixed("set", &[Map, Str, Any], |interp, args| {
        interp.put(&args[0], args[1].as_str(), args[2].clone())?;
        Ok(args[0].clone())
    }),
    Function::fixed("unset", &[Map, Str], |interp, args| {
        if let Value::Map(_, at @ Some(_)) = &args[0] {
            interp.heap.map_mut(*at)?.remove(args[1].as_str());
        }
        Ok(args[0].clone())
    }),
    Function::fixed("hasKey", &[Map, Str], |interp, args| {
        Ok(Value::Bool(interp.entry(&args[0], args[1].as_str()).is_some()))
    }),
    Function::variadic("keys", &[Map], |interp, args| {
        let mut keys = Vec::new();
        for map in args {
            keys.extend(interp.entries(map)?.into_keys());
        }
        interp.string_list(&keys)
    }),
    Function::fixed("values", &[Map], |interp, args| {
        let values = interp.entries(&args[0])?.into_values().collect();
        interp.list(values)
    }),
    Function::variadic("pluck", &[Str, Map], |interp, args| {
        let found = args[1..].iter().filter_map(|map| interp.entry(map, args[0].as_str())).collect();
        interp.list(found)
    }),
    Function::variadic("pick", &[Map, Str], |interp, args| {
        let mut entries = interp.entries(&args[0])?;
        entries.retain(|key, _| args[1..].iter().any(|wanted| wanted.as_str() == key));
        Ok(interp.heap.new_map(MapKind::Any, entries))
    }),
    Function::variadic("omit", &[Map, Str], |interp, args| {
        let mut entries = interp.entries(&args[0])?;
        entries.retain(|key, _| !args[1..].iter().any(|unwanted| unwanted.as_str() == key));
        Ok(interp.heap.new_map(MapKind::Any, entries))
    }),
    Function::variadic("merge", &[Map, Map], |interp, args| merge_all(interp, args, false)),
    Function::variadic("mergeOverwrite", &[Map, Map], |interp, args| merge_all(interp, args, true)),
    Function::fixed("deepCopy", &[Any], |interp, args| {
        interp.weigh(&args[0])?;
        Ok(copy(interp, &args[0]))
    }),
    Function::variadic("dig", &[Any], dig),
];

impl Interpreter {
    fn list(&mut self, items: Vec<Value>) -> Result<Value, EvalError> {
        self.budget.spend(items.len() * size_of::<Value>() + STEP)?;
        Ok(self.heap.new_list(ListKind::Any, items))
    }

    /// Copy of the items of a list.
    fn items(&mut self, value: &Value) -> Result<Vec<Value>, EvalError> {
        match value {
            Value::List(_, at) => {
                let list = self.heap.list(*at);
                self.budget.spend(list.len() * size_of::<Value>())?;
                Ok(list.as_ref().clone())
            }
            other => Err(EvalError::new(format!("expected a list, got {}", type_name(&self.heap, other)))),
        }
    }

    fn contains(&mut self, items: &[Value], wanted: &Value) -> Result<bool, EvalError> {
        for item in items {
            if self.deep_equal(wanted, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn distinct(&mut self, items: Vec<Value>) -> Result<Vec<Value>, EvalError> {
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            if !self.contains(&kept, &item)? {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    /// Copy of the entries of a map.
    fn entries(&mut self, map: &Value) -> Result<BTreeMap<String, Value>, EvalError> {
        let Value::Map(_, at) = map else { return Ok(BTreeMap::new()) };
        let entries = self.heap.map(*at);
        let cost = entries.keys().map(|key| key.len() + size_of::<Value>()).sum();
        let entries = entries.clone();
        self.budget.spend(cost)?;
        Ok(entries)
    }

    fn entry(&self, map: &Value, key: &str) -> Option<Value> {
        let Value::Map(_, at) = map else { return None };
        self.heap.map(*at).get(key).cloned()
    }

    fn put(&mut self, map: &Value, key: &str, value: Value) -> Result<(), EvalError> {
        let Value::Map(_, at) = map else { return Ok(()) };
        self.budget.spend(key.len() + STEP)?;
        self.heap.map_mut(*at)?.insert(key.to_owned(), value);
        Ok(())
    }
}

fn slice(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let items = interp.items(&args[0])?;
    let bound = |at: usize, default: usize| {
        args.get(at).map_or(Some(default), |arg| usize::try_from(int64(arg)).ok())
    };
    let (start, end) = (bound(1, 0), bound(2, items.len()));
    let kept = start.zip(end).and_then(|(start, end)| items.get(start..end));
    let kept = kept.ok_or(EvalError::new("slice bounds out of range"))?.to_vec();
    interp.list(kept)
}

fn dict(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let mut entries = BTreeMap::new();
    for pair in args.chunks(2) {
        let key = interp.display(&pair[0])?;
        entries.insert(key, pair.get(1).cloned().unwrap_or_else(|| Value::string("")));
    }
    interp.budget.spend(entries.len() * size_of::<Value>() + STEP)?;
    Ok(interp.heap.new_map(MapKind::Any, entries))
}

fn dig(interp: &mut Interpreter, args: &[Value]) -> Result<Value, EvalError> {
    let [keys @ .., otherwise, map] = args else {
        return Err(EvalError::new("needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(EvalError::new("needs at least three arguments"));
    }
    let mut value = map.clone();
    for key in keys {
        let Value::Str(key) = key else { return Err(EvalError::new("key is not a string")) };
        if !matches!(value, Value::Map(MapKind::Any, _)) {
            let name = type_name(&interp.heap, &value);
            return Err(EvalError::new(format!("expected a map, got {name}")));
        }
        match interp.entry(&value, key) {
            Some(found) => value = found,
            None => return Ok(otherwise.clone()),
        }
    }
    Ok(value)
}

fn merge_all(interp: &mut Interpreter, args: &[Value], overwrites: bool) -> Result<Value, EvalError> {
    for source in &args[1..] {
        merge(interp, &args[0], source, overwrites, 0)?;
    }
    Ok(args[0].clone())
}

/// Sets keys that are missing or empty in the target; `overwrites` sets all. Nested maps are merged.
fn merge(
    interp: &mut Interpreter,
    target: &Value,
    source: &Value,
    overwrites: bool,
    depth: usize,
) -> Result<(), EvalError> {
    if depth > MAX_VALUE_DEPTH {
        return Err(EvalError::new("maps are nested too deeply"));
    }
    for (key, new) in interp.entries(source)? {
        interp.budget.step()?;
        let old = interp.entry(target, &key);
        if new.is_nil() {
            if overwrites {
                interp.put(target, &key, new)?;
            }
            continue;
        }
        match old {
            Some(old @ Value::Map(..)) if matches!(new, Value::Map(..)) && !is_empty(interp, &old) => {
                merge(interp, &old, &new, overwrites, depth + 1)?;
            }
            Some(old) if !overwrites && !is_empty(interp, &old) => {}
            _ => interp.put(target, &key, new)?,
        }
    }
    Ok(())
}

/// Deep copy of a value that was weighed.
fn copy(interp: &mut Interpreter, value: &Value) -> Value {
    match value {
        Value::List(kind, at) => {
            let items = interp.heap.list(*at);
            let items = items.iter().map(|item| copy(interp, item)).collect();
            interp.heap.new_list(*kind, items)
        }
        Value::Map(kind, at @ Some(_)) => {
            let entries = interp.heap.map(*at).clone();
            let entries = entries.into_iter().map(|(key, item)| (key, copy(interp, &item))).collect();
            interp.heap.new_map(*kind, entries)
        }
        other => other.clone(),
    }
}
