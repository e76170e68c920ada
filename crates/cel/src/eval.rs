//! Evaluator of a checked expression.

use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

use crate::compare::{equal, merged, order};
use crate::syntax::{Call, Expr, Fold, Kind, Walk};
use crate::value::{Fail, Identity, Items, List, Map, Val};
use crate::{convert, format, lists, strings};

/// Remaining cost of evaluations. Costs are those of the real server, less exactly; the limits are twice as high, so
/// that everything the real server accepts is accepted here.
pub(crate) struct Budget {
    object: Cell<u64>,
    rule: Cell<u64>,
}

impl Budget {
    const OBJECT: u64 = 20_000_000;
    const RULE: u64 = 2_000_000;

    /// The budget for the rules of one object.
    pub(crate) fn new() -> Self {
        Self { object: Cell::new(Self::OBJECT), rule: Cell::new(Self::RULE) }
    }

    /// Starts the next rule.
    pub(crate) fn next_rule(&self) {
        self.rule.set(Self::RULE);
    }

    /// True if the budget of the object is exhausted.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.object.get() == 0
    }

    pub(crate) fn spend(&self, cost: usize) -> Result<(), Fail> {
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        self.object.set(self.object.get().saturating_sub(cost));
        self.rule.set(self.rule.get().saturating_sub(cost));
        if self.object.get() == 0 || self.rule.get() == 0 { Err(Fail::Budget) } else { Ok(()) }
    }
}

/// Evaluates an expression with `self` and `oldSelf`.
pub(crate) fn evaluate<'a>(
    expr: &'a Expr,
    this: Val<'a>,
    old: Option<Val<'a>>,
    budget: &Budget,
) -> Result<Val<'a>, Fail> {
    let mut variables = vec![("self", this)];
    variables.extend(old.map(|old| ("oldSelf", old)));
    Evaluator { variables, budget }.eval(expr)
}

struct Evaluator<'a, 'b> {
    variables: Vec<(&'a str, Val<'a>)>,
    budget: &'b Budget,
}

