//! Functions on lists.

use std::cmp::Ordering;

use crate::compare::{equal, order};
use crate::eval::better;
use crate::value::{Fail, List, Val};

/// True if a function takes quadratic time.
pub(crate) fn is_quadratic(function: &str) -> bool {
    function == "sort" || function == "distinct" || function.starts_with("sets.")
}

/// True if an item is in a list. A failed comparison is an error only if no other item is equal.
pub(crate) fn contains<'a>(list: &List<'a>, item: &Val<'a>) -> Result<bool, Fail> {
    let mut problem = None;
    for known in list.iter() {
        match known.and_then(|known| equal(&known, item)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    problem.map_or(Ok(false), Err)
}

/// A function on a list.
pub(crate) fn call<'a>(function: &str, args: &[Val<'a>]) -> Result<Val<'a>, Fail> {
    match (function, args) {
        ("size", [Val::List(list)]) => Ok(Val::count(list.len())),
        ("isSorted" | "min" | "max", [Val::List(list)]) if !has_order(list)? => Err(Fail::Overload),
        ("isSorted", [Val::List(list)]) => {
            let items = list.all()?;
            let sorted =
                items.windows(2).all(|pair| !matches!(order(&pair[0], &pair[1]), Ok(Ordering::Greater)));
            Ok(Val::Bool(sorted))
        }
        ("min", [Val::List(list)]) => best(list, "min", Ordering::Less),
        ("max", [Val::List(list)]) => best(list, "max", Ordering::Greater),
        ("indexOf", [Val::List(list), item]) => Ok(place(list.iter().enumerate(), item)),
        ("lastIndexOf", [Val::List(list), item]) => {
            let mut items: Vec<_> = list.iter().enumerate().collect();
            items.reverse();
            Ok(place(items.into_iter(), item))
        }
        ("join", [Val::List(list)]) => join(list, ""),
        ("join", [Val::List(list), Val::String(separator)]) => join(list, separator),
        ("distinct", [Val::List(list)]) => distinct(list),
        ("reverse", [Val::List(list)]) => {
            let mut items = list.all()?;
            items.reverse();
            Ok(Val::list(items))
        }
        ("flatten", [Val::List(list)]) => flatten(list, 1),
        ("flatten", [Val::List(list), Val::Int(depth)]) => flatten(list, *depth),
        ("slice", [Val::List(list), Val::Int(start), Val::Int(end)]) => slice(list, *start, *end),
        ("sort", [Val::List(list)]) => sorted_by(list.all()?, list.all()?),
        ("lists.range", [Val::Int(count)]) => Ok(Val::list((0..*count).map(Val::Int).collect())),
        ("sets.contains", [Val::List(list), Val::List(part)]) => includes(list, part).map(Val::Bool),
        ("sets.equivalent", [Val::List(a), Val::List(b)]) => {
            Ok(Val::Bool(includes(a, b)? && includes(b, a)?))
        }
        ("sets.intersects", [Val::List(a), Val::List(b)]) => {
            for item in a.iter() {
                if item.and_then(|item| contains(b, &item)) == Ok(true) {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        _ => Err(Fail::Overload),
    }
}

/// True if the items are ordered, judging by the first one.
fn has_order(list: &List<'_>) -> Result<bool, Fail> {
    Ok(!matches!(
        list.get(0).transpose()?,
        Some(Val::List(_) | Val::Map(_) | Val::Null | Val::Type(_) | Val::Url(_))
    ))
}

fn best<'a>(list: &List<'a>, name: &str, wanted: Ordering) -> Result<Val<'a>, Fail> {
    let mut items = list.iter();
    let first = items.next().ok_or_else(|| Fail::error(format!("{name} called on empty list")))??;
    items.try_fold(first, |best, next| better(best, next?, wanted))
}

fn place<'a>(items: impl Iterator<Item = (usize, Result<Val<'a>, Fail>)>, wanted: &Val<'a>) -> Val<'a> {
    for (place, item) in items {
        if item.and_then(|item| equal(&item, wanted)) == Ok(true) {
            return Val::count(place);
        }
    }
    Val::Int(-1)
}

fn join<'a>(list: &List<'a>, separator: &str) -> Result<Val<'a>, Fail> {
    let mut texts = Vec::new();
    for (place, item) in list.iter().enumerate() {
        match item? {
            Val::String(text) => texts.push(text),
            _ if place == 0 => return Err(Fail::Overload),
            other => {
                return Err(Fail::error(format!("join: invalid input: {}", crate::convert::shown(&other))));
            }
        }
    }
    Ok(Val::text(texts.join(separator)))
}

fn distinct<'a>(list: &List<'a>) -> Result<Val<'a>, Fail> {
    let mut unique: Vec<Val<'a>> = Vec::new();
    for item in list.iter() {
        let item = item?;
        if !unique.iter().any(|known| equal(&item, known) == Ok(true)) {
            unique.push(item);
        }
    }
    Ok(Val::list(unique))
}

fn flatten<'a>(list: &List<'a>, depth: i64) -> Result<Val<'a>, Fail> {
    if depth < 0 {
        return Err(Fail::error("level must be non-negative"));
    }
    let mut items = list.all()?;
    for _ in 0..depth {
        if !items.iter().any(|item| matches!(item, Val::List(_))) {
            break;
        }
        let mut flat = Vec::new();
        for item in items {
            match item {
                Val::List(inner) => flat.extend(inner.all()?),
                other => flat.push(other),
            }
        }
        items = flat;
    }
    Ok(Val::list(items))
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64) -> Result<Val<'a>, Fail> {
    let problem = |what: String| Err(Fail::error(format!("cannot slice({start}, {end}), {what}")));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return problem("negative indexes not supported".to_owned());
    };
    if start > end {
        return problem("start index must be less than or equal to end index".to_owned());
    }
    if list.len() < to {
        return problem(format!("list is length {}", list.len()));
    }
    let items = list.iter().skip(from).take(to - from).collect::<Result<_, _>>()?;
    Ok(Val::list(items))
}

fn includes<'a>(list: &List<'a>, part: &List<'a>) -> Result<bool, Fail> {
    for item in part.iter() {
        if !contains(list, &item?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The items in the order of their keys.
pub(crate) fn sorted_by<'a>(items: Vec<Val<'a>>, keys: Vec<Val<'a>>) -> Result<Val<'a>, Fail> {
    let Some(first) = keys.first().map(Val::type_name) else { return Ok(Val::list(items)) };
    if matches!(first, "list" | "map" | "null_type" | "type") {
        return Err(Fail::error("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first) {
        return Err(Fail::error("list elements must have the same type"));
    }
    let mut pairs: Vec<_> = keys.into_iter().zip(items).collect();
    pairs.sort_by(|(a, _), (b, _)| order(a, b).unwrap_or(Ordering::Equal));
    Ok(Val::list(pairs.into_iter().map(|(_, item)| item).collect()))
}
