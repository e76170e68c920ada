//! Type checker: every name is declared, every field defined, every call fits a signature.

use std::rc::Rc;

use crate::functions::{self, Function};
use crate::syntax::{Call, Expr, Fold, Issue, Kind, Literal, Walk};
use crate::types::{Findings, Type};

/// An expression that passed the checks.
pub(crate) struct Checked<'s> {
    /// The type of the result.
    pub(crate) result: Type<'s>,
    /// The type of every node, by its number.
    pub(crate) types: Vec<Type<'s>>,
    /// True if it reads `oldSelf`.
    pub(crate) uses_old_self: bool,
    /// True if it uses an object as a `dyn` value.
    pub(crate) object_as_any: bool,
}

/// Checks an expression in which `self` and `oldSelf` are of a type, and resolves names of types and functions.
pub(crate) fn check<'s>(expr: &mut Expr, this: &Type<'s>) -> Result<Checked<'s>, Vec<Issue>> {
    let scope = vec![("self".to_owned(), this.clone()), ("oldSelf".to_owned(), this.clone())];
    let mut checker = Checker {
        scope,
        findings: Findings::default(),
        types: Vec::new(),
        issues: Vec::new(),
        uses_old_self: false,
    };
    let result = checker.check(expr);
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    let final_type = |of: &Type<'s>| checker.findings.resolved(of, Some(&Type::Dyn));
    Ok(Checked {
        result: final_type(&result),
        types: checker.types.iter().map(final_type).collect(),
        uses_old_self: checker.uses_old_self,
        object_as_any: checker.findings.object_as_any,
    })
}

struct Checker<'s> {
    scope: Vec<(String, Type<'s>)>,
    findings: Findings<'s>,
    types: Vec<Type<'s>>,
    issues: Vec<Issue>,
    uses_old_self: bool,
}

