//! The functions of sprig on lists and maps.

use std::collections::BTreeMap;

use super::{
    builtin::empty,
    fault::{STEP, Wrong},
    format::type_name,
    functions::{
        Function,
        Parameter::{Any, Map, Text},
    },
    machine::Machine,
    value::{DEPTH, ListKind, MapKind, Value},
};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::variadic("list", &[Any], |machine, args| machine.list(args.to_vec())),
    Function::variadic("tuple", &[Any], |machine, args| machine.list(args.to_vec())),
    Function::fixed("append", &[Any, Any], |machine, args| {
        let mut items = machine.items(&args[0])?;
        items.push(args[1].clone());
        machine.list(items)
    }),
    Function::fixed("prepend", &[Any, Any], |machine, args| {
        let mut items = machine.items(&args[0])?;
        items.insert(0, args[1].clone());
        machine.list(items)
    }),
    Function::variadic("concat", &[Any], |machine, args| {
        let mut items = Vec::new();
        for list in args {
            items.extend(machine.items(list)?);
        }
        machine.list(items)
    }),
    Function::fixed("first", &[Any], |machine, args| {
        Ok(machine.items(&args[0])?.into_iter().next().unwrap_or(Value::Nil))
    }),
    Function::fixed("last", &[Any], |machine, args| Ok(machine.items(&args[0])?.pop().unwrap_or(Value::Nil))),
    Function::fixed("rest", &[Any], |machine, args| {
        let items = machine.items(&args[0])?;
        machine.list(items.into_iter().skip(1).collect())
    }),
    Function::fixed("initial", &[Any], |machine, args| {
        let mut items = machine.items(&args[0])?;
        items.pop();
        machine.list(items)
    }),
    Function::fixed("reverse", &[Any], |machine, args| {
        let mut items = machine.items(&args[0])?;
        items.reverse();
        machine.list(items)
    }),
    Function::fixed("has", &[Any, Any], |machine, args| {
        if args[1].is_nil() {
            return Ok(Value::Bool(false));
        }
        let items = machine.items(&args[1])?;
        machine.is_among(&items, &args[0]).map(Value::Bool)
    }),
    Function::fixed("uniq", &[Any], |machine, args| {
        let items = machine.items(&args[0])?;
        let kept = machine.distinct(items)?;
        machine.list(kept)
    }),
    Function::variadic("without", &[Any, Any], |machine, args| {
        let mut kept = Vec::new();
        for item in machine.items(&args[0])? {
            if !machine.is_among(&args[1..], &item)? {
                kept.push(item);
            }
        }
        machine.list(kept)
    }),
    Function::fixed("compact", &[Any], |machine, args| {
        let mut items = machine.items(&args[0])?;
        items.retain(|item| !empty(machine, item));
        machine.list(items)
    }),
    Function::variadic("slice", &[Any, Any], slice),
    Function::fixed("sortAlpha", &[Any], |machine, args| {
        let mut items = machine.strings(&args[0])?;
        items.sort();
        machine.texts(&items)
    }),
    Function::variadic("dict", &[Any], dict),
    Function::fixed("get", &[Map, Text], |machine, args| {
        Ok(machine.entry(&args[0], args[1].as_text()).unwrap_or_else(|| Value::text("")))
    }),
    Function::fixed("set", &[Map, Text, Any], |machine, args| {
        machine.put(&args[0], args[1].as_text(), args[2].clone())?;
        Ok(args[0].clone())
    }),
    Function::fixed("unset", &[Map, Text], |machine, args| {
        if let Value::Map(_, at @ Some(_)) = &args[0] {
            machine.heap.map_mut(*at)?.remove(args[1].as_text());
        }
        Ok(args[0].clone())
    }),
    Function::fixed("hasKey", &[Map, Text], |machine, args| {
        Ok(Value::Bool(machine.entry(&args[0], args[1].as_text()).is_some()))
    }),
    Function::variadic("keys", &[Map], |machine, args| {
        let mut keys = Vec::new();
        for map in args {
            keys.extend(machine.entries(map)?.into_keys());
        }
        machine.texts(&keys)
    }),
    Function::fixed("values", &[Map], |machine, args| {
        let values = machine.entries(&args[0])?.into_values().collect();
        machine.list(values)
    }),
    Function::variadic("pluck", &[Text, Map], |machine, args| {
        let found = args[1..].iter().filter_map(|map| machine.entry(map, args[0].as_text())).collect();
        machine.list(found)
    }),
    Function::variadic("pick", &[Map, Text], |machine, args| {
        let mut entries = machine.entries(&args[0])?;
        entries.retain(|key, _| args[1..].iter().any(|wanted| wanted.as_text() == key));
        Ok(machine.heap.new_map(MapKind::Any, entries))
    }),
    Function::variadic("omit", &[Map, Text], |machine, args| {
        let mut entries = machine.entries(&args[0])?;
        entries.retain(|key, _| !args[1..].iter().any(|unwanted| unwanted.as_text() == key));
        Ok(machine.heap.new_map(MapKind::Any, entries))
    }),
    Function::variadic("merge", &[Map, Map], |machine, args| merge_all(machine, args, false)),
    Function::variadic("mergeOverwrite", &[Map, Map], |machine, args| merge_all(machine, args, true)),
    Function::fixed("deepCopy", &[Any], |machine, args| {
        machine.weigh(&args[0])?;
        Ok(copy(machine, &args[0]))
    }),
    Function::variadic("dig", &[Any], dig),
];