impl<'a> Evaluator<'a, '_> {
    fn eval(&mut self, expr: &'a Expr) -> Result<Val<'a>, Fail> {
        match &expr.kind {
            Kind::Literal(literal) => Ok(Val::literal(literal)),
            Kind::Ident(name) => self.variable(name),
            Kind::Select { operand, field } => {
                let operand = self.eval(operand)?;
                self.budget.spend(1)?;
                select(&operand, field)?.ok_or_else(|| Fail::error(format!("no such key: {field}")))
            }
            Kind::Has { operand, field } => {
                let operand = self.eval(operand)?;
                Ok(Val::Bool(select(&operand, field)?.is_some()))
            }
            Kind::Call(call) => self.call(call),
            Kind::List(items) => {
                self.budget.spend(10)?;
                let items = items.iter().map(|item| self.eval(item)).collect::<Result<_, _>>()?;
                Ok(Val::list(items))
            }
            Kind::Map(entries) => self.map(entries),
            Kind::And(terms) => self.logical(terms, false),
            Kind::Or(terms) => self.logical(terms, true),
            Kind::Fold(fold) => self.fold(fold),
            Kind::Sum { list, zero } => {
                let list = self.eval(list)?;
                self.sum(&list, Val::literal(zero)).map_err(|fail| match fail {
                    Fail::Overload => Fail::no_such_overload(),
                    other => other,
                })
            }
        }
    }

    /// Sum of a list; it starts from the zero of the type of the first item.
    fn sum(&mut self, list: &Val<'a>, zero: Val<'a>) -> Result<Val<'a>, Fail> {
        let Val::List(items) = list else { return Err(no_such_overload("sum", std::slice::from_ref(list))) };
        self.budget.spend(items.len())?;
        let start = match items.get(0).transpose()? {
            None => zero,
            Some(Val::Int(_)) => Val::Int(0),
            Some(Val::Uint(_)) => Val::Uint(0),
            Some(Val::Double(_)) => Val::Double(0.0),
            Some(Val::Duration(_)) => Val::Duration(0),
            Some(_) => return Err(no_such_overload("sum", std::slice::from_ref(list))),
        };
        items.iter().try_fold(start, |sum, item| add(&sum, &item?))
    }

    fn variable(&mut self, name: &str) -> Result<Val<'a>, Fail> {
        self.budget.spend(1)?;
        let found = self.variables.iter().rev().find(|(known, _)| *known == name);
        found
            .map(|(_, value)| value.clone())
            .ok_or_else(|| Fail::error(format!("no such attribute(s): {name}")))
    }

    fn map(&mut self, entries: &'a [(Expr, Expr)]) -> Result<Val<'a>, Fail> {
        self.budget.spend(30)?;
        let mut made: Vec<(Val<'a>, Val<'a>)> = Vec::new();
        for (key, value) in entries {
            let (key, value) = (self.eval(key)?, self.eval(value)?);
            match made.iter_mut().find(|(known, _)| crate::compare::same_scalar(known, &key)) {
                Some(entry) => entry.1 = value,
                None => made.push((key, value)),
            }
        }
        Ok(Val::Map(Map::Made(Rc::new(made))))
    }

    /// `&&` and `||`: one term may decide, regardless of errors in the others.
    fn logical(&mut self, terms: &'a [Expr], decides: bool) -> Result<Val<'a>, Fail> {
        let mut problem = None;
        for term in terms {
            match self.eval(term) {
                Ok(Val::Bool(value)) if value == decides => return Ok(Val::Bool(decides)),
                Ok(Val::Bool(_)) => {}
                Err(error @ Fail::Error(_)) => problem = problem.or(Some(error)),
                Err(fatal) => return Err(fatal),
                Ok(_) => problem = problem.or_else(|| Some(Fail::no_such_overload())),
            }
        }
        problem.map_or(Ok(Val::Bool(!decides)), Err)
    }

    fn fold(&mut self, fold: &'a Fold) -> Result<Val<'a>, Fail> {
        let range = match self.eval(&fold.range) {
            Ok(Val::List(list)) => list,
            Ok(Val::Map(map)) => {
                List { items: Items::Made(Rc::new(map.keys())), identity: Identity::Computed }
            }
            Ok(other) => {
                let found = other.type_name();
                return Err(Fail::error(format!("got '{found}', expected iterable type")));
            }
            Err(Fail::Error(_)) if fold.walk == Walk::SortBy => {
                return Err(Fail::Internal("internal error: the list of sortBy is an error".to_owned()));
            }
            Err(fail) => return Err(fail),
        };
        match fold.walk {
            Walk::All | Walk::Exists => self.quantifier(fold, &range),
            Walk::SortBy => {
                let keys = self.results(fold, &range)?;
                self.budget.spend(range.len().saturating_mul(range.len()))?;
                lists::sorted_by(range.all()?, keys)
            }
            Walk::ExistsOne => Ok(Val::Bool(self.results(fold, &range)?.len() == 1)),
            Walk::Filter | Walk::Map => Ok(Val::list(self.results(fold, &range)?)),
        }
    }

    /// Evaluates an expression for an item.
    fn with_item(&mut self, fold: &'a Fold, item: Val<'a>, expr: &'a Expr) -> Result<Val<'a>, Fail> {
        self.budget.spend(1)?;
        self.variables.push((&fold.item, item));
        let result = self.eval(expr);
        self.variables.pop();
        result
    }

    fn quantifier(&mut self, fold: &'a Fold, range: &List<'a>) -> Result<Val<'a>, Fail> {
        let decides = fold.walk == Walk::Exists;
        let mut problem = None;
        for item in range.iter() {
            let result = item.and_then(|item| self.with_item(fold, item, &fold.body));
            match result {
                Ok(Val::Bool(value)) if value == decides => return Ok(Val::Bool(decides)),
                Ok(Val::Bool(_)) => {}
                Err(error @ Fail::Error(_)) => problem = problem.or(Some(error)),
                Err(fatal) => return Err(fatal),
                Ok(_) => problem = problem.or_else(|| Some(Fail::no_such_overload())),
            }
        }
        problem.map_or(Ok(Val::Bool(!decides)), Err)
    }

    /// Accumulator of a macro. An error of a condition replaces an earlier one, an error of a result does not.
    fn results(&mut self, fold: &'a Fold, range: &List<'a>) -> Result<Vec<Val<'a>>, Fail> {
        let condition = match fold.walk {
            Walk::Filter | Walk::ExistsOne => Some(&fold.body),
            _ => fold.when.as_ref(),
        };
        let mut results = Ok(Vec::new());
        for item in range.iter() {
            let item = item?;
            let counts = match condition.map(|condition| self.with_item(fold, item.clone(), condition)) {
                None | Some(Ok(Val::Bool(true))) => true,
                Some(Ok(Val::Bool(false))) => false,
                Some(Err(error @ Fail::Error(_))) => {
                    results = Err(error);
                    false
                }
                Some(Err(fatal)) => return Err(fatal),
                Some(Ok(_)) => {
                    results = Err(Fail::no_such_overload());
                    false
                }
            };
            if !counts || results.is_err() {
                continue;
            }
            let result = match fold.walk {
                Walk::Filter | Walk::ExistsOne => Ok(item),
                _ => self.with_item(fold, item, &fold.body),
            };
            match (result, &mut results) {
                (Ok(result), Ok(results)) => results.push(result),
                (Err(error @ Fail::Error(_)), _) => results = Err(error),
                (Err(fatal), _) => return Err(fatal),
                (Ok(_), Err(_)) => {}
            }
        }
        results
    }

    fn call(&mut self, call: &'a Call) -> Result<Val<'a>, Fail> {
        if let ("_?_:_", [condition, then, otherwise]) = (call.function.as_str(), call.args.as_slice()) {
            return match self.eval(condition)? {
                Val::Bool(true) => self.eval(then),
                Val::Bool(false) => self.eval(otherwise),
                _ => Err(Fail::no_such_overload()),
            };
        }
        let args: Vec<Val<'a>> = call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .map(|arg| self.eval(arg))
            .collect::<Result<_, _>>()?;
        let read: usize =
            args.iter().map(|arg| if let Val::String(text) = arg { text.len() } else { 0 }).sum();
        self.budget.spend(1 + read / 10)?;
        self.apply(call, &args).map_err(|fail| match fail {
            Fail::Overload => no_such_overload(&call.function, &args),
            other => other,
        })
    }

    fn apply(&mut self, call: &'a Call, args: &[Val<'a>]) -> Result<Val<'a>, Fail> {
        match (call.function.as_str(), args) {
            ("!_", [Val::Bool(value)]) => Ok(Val::Bool(!value)),
            ("_==_", [left, right]) => equal(left, right).map(Val::Bool),
            ("_!=_", [left, right]) => equal(left, right).map(|same| Val::Bool(!same)),
            ("_<_", [left, right]) => Ok(Val::Bool(order(left, right)?.is_lt())),
            ("_<=_", [left, right]) => Ok(Val::Bool(order(left, right)?.is_le())),
            ("_>_", [left, right]) => Ok(Val::Bool(order(left, right)?.is_gt())),
            ("_>=_", [left, right]) => Ok(Val::Bool(order(left, right)?.is_ge())),
            ("_+_", [left, right]) => {
                if let (Val::List(left), Val::List(right)) = (left, right) {
                    self.budget.spend((left.len() + right.len()) / 10)?;
                }
                add(left, right)
            }
            ("_[_]", [from, index]) => index_of(from, index),
            ("@in", [item, Val::List(list)]) => {
                self.budget.spend(list.len())?;
                lists::contains(list, item).map(Val::Bool)
            }
            ("@in", [key, Val::Map(map)]) => Ok(Val::Bool(map.get(key)?.is_some())),
            ("dyn", [value]) => Ok(value.clone()),
            ("type", [value]) => Ok(Val::Type(value.type_name())),
            ("matches" | "find" | "findAll", [Val::String(text), Val::String(pattern), ..]) => {
                self.budget.spend((text.len() / 10 + 1).saturating_mul(pattern.len() / 4 + 1))?;
                let compiled = match &call.pattern {
                    Some(compiled) => compiled.clone(),
                    None => orchestra_re2::compile(pattern).map_err(|problem| {
                        let intro = if call.function == "matches" { "" } else { "Illegal regex: " };
                        Fail::error(format!("{intro}{problem}"))
                    })?,
                };
                strings::search(&call.function, &compiled, text, args.get(2))
            }
            ("format", [Val::String(text), Val::List(list)]) => {
                format::format(text, &list.all()?).map(Val::text)
            }
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_" | "-_", _) => convert::arithmetic(&call.function, args),
            (_, [Val::List(list), ..]) if lists::is_quadratic(&call.function) => {
                let other = if let Some(Val::List(other)) = args.get(1) { other.len() } else { list.len() };
                self.budget.spend(list.len().saturating_mul(other).saturating_mul(2))?;
                lists::call(&call.function, args)
            }
            ("lists.range", [Val::Int(count)]) => {
                self.budget.spend(usize::try_from(*count).unwrap_or(0))?;
                lists::call(&call.function, args)
            }
            (_, [Val::List(list), ..]) => {
                self.budget.spend(list.len())?;
                lists::call(&call.function, args)
            }
            (_, [Val::Map(map)]) if call.function == "size" => Ok(Val::count(map.len())),
            _ => convert::call(&call.function, args)
                .or_else(|| strings::call(&call.function, args))
                .unwrap_or(Err(Fail::Overload)),
        }
    }
}