impl<'s> Checker<'s> {
    fn check(&mut self, expr: &mut Expr) -> Type<'s> {
        let (at, id) = (expr.at, expr.id);
        if let Some(literal) = type_name(expr).filter(|_| !self.is_variable(expr)) {
            expr.kind = Kind::Literal(literal);
        }
        let found = match &mut expr.kind {
            Kind::Literal(literal) => type_of(literal),
            Kind::Ident(name) => self.variable(name, at),
            Kind::Select { operand, field } => {
                let operand = self.check(operand);
                self.field(&operand, field, at)
            }
            Kind::Has { operand, field } => {
                let operand = self.check(operand);
                self.field(&operand, field, at);
                Type::Bool
            }
            Kind::Call(call) => self.call(call, at),
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::And(terms) | Kind::Or(terms) => self.logical(terms),
            Kind::Fold(fold) => self.fold(fold, at),
            Kind::Sum { list, .. } => self.check(list),
        };
        resolve_sum(expr, &self.findings.resolved(&found, None));
        if self.types.len() <= id {
            self.types.resize(id + 1, Type::Error);
        }
        self.types[id] = found.clone();
        found
    }

    fn issue(&mut self, at: usize, message: String) -> Type<'s> {
        self.issues.push(Issue::new(at, message));
        Type::Error
    }

    fn is_variable(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, Kind::Ident(name) if self.scope.iter().any(|(known, _)| known == name))
    }

    fn variable(&mut self, name: &str, at: usize) -> Type<'s> {
        match self.scope.iter().enumerate().rev().find(|(_, (known, _))| known == name) {
            Some((place, (_, found))) => {
                self.uses_old_self |= place == 1;
                found.clone()
            }
            None => self.undeclared(name, at),
        }
    }

    fn undeclared(&mut self, name: &str, at: usize) -> Type<'s> {
        self.issue(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn field(&mut self, operand: &Type<'s>, field: &str, at: usize) -> Type<'s> {
        match self.findings.resolved(operand, None) {
            Type::Map(_, value) => value.as_ref().clone(),
            Type::Object(object) => match object.field(field) {
                Some(found) => found,
                None => self.issue(at, format!("undefined field '{field}'")),
            },
            unknown @ Type::Unknown(_) => {
                self.findings.assign(&[Type::Dyn], &[unknown]);
                Type::Dyn
            }
            open if open.is_open() => Type::Dyn,
            Type::Url => self.issue(at, format!("unexpected failed resolution of '{}'", Type::Url)),
            other => {
                self.issue(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        }
    }

    fn call(&mut self, call: &mut Call, at: usize) -> Type<'s> {
        let mut args: Vec<Type<'s>> = call.args.iter_mut().map(|arg| self.check(arg)).collect();
        let qualified = call.target.as_ref().and_then(|target| target.qualified_name());
        if let Some(name) = qualified.map(|prefix| format!("{prefix}.{}", call.function)) {
            if functions::REFUSED.contains(&name.as_str()) {
                self.issues.push(Issue::unsupported(at, &format!("'{name}'")));
                return Type::Error;
            }
            if functions::find(&name).is_some() {
                call.target = None;
                call.function = name;
            }
        }
        if let Some(target) = &mut call.target {
            args.insert(0, self.check(target));
        }
        if let ("dyn", [arg]) = (call.function.as_str(), args.as_slice()) {
            self.findings.takes_for_any(arg);
        }
        match functions::find(&call.function) {
            Some(function) => self.overload(function, call.target.is_some(), &args, at),
            _ if functions::REFUSED.contains(&call.function.as_str()) => {
                self.issues.push(Issue::unsupported(at, &format!("'{}'", call.function)));
                Type::Error
            }
            _ => self.undeclared(&call.function, at),
        }
    }

    /// Result type of a call: that of the matching signatures, or `dyn` if they disagree.
    fn overload(&mut self, function: &Function, member: bool, args: &[Type<'s>], at: usize) -> Type<'s> {
        let mut result: Option<Type<'s>> = None;
        for text in function.signatures {
            let Some((is_member, wanted, returns)) = functions::signature(text, &mut self.findings) else {
                continue;
            };
            if is_member != member || !self.findings.assign(args, &wanted) {
                continue;
            }
            let returns = self.findings.resolved(&returns, None);
            result = Some(match result {
                Some(first) if first != Type::Dyn && first != returns => Type::Dyn,
                Some(first) => first,
                None => returns,
            });
        }
        result.unwrap_or_else(|| {
            let shown: Vec<String> =
                args.iter().map(|arg| self.findings.resolved(arg, Some(&Type::Dyn)).to_string()).collect();
            let shown = match shown.split_first() {
                Some((target, args)) if member => format!("{target}.({})", args.join(", ")),
                _ => format!("({})", shown.join(", ")),
            };
            self.issue(at, format!("found no matching overload for '{}' applied to '{shown}'", function.name))
        })
    }

    fn list(&mut self, items: &mut [Expr]) -> Type<'s> {
        let mut of = None;
        for item in items {
            let found = self.check(item);
            of = Some(self.join(of, found));
        }
        Type::List(Rc::new(of.unwrap_or_else(|| self.findings.unknown())))
    }

    fn map(&mut self, entries: &mut [(Expr, Expr)]) -> Type<'s> {
        let (mut keys, mut values) = (None, None);
        for (key, value) in entries {
            let found = self.check(key);
            keys = Some(self.join(keys, found));
            let found = self.check(value);
            values = Some(self.join(values, found));
        }
        let keys = keys.unwrap_or_else(|| self.findings.unknown());
        let values = values.unwrap_or_else(|| self.findings.unknown());
        Type::Map(Rc::new(keys), Rc::new(values))
    }

    /// Common type of items of two types. The check of constants refuses mixed ones.
    fn join(&mut self, before: Option<Type<'s>>, found: Type<'s>) -> Type<'s> {
        match before {
            None => found,
            Some(before)
                if self.findings.assign(std::slice::from_ref(&before), std::slice::from_ref(&found)) =>
            {
                Findings::general(&before, &found)
            }
            Some(before) => {
                self.findings.takes_for_any(&before);
                self.findings.takes_for_any(&found);
                Type::Dyn
            }
        }
    }

    fn logical(&mut self, terms: &mut [Expr]) -> Type<'s> {
        let before = self.issues.len();
        for term in terms {
            let found = self.check(term);
            self.expect_bool(&found, term.at);
        }
        if self.issues.len() > before { Type::Error } else { Type::Bool }
    }

    fn expect_bool(&mut self, found: &Type<'s>, at: usize) {
        if !self.findings.assign(std::slice::from_ref(found), &[Type::Bool]) {
            let found = self.findings.resolved(found, None);
            self.issue(at, format!("expected type 'bool' but found '{found}'"));
        }
    }

    fn fold(&mut self, fold: &mut Fold, at: usize) -> Type<'s> {
        let range = self.check(&mut fold.range);
        let item = match self.findings.resolved(&range, None) {
            Type::List(of) => of.as_ref().clone(),
            Type::Map(key, _) => key.as_ref().clone(),
            open @ (Type::Dyn | Type::Error | Type::Unknown(_)) => {
                self.findings.assign(&[Type::Dyn], &[open]);
                Type::Dyn
            }
            other => self.issue(
                fold.range.at,
                format!("expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"),
            ),
        };
        self.scope.push((fold.item.clone(), item.clone()));
        let when = fold.when.as_mut().map(|when| self.check(when));
        let body = self.check(&mut fold.body);
        self.scope.pop();
        let list = |of: Type<'s>| Type::List(Rc::new(of));
        match fold.walk {
            Walk::All | Walk::Exists => {
                self.expect_bool(&body, fold.body.at);
                Type::Bool
            }
            Walk::ExistsOne => {
                self.condition(body, Type::Int, at);
                Type::Bool
            }
            Walk::Filter => self.condition(body, list(item), at),
            Walk::Map => match when {
                Some(when) => self.condition(when, list(body), at),
                None => list(body),
            },
            Walk::SortBy => self.overload(&functions::SORT_BY_KEYS, true, &[range, list(body)], at),
        }
    }

    /// Condition of a macro for an item: `condition ? result : result`.
    fn condition(&mut self, condition: Type<'s>, result: Type<'s>, at: usize) -> Type<'s> {
        match functions::find("_?_:_") {
            Some(conditional) => self.overload(conditional, false, &[condition, result.clone(), result], at),
            None => Type::Error,
        }
    }
}

/// Sets the zero of `list.sum()` from its type.
fn resolve_sum(expr: &mut Expr, result: &Type<'_>) {
    let Kind::Call(call) = &mut expr.kind else { return };
    if call.function != "sum" {
        return;
    }
    let Some(list) = call.target.take() else { return };
    let zero = match result {
        Type::Uint => Literal::Uint(0),
        Type::Double => Literal::Double(0.0),
        Type::Duration => Literal::Duration(0),
        _ => Literal::Int(0),
    };
    expr.kind = Kind::Sum { list, zero };
}

/// Literal of a type name.
fn type_name(expr: &Expr) -> Option<Literal> {
    const NAMES: &[&str] = &[
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
    ];
    let name = expr.qualified_name()?;
    NAMES.iter().find(|known| **known == name).map(|name| Literal::Type(name))
}

fn type_of<'s>(literal: &Literal) -> Type<'s> {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
        Literal::Duration(_) => Type::Duration,
        Literal::Type(_) => Type::Meta(Rc::new(Type::Dyn)),
    }
}