impl Machine {
    fn list(&mut self, items: Vec<Value>) -> Result<Value, Wrong> {
        self.budget.spend(items.len() * size_of::<Value>() + STEP)?;
        Ok(self.heap.new_list(ListKind::Any, items))
    }

    /// The items of a list.
    fn items(&mut self, value: &Value) -> Result<Vec<Value>, Wrong> {
        match value {
            Value::List(_, at) => {
                let list = self.heap.list(*at);
                self.budget.spend(list.len() * size_of::<Value>())?;
                Ok(list.as_ref().clone())
            }
            other => Err(Wrong::new(format!("wants a list, not {}", type_name(&self.heap, other)))),
        }
    }

    fn is_among(&mut self, items: &[Value], wanted: &Value) -> Result<bool, Wrong> {
        for item in items {
            if self.same(wanted, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn distinct(&mut self, items: Vec<Value>) -> Result<Vec<Value>, Wrong> {
        let mut kept: Vec<Value> = Vec::new();
        for item in items {
            if !self.is_among(&kept, &item)? {
                kept.push(item);
            }
        }
        Ok(kept)
    }

    /// A copy of the entries of a map.
    fn entries(&mut self, map: &Value) -> Result<BTreeMap<String, Value>, Wrong> {
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

    fn put(&mut self, map: &Value, key: &str, value: Value) -> Result<(), Wrong> {
        let Value::Map(_, at) = map else { return Ok(()) };
        self.budget.spend(key.len() + STEP)?;
        self.heap.map_mut(*at)?.insert(key.to_owned(), value);
        Ok(())
    }
}

fn slice(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let items = machine.items(&args[0])?;
    let place = |at: usize, otherwise: usize| {
        args.get(at).map_or(Some(otherwise), |arg| usize::try_from(super::arithmetic::int64(arg)).ok())
    };
    let (start, end) = (place(1, 0), place(2, items.len()));
    let kept = start.zip(end).and_then(|(start, end)| items.get(start..end));
    let kept = kept.ok_or(Wrong::new("the places are outside of the list"))?.to_vec();
    machine.list(kept)
}

fn dict(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let mut entries = BTreeMap::new();
    for pair in args.chunks(2) {
        let key = machine.display(&pair[0])?;
        entries.insert(key, pair.get(1).cloned().unwrap_or_else(|| Value::text("")));
    }
    machine.budget.spend(entries.len() * size_of::<Value>() + STEP)?;
    Ok(machine.heap.new_map(MapKind::Any, entries))
}

fn dig(machine: &mut Machine, args: &[Value]) -> Result<Value, Wrong> {
    let [keys @ .., otherwise, map] = args else { return Err(Wrong::new("needs at least three arguments")) };
    if keys.is_empty() {
        return Err(Wrong::new("needs at least three arguments"));
    }
    let mut value = map.clone();
    for key in keys {
        let Value::Text(key) = key else { return Err(Wrong::new("a key is text")) };
        if !matches!(value, Value::Map(MapKind::Any, _)) {
            let name = type_name(&machine.heap, &value);
            return Err(Wrong::new(format!("looks for a key in a value of type {name}, which is no map")));
        }
        match machine.entry(&value, key) {
            Some(found) => value = found,
            None => return Ok(otherwise.clone()),
        }
    }
    Ok(value)
}

fn merge_all(machine: &mut Machine, args: &[Value], overwrites: bool) -> Result<Value, Wrong> {
    for source in &args[1..] {
        merge(machine, &args[0], source, overwrites, 0)?;
    }
    Ok(args[0].clone())
}

/// Adds what a map lacks, and what is empty in it; maps are merged, not copied.
fn merge(
    machine: &mut Machine,
    target: &Value,
    source: &Value,
    overwrites: bool,
    depth: usize,
) -> Result<(), Wrong> {
    if depth > DEPTH {
        return Err(Wrong::new("maps are nested too deep"));
    }
    for (key, new) in machine.entries(source)? {
        machine.budget.step()?;
        let old = machine.entry(target, &key);
        if new.is_nil() {
            if overwrites {
                machine.put(target, &key, new)?;
            }
            continue;
        }
        match old {
            Some(old @ Value::Map(..)) if matches!(new, Value::Map(..)) && !empty(machine, &old) => {
                merge(machine, &old, &new, overwrites, depth + 1)?;
            }
            Some(old) if !overwrites && !empty(machine, &old) => {}
            _ => machine.put(target, &key, new)?,
        }
    }
    Ok(())
}

/// A copy that shares nothing; the value was weighed.
fn copy(machine: &mut Machine, value: &Value) -> Value {
    match value {
        Value::List(kind, at) => {
            let items = machine.heap.list(*at);
            let items = items.iter().map(|item| copy(machine, item)).collect();
            machine.heap.new_list(*kind, items)
        }
        Value::Map(kind, at @ Some(_)) => {
            let entries = machine.heap.map(*at).clone();
            let entries = entries.into_iter().map(|(key, item)| (key, copy(machine, &item))).collect();
            machine.heap.new_map(*kind, entries)
        }
        other => other.clone(),
    }
}