/// Field of an object or value of a map, if present.
fn select<'a>(operand: &Val<'a>, field: &str) -> Result<Option<Val<'a>>, Fail> {
    match operand {
        Val::Map(map) => map.get(&Val::text(field)),
        Val::List(_) => Err(Fail::error("unsupported index type 'string' in list")),
        _ => Ok(None),
    }
}

fn index_of<'a>(from: &Val<'a>, index: &Val<'a>) -> Result<Val<'a>, Fail> {
    match from {
        Val::Map(map) => {
            map.get(index)?.ok_or_else(|| Fail::error(format!("no such key: {}", convert::shown(index))))
        }
        Val::List(list) => {
            let place = match index {
                Val::Int(place) => usize::try_from(*place).ok(),
                Val::Uint(place) => usize::try_from(*place).ok(),
                Val::Double(place) if place.fract() == 0.0 => place.to_string().parse().ok(),
                _ => {
                    return Err(Fail::error(format!(
                        "unsupported index type '{}' in list",
                        index.type_name()
                    )));
                }
            };
            let out_of_bounds =
                || Err(Fail::error(format!("index out of bounds: {}", convert::shown(index))));
            place.and_then(|place| list.get(place)).unwrap_or_else(out_of_bounds)
        }
        _ => Err(Fail::error(format!("no such key: {}", convert::shown(index)))),
    }
}

/// Error of a call whose arguments match no signature. Its detail depends on how the real server dispatches the
/// function.
fn no_such_overload(function: &str, args: &[Val<'_>]) -> Fail {
    let names: Vec<&str> = args.iter().map(Val::type_name).collect();
    let first = names.first().copied().unwrap_or_default();
    let operands: &[&str] = match function {
        "_+_" => &["int", "uint", "double", "string", "bytes", "list", TIMESTAMP, DURATION],
        "_-_" => &["int", "uint", "double", TIMESTAMP, DURATION],
        "_*_" | "_/_" => &["int", "uint", "double"],
        "_%_" => &["int", "uint"],
        "-_" => &["bool", "int", "double"],
        "_<_" | "_<=_" | "_>_" | "_>=_" => {
            &["bool", "int", "uint", "double", "string", "bytes", TIMESTAMP, DURATION]
        }
        "!_" | "@in" | "_==_" | "_!=_" | "_[_]" | "contains" | "startsWith" | "endsWith" | "matches"
        | "find" | "findAll" => return Fail::no_such_overload(),
        "size" | "sort" => &[],
        "distinct" => {
            let found = args.first().map_or("", Val::type_name);
            return Fail::Internal(format!("internal error: {found} is not a list"));
        }
        "flatten" => {
            return Fail::error(format!("no such overload: {first}.flatten({})", names[1..].join(", ")));
        }
        _ => return Fail::error(format!("no such overload: {function}({})", names.join(", "))),
    };
    let receives_calls = [TIMESTAMP, DURATION, "string"].contains(&first) && !operands.is_empty();
    if receives_calls || operands.contains(&first) {
        Fail::no_such_overload()
    } else {
        Fail::error(format!("no such overload: {function}"))
    }
}

const TIMESTAMP: &str = "google.protobuf.Timestamp";
const DURATION: &str = "google.protobuf.Duration";

/// `left + right`
pub(crate) fn add<'a>(left: &Val<'a>, right: &Val<'a>) -> Result<Val<'a>, Fail> {
    match (left, right) {
        (Val::List(left), Val::List(right)) => {
            let items = Items::Made(Rc::new(merged(left, right)?));
            Ok(Val::List(List { items, identity: left.identity }))
        }
        _ => convert::arithmetic("_+_", &[left.clone(), right.clone()]),
    }
}

/// The greater or the lesser of two values.
pub(crate) fn better<'a>(best: Val<'a>, next: Val<'a>, wanted: Ordering) -> Result<Val<'a>, Fail> {
    Ok(if order(&next, &best)? == wanted { next } else { best })
}
